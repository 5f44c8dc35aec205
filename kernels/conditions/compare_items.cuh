// compare_items.cuh: a conjunction of a few comparisons of numbers as they lie, for a thread's
// pairs, without an interpreter
//
// Source   ours
// In       row numbers of both sides, kMissingRow where there is none; columns of 4 and 8 bytes
// Out      which of the pairs it is not true of: false, or NULL; as bits
// Needs    nothing of other threads. The values of all pairs are asked for before the first is used
// Moves    a random sector a pair and column, but of a side whose rows ascend the width of the
//          column
#pragma once

#include <cstdint>

#include "kernels/conditions/load_value.hpp"
#include "kernels/conditions/pair_comparisons.hpp"

namespace gpujoin::kernels {

// Which of less, equal and greater, the lowest bit first, a comparator takes.
__device__ __forceinline__ uint32_t taken_by(Comparator comparator) {
  constexpr uint32_t kTaken[] = {0b010, 0b101, 0b001, 0b011, 0b100, 0b110};
  return kTaken[static_cast<int>(comparator)];
}

template <typename Value>
__device__ __forceinline__ uint32_t order_of(Value one, Value other) {
  if constexpr (static_cast<Value>(0.5) != 0) {
    return less_floats(one, other) ? 0 : equal_floats(one, other) ? 1 : 2;
  } else {
    return one < other ? 0 : one == other ? 1 : 2;
  }
}

template <typename Value, int kItems>
__device__ __forceinline__ void load_side(const void* column, const ValidityBits& validity,
                                          const uint32_t (&rows)[kItems], Value (&values)[kItems],
                                          uint32_t* are_null) {
#pragma unroll
  for (int i = 0; i < kItems; ++i) {
    values[i] = Value{};
    if (rows[i] == kMissingRow) {
      *are_null |= 1U << i;
    } else {
      values[i] = static_cast<const Value*>(column)[rows[i]];
    }
  }
  if (validity.bits == nullptr) return;
#pragma unroll
  for (int i = 0; i < kItems; ++i) {
    if (rows[i] != kMissingRow && !is_valid(validity, rows[i])) *are_null |= 1U << i;
  }
}

template <typename Value, int kItems>
__device__ __forceinline__ void compare_items(const PairComparison& comparison,
                                              const uint32_t (&left)[kItems],
                                              const uint32_t (&right)[kItems],
                                              uint32_t* are_not_true) {
  Value first[kItems];
  Value second[kItems];
  uint32_t nulls = 0;
  if (comparison.first_of_left) {
    load_side(comparison.first, comparison.first_validity, left, first, &nulls);
  } else {
    load_side(comparison.first, comparison.first_validity, right, first, &nulls);
  }
  if (comparison.how.has_constant) {
    auto const constant = constant_of<Value>(comparison.how);
#pragma unroll
    for (int i = 0; i < kItems; ++i) second[i] = constant;
  } else if (comparison.second_of_left) {
    load_side(comparison.second, comparison.second_validity, left, second, &nulls);
  } else {
    load_side(comparison.second, comparison.second_validity, right, second, &nulls);
  }
  uint32_t const taken = taken_by(comparison.how.comparator);
#pragma unroll
  for (int i = 0; i < kItems; ++i) {
    bool const is_true = (taken >> order_of(first[i], second[i]) & 1) != 0;
    if (!is_true) *are_not_true |= 1U << i;
  }
  *are_not_true |= nulls;
}

template <int kItems>
__device__ __forceinline__ uint32_t not_true_of(const PairComparisons& comparisons,
                                                const uint32_t (&left)[kItems],
                                                const uint32_t (&right)[kItems]) {
  uint32_t are_not_true = 0;
#pragma unroll 1
  for (int c = 0; c < comparisons.count; ++c) {
    PairComparison const& comparison = comparisons.all[c];
    auto const compare_as = [&](auto zero) {
      compare_items<decltype(zero)>(comparison, left, right, &are_not_true);
    };
    switch (comparison.how.form) {
      case ValueForm::kInt32:
        compare_as(int32_t{});
        break;
      case ValueForm::kUint32:
        compare_as(uint32_t{});
        break;
      case ValueForm::kInt64:
        compare_as(int64_t{});
        break;
      case ValueForm::kUint64:
        compare_as(uint64_t{});
        break;
      case ValueForm::kFloat32:
        compare_as(float{});
        break;
      default:
        compare_as(double{});
    }
  }
  return are_not_true;
}

}  // namespace gpujoin::kernels
