// chunk_rows.cuh: the build keys of a unit, one by one
//
// Source   ours
// In       the build keys of a CarriedUnit
// Out      a call of a function for each, as often as it is asked for
// Needs    all threads of the block
// Moves    |key| a row
#pragma once

#include <cstdint>

#include "kernels/match/carried_units.cuh"
#include "kernels/tuning.hpp"

namespace gpujoin::kernels {

constexpr int kChunkAtOnce = 4;
// Rows of a thread, a multiple of as many as are loaded at once.
template <int kThreads>
constexpr int kChunkItems = (kCarriedBuildRows + kThreads * kChunkAtOnce - 1) /
                            (kThreads * kChunkAtOnce) * kChunkAtOnce;

// Calls function(item, row, key), item < kChunkItems, for the thread's rows of the unit. Keys are loaded whenever they are asked for, the
// second time from a cache.
template <int kThreads, typename Key>
struct LoadedKeys {
  const CarriedJoin<Key>& join;
  const CarriedUnit& unit;

  template <typename Function>
  __device__ __forceinline__ void each(Function function) const {
    const Key* const keys = join.build_keys + unit.build_first;
#pragma unroll
    for (int first = 0; first < kChunkItems<kThreads>; first += kChunkAtOnce) {
      if (first * kThreads >= unit.build_rows) break;
      Key loaded[kChunkAtOnce];
#pragma unroll
      for (int i = 0; i < kChunkAtOnce; ++i) {
        uint32_t const row = (first + i) * kThreads + threadIdx.x;
        if (row < unit.build_rows) loaded[i] = keys[row];
      }
#pragma unroll
      for (int i = 0; i < kChunkAtOnce; ++i) {
        uint32_t const row = (first + i) * kThreads + threadIdx.x;
        if (row < unit.build_rows) function(first + i, row, loaded[i]);
      }
    }
  }
};

// The same of keys that are loaded once, where a thread's registers hold them: kItems rows.
template <int kThreads, int kItems, typename Key>
struct HeldKeys {
  Key keys[kItems];
  uint32_t rows;

  __device__ HeldKeys(const CarriedJoin<Key>& join, const CarriedUnit& unit)
      : rows(unit.build_rows) {
#pragma unroll
    for (int item = 0; item < kItems; ++item) {
      uint32_t const row = item * kThreads + threadIdx.x;
      if (row < rows) keys[item] = join.build_keys[unit.build_first + row];
    }
  }
  template <typename Function>
  __device__ __forceinline__ void each(Function function) const {
#pragma unroll
    for (int item = 0; item < kItems; ++item) {
      uint32_t const row = item * kThreads + threadIdx.x;
      if (row >= rows) break;
      function(item, row, keys[item]);
    }
  }
};

}  // namespace gpujoin::kernels
