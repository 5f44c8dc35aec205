// ordered_tiles.cuh: where sides that lie in the order of their keys are cut into tiles
//
// Source   ours; merge path (Green, McColl & Bader, ICS 2012) cuts two sides so, too, but by places
//          of both together: tiles of one key would then have two sides of two blocks
// In       keys of both sides, in order, as far as anybody knows
// Out      build_offsets, probe_offsets[tiles + 1]: tiles of about tile_rows build rows, and of
//          both sides all rows of a key in the same one; OrderState::is_broken where that cannot
//          be, and then all offsets are 0
// Needs    OrderState 0 at first
// Launch   a thread an offset
// Moves    log2(rows) sectors a tile and side
#pragma once

#include <cstdint>

#include "kernels/block_sync.cuh"
#include "kernels/dependent_launch.cuh"
#include "kernels/last_block.cuh"
#include "kernels/transform/key_range.hpp"
#include "kernels/tuning.hpp"

namespace gpujoin::kernels {

struct OrderState {
  uint32_t finished;   // blocks
  uint32_t is_broken;  // 1: a side is not in order
};

// How many of the rows have a lower key.
template <typename Key>
__device__ __forceinline__ uint32_t rows_before(const Key* __restrict__ keys, uint32_t rows,
                                                Key key) {
  uint32_t low = 0;
  uint32_t high = rows;
  while (low < high) {
    uint32_t const middle = low + (high - low) / 2;
    bool const goes_up = is_before(keys[middle], key);
    low = goes_up ? middle + 1 : low;
    high = goes_up ? high : middle;
  }
  return low;
}

template <typename Key>
__global__ void __launch_bounds__(kStreamThreads)
    ordered_tiles_kernel(const Key* __restrict__ build_keys, uint32_t build_rows,
                         const Key* __restrict__ probe_keys, uint32_t probe_rows,
                         uint32_t tile_rows, uint32_t tiles, uint32_t* build_offsets,
                         uint32_t* probe_offsets, OrderState* state) {
  __shared__ bool is_last;
  let_next_kernel_start();
  uint32_t const tile = blockIdx.x * kStreamThreads + threadIdx.x;
  uint64_t const first = uint64_t{tile} * tile_rows;
  if (tile <= tiles) {
    bool const is_end = first >= build_rows;
    uint32_t build = is_end ? build_rows : static_cast<uint32_t>(first);
    uint32_t probe = is_end ? probe_rows : 0;
    if (tile != 0 && !is_end) {
      Key const key = build_keys[build];
      if (!is_before(build_keys[build - 1], key)) build = rows_before(build_keys, build, key);
      probe = rows_before(probe_keys, probe_rows, key);
    }
    build_offsets[tile] = build;
    probe_offsets[tile] = probe;
  }
  block_sync();
  if (threadIdx.x == 0) is_last = comes_last(&state->finished);
  block_sync();
  if (!is_last) return;
  // Nobody may be sent to rows that there are not. Loads of several offsets are on their way at
  // once: one after the other they take as long as all searches.
  bool is_broken = false;
#pragma unroll 8
  for (uint32_t i = threadIdx.x; i < tiles; i += kStreamThreads) {
    is_broken |= (__ldcg(&build_offsets[i]) > __ldcg(&build_offsets[i + 1])) |
                 (__ldcg(&probe_offsets[i]) > __ldcg(&probe_offsets[i + 1]));
  }
  if (!__syncthreads_or(is_broken)) return;
  if (threadIdx.x == 0) state->is_broken = 1;
  for (uint32_t i = threadIdx.x; i <= tiles; i += kStreamThreads) {
    build_offsets[i] = probe_offsets[i] = 0;
  }
}

}  // namespace gpujoin::kernels
