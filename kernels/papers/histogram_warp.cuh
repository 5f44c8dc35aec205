// histogram_warp.cuh: radix partition with a histogram for each warp (WSH)
//
// Paper    Paul et al. 2020, section IV.A.2 and table I: the histogram is shared within a warp by
//          shuffle instructions
// Differs  lanes with the same digit find each other by a match, which the paper's P100 does not
//          have: one instruction in the place of a shuffle a lane; the lowest of them alone updates
//          the histogram
// In       keys[rows], values[rows]         keys mixed
// Out      counts                           one counter a digit and warp, see partition_tiles.cuh;
//          positions after a scan keys_out[rows], values_out[rows] ascending by digit within a
//          partition of the pass before
// Needs    digits * kWarpHistogramWarps * 4 bytes of dynamic shared memory: 32 KiB with 1024 digits
// Launch   a block a tile, of kWarpHistogramWarps warps, each with kWarpHistogramRows rows of it
// Moves    counting |Key| a row + 4 bytes a counter, reordering 2 * (|Key| + |Value|) a row + 4
//          bytes a counter (traffic::histogram_pass)
// Order    that of the input: warps take neighbouring rows, and a row is placed by its lane
#pragma once

#include <cstdint>

#include "kernels/papers/partition_tiles.cuh"
#include "kernels/tuning.hpp"

namespace gpujoin::kernels {

constexpr int kWarpHistogramThreads = kWarpHistogramWarps * 32;
constexpr int kWarpHistogramTile = kWarpHistogramWarps * kWarpHistogramRows;

// The rows of the block's tile that a warp takes.
struct WarpRows {
  uint32_t first;
  uint32_t end;
  __device__ explicit WarpRows(const PartitionTile& tile)
      : first(min(tile.rows, threadIdx.x / 32 * kWarpHistogramRows)),
        end(min(tile.rows, first + kWarpHistogramRows)) {}
};

// One step of a warp, in which every lane has a digit, or `digits`, which is none: the lanes of a
// digit, and what its histogram entry was before their number was added to it.
struct WarpStep {
  unsigned peers;
  int leader;       // the lowest of the peers, which alone knows:
  uint32_t before;  // the entry before the step

  __device__ WarpStep(uint32_t* histogram, uint32_t digit, uint32_t digits) {
    peers = __match_any_sync(0xffffffffU, digit);
    leader = __ffs(static_cast<int>(peers)) - 1;
    before = 0;
    if (static_cast<int>(threadIdx.x % 32) == leader && digit < digits) {
      before = histogram[digit];
      histogram[digit] = before + __popc(peers);
    }
    __syncwarp();  // another lane may lead the same digit in the next step
  }

  __device__ uint32_t place() const {
    unsigned const lanes_before = (1U << threadIdx.x % 32) - 1;
    return __shfl_sync(0xffffffffU, before, leader) + __popc(peers & lanes_before);
  }
};

template <typename Key>
__global__ void __launch_bounds__(kWarpHistogramThreads)
    count_by_warp_kernel(const Key* __restrict__ keys, HistogramPass pass,
                         uint32_t* __restrict__ counts) {
  constexpr int kItems = kWarpHistogramItems;
  extern __shared__ uint32_t histograms[];  // [warps][digits]
  for (uint32_t i = threadIdx.x; i < kWarpHistogramWarps * pass.digits;
       i += kWarpHistogramThreads) {
    histograms[i] = 0;
  }
  __syncthreads();
  PartitionTile const tile = pass.tile();
  WarpRows const rows(tile);
  uint32_t* const mine = histograms + threadIdx.x / 32 * pass.digits;
  const Key* const tile_keys = keys + tile.first_row;
  for (uint32_t step = rows.first; step < rows.end; step += 32 * kItems) {
    uint32_t digits[kItems];
#pragma unroll
    for (int item = 0; item < kItems; ++item) {
      uint32_t const at = step + item * 32 + threadIdx.x % 32;
      digits[item] = at < rows.end ? pass.digit_of(tile_keys[at]) : pass.digits;
    }
#pragma unroll
    for (int item = 0; item < kItems; ++item) WarpStep(mine, digits[item], pass.digits);
  }
  __syncthreads();
  // Counters of a digit lie side by side, a warp each.
  for (uint32_t i = threadIdx.x; i < kWarpHistogramWarps * pass.digits;
       i += kWarpHistogramThreads) {
    uint32_t const digit = i / kWarpHistogramWarps;
    uint32_t const warp = i % kWarpHistogramWarps;
    counts[pass.counter(tile, digit, kWarpHistogramWarps) + warp] =
        histograms[warp * pass.digits + digit];
  }
}

template <typename Key, typename Value>
__global__ void __launch_bounds__(kWarpHistogramThreads)
    reorder_by_warp_kernel(const Key* __restrict__ keys, const Value* __restrict__ values,
                           HistogramPass pass, const uint32_t* __restrict__ positions,
                           Key* __restrict__ keys_out, Value* __restrict__ values_out) {
  constexpr int kItems = kWarpHistogramItems;
  extern __shared__ uint32_t histograms[];  // [warps][digits] next position
  PartitionTile const tile = pass.tile();
  if (tile.rows == 0) return;
  for (uint32_t i = threadIdx.x; i < kWarpHistogramWarps * pass.digits;
       i += kWarpHistogramThreads) {
    uint32_t const digit = i / kWarpHistogramWarps;
    uint32_t const warp = i % kWarpHistogramWarps;
    histograms[warp * pass.digits + digit] =
        positions[pass.counter(tile, digit, kWarpHistogramWarps) + warp];
  }
  __syncthreads();
  WarpRows const rows(tile);
  uint32_t* const mine = histograms + threadIdx.x / 32 * pass.digits;
  const Key* const tile_keys = keys + tile.first_row;
  const Value* const tile_values = values + tile.first_row;
  for (uint32_t step = rows.first; step < rows.end; step += 32 * kItems) {
    Key loaded[kItems];
    Value loaded_values[kItems];
    uint32_t const first = step + threadIdx.x % 32;
#pragma unroll
    for (int item = 0; item < kItems; ++item) {
      if (first + item * 32 >= rows.end) break;
      loaded[item] = tile_keys[first + item * 32];
      loaded_values[item] = tile_values[first + item * 32];
    }
#pragma unroll
    for (int item = 0; item < kItems; ++item) {
      bool const is_row = first + item * 32 < rows.end;
      uint32_t const digit = is_row ? pass.digit_of(loaded[item]) : pass.digits;
      uint32_t const position = WarpStep(mine, digit, pass.digits).place();
      if (!is_row) continue;
      keys_out[position] = loaded[item];
      values_out[position] = loaded_values[item];
    }
  }
}

}  // namespace gpujoin::kernels
