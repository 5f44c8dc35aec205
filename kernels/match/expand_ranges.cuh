// expand_ranges.cuh: from a range of build positions for each probe row to pairs, the same work for
// every block
//
// Source   load-balancing search, as in moderngpu's inner join (kernel_join.hxx): a merge path over
//          rows and pairs
// In       lower[rows]       first build position of each probe row
//          offsets[rows]     pairs before those of the row: exclusive sum of the counts, 64 bits
//          pairs             their total
// Out      pairs at their offsets, through the sink (positions, or row ids)
// Launch   splits: one thread a tile boundary; expand: a block a tile of kMergeTile rows and pairs
//          together, of all tiles or of some in a row
// Moves    12 bytes a probe row read, 8 bytes a pair written      (traffic::merge_path)
//
//   A row with a million pairs spans five hundred tiles, a run of rows without pairs costs its
//   rows: no block has more to do.
#pragma once

#include <cstdint>

#include "kernels/output/emit_pairs.cuh"
#include "kernels/tuning.hpp"

namespace gpujoin::kernels {

// In the merge a row comes before the pair with number `pair` when its pairs begin at or before it.
// Rows among the first `diagonal` steps.
__device__ inline uint64_t row_path(const unsigned long long* offsets, uint64_t rows,
                                    uint64_t pairs, uint64_t diagonal) {
  uint64_t low = diagonal > pairs ? diagonal - pairs : 0;
  uint64_t high = diagonal < rows ? diagonal : rows;
  while (low < high) {
    uint64_t const middle = low + (high - low) / 2;
    if (offsets[middle] <= diagonal - 1 - middle) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low;
}

struct ExpandRanges {
  const uint32_t* lower;
  const unsigned long long* offsets;
  uint32_t rows;
  uint64_t pairs;
  const uint32_t* splits;  // [tiles + 1] rows before each tile
  uint64_t first_tile;     // of the launch
  uint64_t first_place;    // number of the pair that goes to the sink's first place
  PairSink sink;
};

__global__ void __launch_bounds__(kMergeThreads)
    expand_splits_kernel(ExpandRanges args, uint64_t tiles, uint32_t* __restrict__ splits) {
  uint64_t const tile = uint64_t{blockIdx.x} * kMergeThreads + threadIdx.x;
  if (tile > tiles) return;
  uint64_t const all = uint64_t{args.rows} + args.pairs;
  uint64_t const start = tile * kMergeTile;
  splits[tile] = static_cast<uint32_t>(
      row_path(args.offsets, args.rows, args.pairs, start < all ? start : all));
}

__global__ void __launch_bounds__(kMergeThreads) expand_ranges_kernel(ExpandRanges args) {
  // One row before the tile's first may still own pairs of the tile, so rows has room for it.
  __shared__ int32_t
      begins[kMergeTile + 1];  // first pair of each row, counted from the tile's first pair
  __shared__ uint32_t lowers[kMergeTile + 1];
  __shared__ uint32_t stage_build[kMergeTile];
  __shared__ uint32_t stage_row[kMergeTile];

  uint64_t const all = uint64_t{args.rows} + args.pairs;
  uint64_t const tile = args.first_tile + blockIdx.x;
  uint64_t const tile_begin = tile * kMergeTile;
  uint64_t const tile_end = min(tile_begin + kMergeTile, all);
  uint32_t const split = args.splits[tile];
  uint32_t const split_end = args.splits[tile + 1];
  uint64_t const pair_begin = tile_begin - split;
  auto const pairs = static_cast<uint32_t>(tile_end - split_end - pair_begin);

  // The row before the split owns the pairs up to the first row of the tile.
  uint32_t const row_begin = split == 0 ? 0 : split - 1;
  uint32_t const rows = split_end - row_begin;
  for (uint32_t i = threadIdx.x; i < rows; i += kMergeThreads) {
    auto const begin = static_cast<int64_t>(args.offsets[row_begin + i] - pair_begin);
    // The row before may begin far back: then its lower bound moves forward instead, to keep 32
    // bits.
    begins[i] = begin < 0 ? 0 : static_cast<int32_t>(begin);
    lowers[i] = args.lower[row_begin + i] + (begin < 0 ? static_cast<uint32_t>(-begin) : 0);
  }
  __syncthreads();

  // Each thread walks kMergeItems steps of the tile: rows are consumed, pairs are staged.
  uint32_t const skipped = split - row_begin;  // 0 or 1 row consumed before the tile
  uint32_t const steps = static_cast<uint32_t>(tile_end - tile_begin);
  uint32_t const diagonal = min(threadIdx.x * kMergeItems, steps);
  uint32_t const diagonal_end = min(diagonal + kMergeItems, steps);
  uint32_t low = diagonal > pairs ? diagonal - pairs : 0;
  uint32_t high = min(diagonal, rows - skipped);
  while (low < high) {
    uint32_t const middle = low + (high - low) / 2;
    if (begins[skipped + middle] <= static_cast<int32_t>(diagonal - 1 - middle)) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  uint32_t row = low;  // rows of the tile consumed so far
  uint32_t pair = diagonal - row;
  for (uint32_t step = diagonal; step < diagonal_end; ++step) {
    bool const take_row = row < rows - skipped &&
                          (pair == pairs || begins[skipped + row] <= static_cast<int32_t>(pair));
    if (take_row) {
      ++row;
    } else {
      uint32_t const owner = skipped + row - 1;
      stage_build[pair] = lowers[owner] + (pair - static_cast<uint32_t>(begins[owner]));
      stage_row[pair] = row_begin + owner;
      ++pair;
    }
  }
  __syncthreads();
  for (uint32_t i = threadIdx.x; i < pairs; i += kMergeThreads) {
    uint32_t build = stage_build[i];
    uint32_t probe = stage_row[i];
    if (args.sink.build_row_ids != nullptr) build = args.sink.build_row_ids[build];
    if (args.sink.probe_row_ids != nullptr) probe = args.sink.probe_row_ids[probe];
    args.sink.build_out[pair_begin - args.first_place + i] = build;
    args.sink.probe_out[pair_begin - args.first_place + i] = probe;
  }
}

}  // namespace gpujoin::kernels
