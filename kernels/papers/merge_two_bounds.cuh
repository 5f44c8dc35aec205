// merge_two_bounds.cuh: lower and upper bounds of each sorted probe key in the sorted build keys,
// each by a merge path
//
// Paper    Rui & Tu 2017, section 3.3.2; Wu et al. 2024, section 3.1: "Merge Path twice"
// Differs  the difference is taken where the upper bounds are found, so these are never stored
// In       sides   ascending keys
// Out      merge_lower: lower[probe_rows]; merge_upper: counts[probe_rows] = upper bound - lower
//          bound
// Launch   for each bound its splits, one thread a tile boundary. merge_lower: a block a tile of
//          kMergeTile keys of both sides together. merge_upper: as many blocks as are resident,
//          which stride over the tiles, since they may have nothing to do: with `wanted` its two
//          kernels return at once where *wanted is 0
// Moves    |Key| a row of both sides, twice, and 12 bytes a probe row   (traffic::merge_two_bounds)
#pragma once

#include <cstdint>

#include "kernels/match/merge_bounds.cuh"

namespace gpujoin::kernels {

template <typename Key>
__global__ void __launch_bounds__(kMergeThreads)
    merge_lower_kernel(MergeSides<Key> sides, const uint32_t* __restrict__ splits,
                       uint32_t* __restrict__ lower) {
  __shared__ MergeTile<Key> tile;
  TileRows const rows = find_tile_bounds<Bound::kLower>(sides, splits, blockIdx.x, tile);
  for (uint32_t i = threadIdx.x; i < rows.probes; i += kMergeThreads) {
    lower[rows.probe_begin + i] = tile.bounds[i];
  }
}

// wanted: null for yes.
template <typename Key>
__global__ void __launch_bounds__(kMergeThreads)
    merge_upper_splits_kernel(MergeSides<Key> sides, uint32_t tiles, const uint32_t* wanted,
                              uint32_t* __restrict__ splits) {
  if (wanted != nullptr && *wanted == 0) return;
  split_merge<Bound::kUpper>(sides, tiles, splits);
}

template <typename Key>
__global__ void __launch_bounds__(kMergeThreads)
    merge_upper_kernel(MergeSides<Key> sides, uint32_t tiles, const uint32_t* wanted,
                       const uint32_t* __restrict__ splits, const uint32_t* __restrict__ lower,
                       uint32_t* __restrict__ counts) {
  if (wanted != nullptr && *wanted == 0) return;
  __shared__ MergeTile<Key> tile;
  for (uint32_t number = blockIdx.x; number < tiles; number += gridDim.x) {
    TileRows const rows = find_tile_bounds<Bound::kUpper>(sides, splits, number, tile);
    for (uint32_t i = threadIdx.x; i < rows.probes; i += kMergeThreads) {
      counts[rows.probe_begin + i] = tile.bounds[i] - lower[rows.probe_begin + i];
    }
    __syncthreads();
  }
}

}  // namespace gpujoin::kernels
