// merge_bounds.cuh: for each sorted probe key its lower bound in the sorted build keys, and how
// many equal it
//
// Paper    merge path: Green, McColl, Bader 2012; Rui & Tu 2017, section 3.3.2; Wu et al. 2024,
//          section 3.1
// Differs  one merge path finds the lower bounds. The upper bound is looked for from there, in keys
//          that are in cache: most keys have one or no match, and a second merge path would read
//          both sides again
// In       build_keys[build_rows], probe_keys[probe_rows]   ascending
// Out      lower[probe_rows]    first build position not below the key
//          counts[probe_rows]   build keys equal to it
// Launch   splits: one thread a tile boundary; bounds: a block a tile of kMergeTile keys of both
//          sides together
// Moves    |Key| a row of both sides, 8 bytes a probe row   (traffic::merge_path)
//
// The tile's walk is shared with merge_two_bounds.cuh and merge_one_bound.cuh.
//
//   tile t owns the diagonal range [t * kMergeTile, (t + 1) * kMergeTile) of the merge; splits[t] =
//   build keys before it. Every tile has the same number of keys, however they are distributed.
#pragma once

#include <cstdint>

#include "kernels/merge_path.cuh"
#include "kernels/tuning.hpp"

namespace gpujoin::kernels {

// Both sides' keys, ascending.
template <typename Key>
struct MergeSides {
  const Key* __restrict__ build;
  const Key* __restrict__ probe;
  uint32_t build_rows;
  uint32_t probe_rows;
};

// Which bound of a probe key in the build keys a merge finds: the lower one when probe keys come
// before the build keys that equal them, the upper one when they come after.
enum class Bound { kLower, kUpper };

// Build keys among the first `diagonal` keys of the merge.
template <Bound kBound, typename Key, typename Count>
__device__ Count builds_before(const Key* build, Count build_rows, const Key* probe,
                               Count probe_rows, Count diagonal) {
  if constexpr (kBound == Bound::kLower) {
    return diagonal - merge_path(probe, probe_rows, build, build_rows, diagonal);
  } else {
    return merge_path(build, build_rows, probe, probe_rows, diagonal);
  }
}

template <Bound kBound, typename Key>
__device__ void split_merge(const MergeSides<Key>& sides, uint32_t tiles, uint32_t* splits) {
  uint32_t const tile = blockIdx.x * kMergeThreads + threadIdx.x;
  if (tile > tiles) return;
  uint64_t const all = uint64_t{sides.build_rows} + sides.probe_rows;
  uint64_t const start = uint64_t{tile} * kMergeTile;
  splits[tile] = static_cast<uint32_t>(
      builds_before<kBound>(sides.build, uint64_t{sides.build_rows}, sides.probe,
                            uint64_t{sides.probe_rows}, start < all ? start : all));
}

template <Bound kBound, typename Key>
__global__ void __launch_bounds__(kMergeThreads)
    merge_splits_kernel(MergeSides<Key> sides, uint32_t tiles, uint32_t* __restrict__ splits) {
  split_merge<kBound>(sides, tiles, splits);
}

// A tile of the merge in shared memory: its build keys, then its probe keys, and the bound of each
// probe key, staged to be written out coalesced.
template <typename Key>
struct MergeTile {
  Key keys[kMergeTile];
  uint32_t bounds[kMergeTile];
};

struct TileRows {
  uint32_t build_begin;
  uint32_t builds;
  uint32_t probe_begin;
  uint32_t probes;
};

// Loads the tile and finds its bounds; all threads of the block.
template <Bound kBound, typename Key>
__device__ TileRows find_tile_bounds(const MergeSides<Key>& sides, const uint32_t* splits,
                                     uint32_t tile_number, MergeTile<Key>& tile) {
  uint64_t const all = uint64_t{sides.build_rows} + sides.probe_rows;
  uint64_t const tile_begin = uint64_t{tile_number} * kMergeTile;
  uint64_t const tile_end = min(tile_begin + kMergeTile, all);
  TileRows rows;
  rows.build_begin = splits[tile_number];
  rows.builds = splits[tile_number + 1] - rows.build_begin;
  rows.probe_begin = static_cast<uint32_t>(tile_begin - rows.build_begin);
  rows.probes = static_cast<uint32_t>(tile_end - tile_begin - rows.builds);

  Key* build_keys = tile.keys;
  Key* probe_keys = tile.keys + rows.builds;
  for (uint32_t i = threadIdx.x; i < rows.builds; i += kMergeThreads) {
    build_keys[i] = sides.build[rows.build_begin + i];
  }
  for (uint32_t i = threadIdx.x; i < rows.probes; i += kMergeThreads) {
    probe_keys[i] = sides.probe[rows.probe_begin + i];
  }
  __syncthreads();

  uint32_t const steps = rows.builds + rows.probes;
  uint32_t const diagonal = min(threadIdx.x * kMergeItems, steps);
  uint32_t const diagonal_end = min(diagonal + kMergeItems, steps);
  uint32_t build =
      builds_before<kBound, Key>(build_keys, rows.builds, probe_keys, rows.probes, diagonal);
  uint32_t probe = diagonal - build;
  for (uint32_t step = diagonal; step < diagonal_end; ++step) {
    bool take_build = probe == rows.probes;
    if (!take_build && build < rows.builds) {
      take_build = kBound == Bound::kLower ? build_keys[build] < probe_keys[probe]
                                           : build_keys[build] <= probe_keys[probe];
    }
    if (take_build) {
      ++build;
    } else {
      tile.bounds[probe++] = rows.build_begin + build;
    }
  }
  __syncthreads();
  return rows;
}

// Keys equal to `key` from its lower bound on: by doubling steps, then by halves, so that a heavy
// key costs its logarithm.
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
    merge_bounds_kernel(MergeSides<Key> sides, const uint32_t* __restrict__ splits,
                        uint32_t* __restrict__ lower, uint32_t* __restrict__ counts) {
  __shared__ MergeTile<Key> tile;
  TileRows const rows = find_tile_bounds<Bound::kLower>(sides, splits, blockIdx.x, tile);
  for (uint32_t i = threadIdx.x; i < rows.probes; i += kMergeThreads) {
    lower[rows.probe_begin + i] = tile.bounds[i];
    counts[rows.probe_begin + i] =
        count_equal(sides.build, sides.build_rows, tile.bounds[i], tile.keys[rows.builds + i]);
  }
}

}  // namespace gpujoin::kernels
