// histogram_block.cuh: radix partition with a histogram for each block (BSH)
//
// Paper    Rui & Tu 2017, section 3.2.1, algorithms 1 and 2, figure 2; Paul et al. 2020, section
//          IV.A.2
// Differs  keys and values are columns, and a block writes one after the other
// In       keys[rows], values[rows]         keys mixed
// Out      counts                           one counter a digit and block, see partition_tiles.cuh;
//          positions after a scan keys_out[rows], values_out[rows] ascending by digit within a
//          partition of the pass before
// Needs    digits * 4 bytes of dynamic shared memory
// Launch   a block a tile, of kBlockHistogramThreads; the paper's VT is kBlockHistogramItems
// Moves    counting |Key| a row + 4 bytes a counter, reordering 2 * (|Key| + |Value|) a row + 4
//          bytes a counter; each row is written where it belongs at once, and the L2 cache joins
//          the neighbours (traffic::histogram_pass)
// Shared   one atomic add a row, in counting and in reordering
// Order    of the atomics: another one each time
#pragma once

#include <cstdint>

#include "kernels/papers/partition_tiles.cuh"
#include "kernels/tuning.hpp"

namespace gpujoin::kernels {

template <typename Key>
__global__ void __launch_bounds__(kBlockHistogramThreads)
    count_by_block_kernel(const Key* __restrict__ keys, HistogramPass pass,
                          uint32_t* __restrict__ counts) {
  constexpr int kThreads = kBlockHistogramThreads;
  constexpr int kItems = kBlockHistogramItems;
  extern __shared__ uint32_t histogram[];  // [digits]
  for (uint32_t digit = threadIdx.x; digit < pass.digits; digit += kThreads) histogram[digit] = 0;
  __syncthreads();
  PartitionTile const tile = pass.tile();
  const Key* const tile_keys = keys + tile.first_row;
  Key loaded[kItems];
#pragma unroll
  for (int item = 0; item < kItems; ++item) {
    uint32_t const row = item * kThreads + threadIdx.x;
    if (row < tile.rows) loaded[item] = tile_keys[row];
  }
#pragma unroll
  for (int item = 0; item < kItems; ++item) {
    if (item * kThreads + threadIdx.x >= tile.rows) break;
    atomicAdd(&histogram[pass.digit_of(loaded[item])], 1U);
  }
  __syncthreads();
  for (uint32_t digit = threadIdx.x; digit < pass.digits; digit += kThreads) {
    counts[pass.counter(tile, digit, 1)] = histogram[digit];
  }
}

template <typename Key, typename Value>
__global__ void __launch_bounds__(kBlockHistogramThreads)
    reorder_by_block_kernel(const Key* __restrict__ keys, const Value* __restrict__ values,
                            HistogramPass pass, const uint32_t* __restrict__ positions,
                            Key* __restrict__ keys_out, Value* __restrict__ values_out) {
  constexpr int kThreads = kBlockHistogramThreads;
  constexpr int kItems = kBlockHistogramItems;
  extern __shared__ uint32_t histogram[];  // [digits] next position
  PartitionTile const tile = pass.tile();
  if (tile.rows == 0) return;
  for (uint32_t digit = threadIdx.x; digit < pass.digits; digit += kThreads) {
    histogram[digit] = positions[pass.counter(tile, digit, 1)];
  }
  __syncthreads();
  const Key* const tile_keys = keys + tile.first_row;
  const Value* const tile_values = values + tile.first_row;
  Key loaded[kItems];
  Value loaded_values[kItems];
#pragma unroll
  for (int item = 0; item < kItems; ++item) {
    uint32_t const row = item * kThreads + threadIdx.x;
    if (row >= tile.rows) break;
    loaded[item] = tile_keys[row];
    loaded_values[item] = tile_values[row];
  }
  uint32_t places[kItems];
#pragma unroll
  for (int item = 0; item < kItems; ++item) {
    if (item * kThreads + threadIdx.x >= tile.rows) break;
    places[item] = atomicAdd(&histogram[pass.digit_of(loaded[item])], 1U);
    keys_out[places[item]] = loaded[item];
  }
  __syncthreads();  // keys and values in turn: half as many lines are open at a time
#pragma unroll
  for (int item = 0; item < kItems; ++item) {
    if (item * kThreads + threadIdx.x >= tile.rows) break;
    values_out[places[item]] = loaded_values[item];
  }
}

}  // namespace gpujoin::kernels
