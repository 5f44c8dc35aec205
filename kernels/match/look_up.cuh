// look_up.cuh: build columns in the order of the probe rows, each of which has one match
//
// Source   ours; foreign keys of a star keep their rows where they are, so that one join moves the
//          columns of its dimension and no others
// In       probe_keys[probe_rows]; a finder (table_columns.cuh)
// Out      target[probe_rows] of each build column; *found, the probe rows with a match: places of
//          others are not written
// Needs    unique build keys: with duplicates nothing is written
// Launch   as many blocks of kThreadsOf<Finder> as are resident
// Moves    |Key| a row and the columns' widths, streamed; a random sector a lookup, and a build
//          column    (traffic::direct_table_probe)
#pragma once

#include <cstdint>

#include "kernels/match/carried_columns.hpp"
#include "kernels/match/table_columns.cuh"
#include "kernels/tuning.hpp"

namespace gpujoin::kernels {

template <int kWidth, typename Row, typename Finder>
__global__ void __launch_bounds__(kThreadsOf<Finder>, kBlocksOf<Finder>)
    look_up_kernel(const __grid_constant__ TableJoin<typename Finder::Key> join,
                   const __grid_constant__ Finder finder) {
  constexpr int kItems = kItemsOf<kWidth, Finder>;
  constexpr uint32_t kBatch = 32 * kItems;
  if (join.has_duplicates != nullptr && *join.has_duplicates != 0) return;
  if constexpr (requires { finder.start(); }) {
    finder.start();
    block_sync();
  }
  unsigned long long found = 0;
  LaneRows<typename Finder::Key, kItems> rows;
  // A sector of a target is written once for each slice.
  each_table_batch(join, finder, rows, [&](uint64_t first, uint32_t count) {
    found += count;
#pragma unroll
    for (int item = 0; item < kItems; ++item) {
      if (rows.slots[item] != kNoSlot) rows.slots[item] = 32 * item + threadIdx.x % 32;
    }
    rows.base = first;
    rows.first_slot = 0;
    rows.slot_count = kBatch;
    write_neighbours<kWidth, Row>(join, rows, count);
  });
  if (threadIdx.x % 32 == 0 && found != 0) atomicAdd(join.found, found);
}

}  // namespace gpujoin::kernels
