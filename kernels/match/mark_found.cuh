// mark_found.cuh: which rows have a match, by a table in which any row stands for all of its key
//
// Source   ours: kinds of joins whose side comes out alone need no pairs, whose number has no limit
// In       probe_keys[probe_rows]; a finder (table_columns.cuh)
// Out      mark_found: found, a bit for each build row or place that a probe row found. tell_found:
//          marks, bit r % 32 of word r / 32: of a probe side whether row r finds its key, of the
//          build side in its place whether the bit of what it finds is set
// Needs    found 0, or null: all are; a finder of one slice, the same for both; no build column
// Launch   as many blocks of kTableThreads as are resident
// Moves    |Key| a row of either side, streamed; a random sector a lookup, and of `found`; a bit a
//          build row
//
// Rows with many matches are found many times: one address takes 0.6e9 atomics a second, and a look
// first, which the cache answers, spares all but the first ones.
#pragma once

#include <cstdint>

#include "kernels/marked_bit.cuh"
#include "kernels/match/table_columns.cuh"
#include "kernels/tuning.hpp"

namespace gpujoin::kernels {

template <typename Finder>
__global__ void __launch_bounds__(kTableThreads, kTableBlocksPerSm)
    mark_found_kernel(const __grid_constant__ TableJoin<typename Finder::Key> join,
                      const __grid_constant__ Finder finder, uint32_t* found) {
  constexpr int kItems = kItemsOf<4, Finder>;
  LaneRows<typename Finder::Key, kItems> rows;
  each_table_batch(join, finder, rows, [&](uint64_t, uint32_t) {
#pragma unroll
    for (int item = 0; item < kItems; ++item) {
      if (rows.slots[item] == kNoSlot) continue;
      uint32_t* const word = &found[rows.build[item] / 32];
      uint32_t const bit = 1U << rows.build[item] % 32;
      if (!is_marked(word, bit)) atomicOr(word, bit);
    }
  });
}

template <typename Finder>
__global__ void __launch_bounds__(kTableThreads, kTableBlocksPerSm)
    tell_found_kernel(const __grid_constant__ TableJoin<typename Finder::Key> join,
                      const __grid_constant__ Finder finder, const uint32_t* __restrict__ found,
                      uint32_t* __restrict__ marks) {
  constexpr int kItems = kItemsOf<4, Finder>;
  LaneRows<typename Finder::Key, kItems> rows;
  each_table_batch(join, finder, rows, [&](uint64_t first, uint32_t) {
#pragma unroll
    for (int item = 0; item < kItems; ++item) {
      bool const is_there = rows.slots[item] != kNoSlot;
      bool const is_found =
          is_there &&
          (found == nullptr || (found[rows.build[item] / 32] >> rows.build[item] % 32 & 1) != 0);
      uint32_t const word = __ballot_sync(0xffffffffU, is_found);
      uint64_t const row = first + 32 * item;
      if (threadIdx.x % 32 == 0 && row < join.probe_rows) marks[row / 32] = word;
    }
  });
}

}  // namespace gpujoin::kernels
