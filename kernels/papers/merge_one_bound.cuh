// merge_one_bound.cuh: the only bound that a probe key needs when sorted build keys are unique, and
// whether they are
//
// Paper    Wu et al. 2024, section 3.1: "we only need to apply the Merge Path algorithm once"
// Differs  the paper knows the build side for a primary key. Here neighbouring build keys are
//          compared while they are in shared memory; where two are equal, merge_upper
//          (merge_two_bounds.cuh) finds the counts again. The device decides, nobody waits
// In       sides   ascending keys; *duplicates 0
// Out      lower[probe_rows]    first build position not below the key
//          counts[probe_rows]   1 where the build key there equals it, otherwise 0
//          *duplicates          1 when two build keys are equal: counts are then too small
// Launch   the splits of the lower bound, one thread a tile boundary; merge_one_bound: a block a
//          tile of kMergeTile keys of both sides together
// Moves    |Key| a row of both sides, 8 bytes a probe row   (traffic::merge_one_bound)
#pragma once

#include <cstdint>

#include "kernels/match/merge_bounds.cuh"

namespace gpujoin::kernels {

template <typename Key>
__global__ void __launch_bounds__(kMergeThreads)
    merge_one_bound_kernel(MergeSides<Key> sides, const uint32_t* __restrict__ splits,
                           uint32_t* __restrict__ lower, uint32_t* __restrict__ counts,
                           uint32_t* __restrict__ duplicates) {
  __shared__ MergeTile<Key> tile;
  TileRows const rows = find_tile_bounds<Bound::kLower>(sides, splits, blockIdx.x, tile);
  // A build key of the tile, or the one after them, which is in the cache.
  const auto build_key = [&](uint32_t row) {
    uint32_t const i = row - rows.build_begin;
    return i < rows.builds ? tile.keys[i] : sides.build[row];
  };
  for (uint32_t i = threadIdx.x; i < rows.probes; i += kMergeThreads) {
    uint32_t const bound = tile.bounds[i];
    Key const key = tile.keys[rows.builds + i];
    lower[rows.probe_begin + i] = bound;
    counts[rows.probe_begin + i] = bound < sides.build_rows && build_key(bound) == key ? 1 : 0;
  }
  bool equal = false;
  for (uint32_t i = threadIdx.x; i < rows.builds; i += kMergeThreads) {
    uint32_t const next = rows.build_begin + i + 1;
    equal |= next < sides.build_rows && tile.keys[i] == build_key(next);
  }
  if (__syncthreads_or(equal) && threadIdx.x == 0) *duplicates = 1;
}

}  // namespace gpujoin::kernels
