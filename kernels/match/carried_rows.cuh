// carried_rows.cuh: a warp's output rows, column by column
//
// Source   ours
// In       for kItems rows of each lane: the key, the rows of both sides, and the place
// Out      target[] of each column
// Moves    the columns' widths a row, read and written; build rows lie within a chunk, which L1 keeps
#pragma once

#include <cstdint>

#include "kernels/match/carried_columns.hpp"
#include "kernels/transform/mix_key.cuh"
#include "kernels/tuning.hpp"
#include "kernels/value_type.cuh"

namespace gpujoin::kernels {

constexpr uint32_t kNoSlot = 0xffffffffU;

template <typename KeyType, int kRows>
struct CarriedRows {
  using Key = KeyType;
  static constexpr int kItems = kRows;
  Key keys[kItems];
  uint32_t build[kItems];  // row of the build side
  uint32_t probe[kItems];  // of the probe side
  uint32_t slots[kItems];  // kNoSlot: there is no row
  // Slots that are written now, the first of them to place `base`.
  uint32_t first_slot;
  uint32_t slot_count;
  unsigned long long base;

  __device__ bool is_written(int item) const { return slots[item] - first_slot < slot_count; }
};

// Keeps the compiler from working out addresses for every width ahead of the columns' loop, for which there are no registers.
__device__ __forceinline__ uint32_t here(uint32_t number) {
  asm volatile("" : "+r"(number));
  return number;
}

// A value that is read once: it shall not push a table out of L2.
template <bool kPassesBy, typename Value>
__device__ __forceinline__ Value read_value(const Value* source) {
  if constexpr (kPassesBy && sizeof(Value) <= 8) {
    return __ldcs(source);
  } else {
    return *source;
  }
}
template <bool kPassesBy, typename Value>
__device__ __forceinline__ void write_value(Value* target, Value value) {
  if constexpr (kPassesBy && sizeof(Value) <= 8) {
    __stcs(target, value);
  } else {
    *target = value;
  }
}

// A lane loads some values before it writes them.
template <bool kPassesBy, typename Value, typename Rows>
__device__ __forceinline__ void write_carried(const CarriedColumn& column, const Rows& rows) {
  constexpr int kAtOnce = sizeof(Value) <= 8 ? Rows::kItems : 1;
  auto const* const source = static_cast<const Value*>(column.source);
  auto* const target = static_cast<Value*>(column.target) + rows.base;
  bool const of_build = column.from == CarriedFrom::kBuild;
#pragma unroll
  for (int first = 0; first < Rows::kItems; first += kAtOnce) {
    Value values[kAtOnce];
#pragma unroll
    for (int i = 0; i < kAtOnce; ++i) {
      int const item = first + i;
      if (!rows.is_written(item)) continue;
      if (kPassesBy && !of_build) {
        values[i] = read_value<kPassesBy>(source + here(rows.probe[item]));
      } else {
        values[i] = source[here(of_build ? rows.build[item] : rows.probe[item])];
      }
    }
#pragma unroll
    for (int i = 0; i < kAtOnce; ++i) {
      int const item = first + i;
      if (!rows.is_written(item)) continue;
      write_value<kPassesBy>(target + here(rows.slots[item] - rows.first_slot), values[i]);
    }
  }
}

template <int kWidth, typename Join, typename Rows>
__device__ __forceinline__ void write_carried_column(const Join&, const CarriedColumn& column,
                                                     const Rows& rows) {
  constexpr bool kPassesBy = Join::kKeepsTable;
  if (column.from == CarriedFrom::kKey) {
    auto* const target = static_cast<typename Rows::Key*>(column.target) + rows.base;
#pragma unroll
    for (int item = 0; item < Rows::kItems; ++item) {
      if (!rows.is_written(item)) continue;
      auto const key = Join::kMixesKeys ? unmix_key(rows.keys[item]) : rows.keys[item];
      write_value<kPassesBy>(target + here(rows.slots[item] - rows.first_slot), key);
    }
    return;
  }
  if (Join::kNumbersRows && column.source == nullptr) {
    bool const of_build = column.from == CarriedFrom::kBuild;
    auto* const target = static_cast<uint32_t*>(column.target) + rows.base;
#pragma unroll
    for (int item = 0; item < Rows::kItems; ++item) {
      if (!rows.is_written(item)) continue;
      write_value<kPassesBy>(target + here(rows.slots[item] - rows.first_slot),
                             of_build ? rows.build[item] : rows.probe[item]);
    }
    return;
  }
  // The switch over widths is for what is not of one: its branches cost registers in a loop that has few.
  if constexpr (kWidth == 4) {
    write_carried<kPassesBy, uint32_t>(column, rows);
  } else if constexpr (kWidth == 8) {
    write_carried<kPassesBy, uint64_t>(column, rows);
  } else {
    with_value_type(column.width,
                    [&](auto zero) { write_carried<kPassesBy, decltype(zero)>(column, rows); });
  }
}

// kWidth: of every column but the keys, 4 or 8; 0: of any.
template <int kWidth, typename Join, typename Rows>
__device__ __forceinline__ void write_carried_rows(const Join& join, const Rows& rows) {
#pragma unroll 1
  for (int32_t i = 0; i < join.column_count; ++i) {
    write_carried_column<kWidth>(join, join.columns[i], rows);
  }
}

}  // namespace gpujoin::kernels
