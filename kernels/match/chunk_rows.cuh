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

// Loads at once. Keys of 4 bytes: a full chunk is 3 times as many for 256 threads, twice as many
// for 512.
template <int kThreads, typename Key>
constexpr int kChunkAtOnce = sizeof(Key) > 4   ? 4
                             : kThreads <= 256 ? 6
                                               : 5;
// Rows of a thread, a multiple of as many as are loaded at once.
template <int kThreads, typename Key>
constexpr int kChunkItems = (kCarriedBuildRows + kThreads * kChunkAtOnce<kThreads, Key> - 1) /
                            (kThreads * kChunkAtOnce<kThreads, Key>)*kChunkAtOnce<kThreads, Key>;

// Calls function(item, row, key), item < kChunkItems, for the thread's rows of the unit. Keys are
// loaded whenever they are asked for, the second time from a cache.
template <int kThreads, typename Key>
struct LoadedKeys {
  // Of the unit: what the function writes to shared memory might change it there.
  const Key* keys;
  uint32_t rows;

  __device__ LoadedKeys(const CarriedJoin<Key>& join, const CarriedUnit& unit)
      : keys(join.build_keys + unit.build_first), rows(unit.build_rows) {}
  template <typename Function>
  __device__ __forceinline__ void each(Function function) const {
    constexpr int kAtOnce = kChunkAtOnce<kThreads, Key>;
#pragma unroll
    for (int first = 0; first < kChunkItems<kThreads, Key>; first += kAtOnce) {
      if (first * kThreads >= rows) break;
      Key loaded[kAtOnce];
#pragma unroll
      for (int i = 0; i < kAtOnce; ++i) {
        uint32_t const row = (first + i) * kThreads + threadIdx.x;
        if (row < rows) loaded[i] = keys[row];
      }
#pragma unroll
      for (int i = 0; i < kAtOnce; ++i) {
        uint32_t const row = (first + i) * kThreads + threadIdx.x;
        if (row < rows) function(first + i, row, loaded[i]);
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
