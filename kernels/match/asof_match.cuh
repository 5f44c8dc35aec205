// asof_match.cuh: for each left row of an ASOF join its one right row, of sorted sides
//
// Paper    merge path: Green, McColl, Bader 2012, as merge_bounds.cuh has it; a bound is not
//          written: the keys next to it are in the tile, and say at once which row matches
// In       MergeSides: build_keys the right side's, probe_keys the left side's, ascending, those of
//          equal keys by row number; right_rows, the row numbers of the right side's keys, null:
//          their places; AsofRule
// Out      found[left keys]  the right row of each, or kNoRow
//          matches           how many have one
// Launch   splits: merge_splits_kernel; then a block a tile of kMergeTile keys of both sides
// Moves    |Key| and, where they are given, a row number a row of both sides, 4 bytes a left row
#pragma once

#include <cstdint>

#include "kernels/match/asof_rule.hpp"
#include "kernels/match/merge_bounds.cuh"
#include "kernels/warp_sum.cuh"

namespace gpujoin::kernels {

constexpr uint32_t kNoRow = 0xffffffff;

template <Bound kBound, typename Key>
__global__ void __launch_bounds__(kMergeThreads)
    asof_match_kernel(MergeSides<Key> sides, const uint32_t* __restrict__ right_rows,
                      const __grid_constant__ AsofRule rule, const uint32_t* __restrict__ splits,
                      uint32_t* __restrict__ found, unsigned long long* matches) {
  __shared__ MergeTile<Key> tile;
  TileRows const rows = find_tile_bounds<kBound>(sides, splits, blockIdx.x, tile);
  // Of the tile, or of its neighbours.
  auto const right_key = [&](uint32_t place) {
    uint32_t const here = place - rows.build_begin;
    return here < rows.builds ? tile.keys[here] : sides.build[place];
  };
  uint32_t matched = 0;
  for (uint32_t i = threadIdx.x; i < rows.probes; i += kMergeThreads) {
    Key const left = tile.keys[rows.builds + i];
    uint32_t const before = tile.bounds[i];
    uint32_t after = before;
    if (kBound == Bound::kLower && rule.direction == AsofDirection::kNearest) {
      // Strictly after: behind all that are equal.
      after += count_equal(sides.build, sides.build_rows, before, left);
    }
    bool const has_before = rule.direction != AsofDirection::kForward && before > 0;
    bool const has_after = rule.direction != AsofDirection::kBackward && after < sides.build_rows;
    Key const before_key = has_before ? right_key(before - 1) : left;
    Key const after_key = has_after ? right_key(after) : left;
    AsofMatch const match = choose_match(rule, left, has_before ? &before_key : nullptr,
                                         has_after ? &after_key : nullptr);
    uint32_t right = match == AsofMatch::kBefore ? before - 1 : after;
    if (match == AsofMatch::kNone) {
      right = kNoRow;
    } else {
      ++matched;
      if (right_rows != nullptr) right = right_rows[right];
    }
    found[rows.probe_begin + i] = right;
  }
  add_of_block<kMergeThreads>(matched, matches);
}

}  // namespace gpujoin::kernels
