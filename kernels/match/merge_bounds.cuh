// merge_bounds.cuh: for each sorted probe key its lower bound in the sorted build keys, and how many equal it
//
// Paper    merge path: Green, McColl, Bader 2012; Rui & Tu 2017, section 3.3.2; Wu et al. 2024, section 3.1
// Differs  one merge path finds the lower bounds. The upper bound is looked for from there, in keys that are in cache: most keys
//          have one or no match, and a second merge path would read both sides again
// In       build_keys[build_rows], probe_keys[probe_rows]   ascending
// Out      lower[probe_rows]    first build position not below the key
//          counts[probe_rows]   build keys equal to it
// Launch   splits: one thread a tile boundary; bounds: a block a tile of kMergeTile keys of both sides together
// Moves    |Key| a row of both sides, 8 bytes a probe row   (traffic::merge_path)
//
//   tile t owns the diagonal range [t * kMergeTile, (t + 1) * kMergeTile) of the merge; splits[t] = build keys before it.
//   Every tile has the same number of keys, however they are distributed.
#pragma once

#include <cstdint>

#include "kernels/tuning.hpp"

namespace gpujoin::kernels {

// Build keys among the first `diagonal` keys of the merge, in which a build key comes before the probe keys above it.
template <typename Key>
__device__ uint64_t merge_path(const Key* build, uint64_t build_rows, const Key* probe,
                               uint64_t probe_rows, uint64_t diagonal) {
  uint64_t low = diagonal > probe_rows ? diagonal - probe_rows : 0;
  uint64_t high = diagonal < build_rows ? diagonal : build_rows;
  while (low < high) {
    uint64_t const middle = low + (high - low) / 2;
    if (build[middle] < probe[diagonal - 1 - middle]) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low;
}

template <typename Key>
__global__ void __launch_bounds__(kMergeThreads)
    merge_splits_kernel(const Key* __restrict__ build_keys, uint32_t build_rows,
                        const Key* __restrict__ probe_keys, uint32_t probe_rows, uint32_t tiles,
                        uint32_t* __restrict__ splits) {
  uint32_t const tile = blockIdx.x * kMergeThreads + threadIdx.x;
  if (tile > tiles) return;
  uint64_t const all = uint64_t{build_rows} + probe_rows;
  uint64_t const start = uint64_t{tile} * kMergeTile;
  splits[tile] = static_cast<uint32_t>(
      merge_path(build_keys, build_rows, probe_keys, probe_rows, start < all ? start : all));
}

// Keys equal to `key` from its lower bound on: by doubling steps, then by halves, so that a heavy key costs its logarithm.
template <typename Key>
__device__ uint32_t count_equal(const Key* __restrict__ keys, uint32_t rows, uint32_t lower,
                                Key key) {
  if (lower >= rows || keys[lower] != key) return 0;
  uint64_t step = 1;
  while (lower + step < rows && keys[lower + step] == key) step *= 2;
  uint64_t low = lower + step / 2 + 1;  // the key at lower + step / 2 is equal
  uint64_t high = lower + step < rows ? lower + step : rows;
  while (low < high) {
    uint64_t const middle = low + (high - low) / 2;
    if (keys[middle] == key) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return static_cast<uint32_t>(low - lower);
}

template <typename Key>
__global__ void __launch_bounds__(kMergeThreads)
    merge_bounds_kernel(const Key* __restrict__ build_keys, uint32_t build_rows,
                        const Key* __restrict__ probe_keys, uint32_t probe_rows,
                        const uint32_t* __restrict__ splits, uint32_t* __restrict__ lower,
                        uint32_t* __restrict__ counts) {
  // Build keys of the tile, then its probe keys; the bounds are staged to be written out coalesced.
  __shared__ Key keys[kMergeTile];
  __shared__ uint32_t bounds[kMergeTile];

  uint64_t const all = uint64_t{build_rows} + probe_rows;
  uint64_t const tile_begin = uint64_t{blockIdx.x} * kMergeTile;
  uint64_t const tile_end = min(tile_begin + kMergeTile, all);
  uint32_t const build_begin = splits[blockIdx.x];
  uint32_t const builds = splits[blockIdx.x + 1] - build_begin;
  auto const probe_begin = static_cast<uint32_t>(tile_begin - build_begin);
  auto const probes = static_cast<uint32_t>(tile_end - tile_begin - builds);

  for (uint32_t i = threadIdx.x; i < builds; i += kMergeThreads) {
    keys[i] = build_keys[build_begin + i];
  }
  for (uint32_t i = threadIdx.x; i < probes; i += kMergeThreads) {
    keys[builds + i] = probe_keys[probe_begin + i];
  }
  __syncthreads();

  uint32_t const diagonal = min(threadIdx.x * kMergeItems, builds + probes);
  uint32_t const diagonal_end = min(diagonal + kMergeItems, builds + probes);
  auto build = static_cast<uint32_t>(merge_path(keys, builds, keys + builds, probes, diagonal));
  uint32_t probe = diagonal - build;
  for (uint32_t step = diagonal; step < diagonal_end; ++step) {
    bool const take_build =
        probe == probes || (build < builds && keys[build] < keys[builds + probe]);
    if (take_build) {
      ++build;
    } else {
      bounds[probe++] = build_begin + build;
    }
  }
  __syncthreads();
  for (uint32_t i = threadIdx.x; i < probes; i += kMergeThreads) {
    lower[probe_begin + i] = bounds[i];
    counts[probe_begin + i] = count_equal(build_keys, build_rows, bounds[i], keys[builds + i]);
  }
}

}  // namespace gpujoin::kernels
