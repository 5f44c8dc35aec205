// histogram_thread.cuh: radix partition with a histogram for each thread (PTH)
//
// Paper    He et al. 2008, as described in Paul et al. 2020, section IV.A.2 and table I, and in Rui
//          & Tu 2017, section 3.2.1
// Differs  a thread loads kThreadHistogramItems keys before it counts them: with so few threads on
//          a multiprocessor, one load at a time leaves the memory idle
// In       keys[rows], values[rows]         keys mixed
// Out      counts                           one counter a digit and thread, see
//          partition_tiles.cuh; positions after a scan keys_out[rows], values_out[rows] ascending
//          by digit within a partition of the pass before
// Needs    digits * kThreadHistogramThreads * 4 bytes of dynamic shared memory: 64 KiB with 256
//          digits
// Launch   a block a tile, of kThreadHistogramThreads
// Moves    counting |Key| a row + 4 bytes a counter, reordering 2 * (|Key| + |Value|) a row + 4
//          bytes a counter (traffic::histogram_pass)
// Order    of tile, thread, and round of the thread: not the order of the input, but the same for
//          any column
#pragma once

#include <cstdint>

#include "kernels/papers/partition_tiles.cuh"
#include "kernels/tuning.hpp"

namespace gpujoin::kernels {

template <typename Key>
__global__ void __launch_bounds__(kThreadHistogramThreads)
    count_by_thread_kernel(const Key* __restrict__ keys, HistogramPass pass,
                           uint32_t* __restrict__ counts) {
  constexpr int kThreads = kThreadHistogramThreads;
  constexpr int kItems = kThreadHistogramItems;
  extern __shared__ uint32_t histograms[];  // [digits][threads]: a thread stays in its bank
  uint32_t* const mine = histograms + threadIdx.x;
  for (uint32_t digit = 0; digit < pass.digits; ++digit) mine[digit * kThreads] = 0;
  PartitionTile const tile = pass.tile();
  const Key* const tile_keys = keys + tile.first_row;
  for (uint32_t row = threadIdx.x; row < tile.rows; row += kThreads * kItems) {
    Key loaded[kItems];
#pragma unroll
    for (int item = 0; item < kItems; ++item) {
      uint32_t const at = row + item * kThreads;
      if (at < tile.rows) loaded[item] = tile_keys[at];
    }
#pragma unroll
    for (int item = 0; item < kItems; ++item) {
      if (row + item * kThreads < tile.rows) ++mine[pass.digit_of(loaded[item]) * kThreads];
    }
  }
  for (uint32_t digit = 0; digit < pass.digits; ++digit) {
    counts[pass.counter(tile, digit, kThreads) + threadIdx.x] = mine[digit * kThreads];
  }
}

template <typename Key, typename Value>
__global__ void __launch_bounds__(kThreadHistogramThreads)
    reorder_by_thread_kernel(const Key* __restrict__ keys, const Value* __restrict__ values,
                             HistogramPass pass, const uint32_t* __restrict__ positions,
                             Key* __restrict__ keys_out, Value* __restrict__ values_out) {
  constexpr int kThreads = kThreadHistogramThreads;
  constexpr int kItems = kThreadHistogramItems;
  extern __shared__ uint32_t histograms[];  // [digits][threads] next position
  uint32_t* const mine = histograms + threadIdx.x;
  PartitionTile const tile = pass.tile();
  if (tile.rows == 0) return;
  for (uint32_t digit = 0; digit < pass.digits; ++digit) {
    mine[digit * kThreads] = positions[pass.counter(tile, digit, kThreads) + threadIdx.x];
  }
  const Key* const tile_keys = keys + tile.first_row;
  const Value* const tile_values = values + tile.first_row;
  for (uint32_t row = threadIdx.x; row < tile.rows; row += kThreads * kItems) {
    Key loaded[kItems];
    Value loaded_values[kItems];
#pragma unroll
    for (int item = 0; item < kItems; ++item) {
      uint32_t const at = row + item * kThreads;
      if (at < tile.rows) {
        loaded[item] = tile_keys[at];
        loaded_values[item] = tile_values[at];
      }
    }
#pragma unroll
    for (int item = 0; item < kItems; ++item) {
      if (row + item * kThreads >= tile.rows) break;
      uint32_t const position = mine[pass.digit_of(loaded[item]) * kThreads]++;
      keys_out[position] = loaded[item];
      values_out[position] = loaded_values[item];
    }
  }
}

}  // namespace gpujoin::kernels
