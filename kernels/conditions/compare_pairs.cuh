// compare_pairs.cuh: conjunctions of a few comparisons of numbers as they lie, for pairs of rows,
// without an interpreter
//
// Source   ours
// In       left[pairs], right[pairs]   row numbers, kMissingRow where there is none
//          columns of 4 and 8 bytes
// Out      see answer_pairs.cuh
// Needs    state all 0, which it is again afterwards
// Launch   kConditionBlocksPerSm blocks of kStreamThreads for each multiprocessor, or less,
//          dependent
// Moves    8 bytes a pair, + a random sector a pair and column, but of a side whose rows ascend the
//          width of the column
#pragma once

#include <cstdint>

#include "kernels/conditions/answer_pairs.cuh"
#include "kernels/conditions/load_value.hpp"
#include "kernels/conditions/simple_comparison.hpp"
#include "kernels/dependent_launch.cuh"

namespace gpujoin::kernels {

// Values of as many pairs are asked for before the first is used.
constexpr int kComparedItems = 8;
constexpr int kComparedTile = kComparedItems * kStreamThreads;
constexpr int kMostComparisons = 4;

// A comparison with its columns at hand.
struct PairComparison {
  SimpleComparison how;
  const void* first = nullptr;
  const void* second = nullptr;
  ValidityBits first_validity;
  ValidityBits second_validity;
  bool first_of_left = false;
  bool second_of_left = false;
};

struct PairComparisons {
  PairComparison all[kMostComparisons];
  int32_t count = 0;
};

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

__global__ void __launch_bounds__(kStreamThreads)
    compare_pairs_kernel(const __grid_constant__ PairComparisons comparisons,
                         const uint32_t* __restrict__ left, const uint32_t* __restrict__ right,
                         uint64_t pairs, uint32_t* __restrict__ kept, PairsState* state,
                         PairsAnswer* answer) {
  await_last_kernel();
  unsigned long long count = 0;
  uint64_t const stride = uint64_t{gridDim.x} * kComparedTile;
  for (uint64_t tile = uint64_t{blockIdx.x} * kComparedTile; tile < pairs; tile += stride) {
    uint32_t left_rows[kComparedItems];
    uint32_t right_rows[kComparedItems];
#pragma unroll
    for (int item = 0; item < kComparedItems; ++item) {
      uint64_t const pair = tile + item * kStreamThreads + threadIdx.x;
      left_rows[item] = pair < pairs ? __ldcs(&left[pair]) : kMissingRow;
      right_rows[item] = pair < pairs ? __ldcs(&right[pair]) : kMissingRow;
    }
    uint32_t are_not_true = 0;
#pragma unroll 1
    for (int c = 0; c < comparisons.count; ++c) {
      PairComparison const& comparison = comparisons.all[c];
      auto const compare_as = [&](auto zero) {
        compare_items<decltype(zero)>(comparison, left_rows, right_rows, &are_not_true);
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
    count += put_answers<kComparedItems>(kept, tile + threadIdx.x, pairs, are_not_true);
  }
  answer_counts(count, 0, state, answer);
}

}  // namespace gpujoin::kernels
