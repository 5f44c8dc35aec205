// small_table.cuh: a join of few rows in one launch: look at the keys, make a table, probe it and write the output columns
//
// Source   ours: what direct_table.cuh, global_table.cuh and table_columns.cuh do one launch after the other, and the wait between them,
//          take longer than the work where there are few rows
// In       keys of both sides, columns of both sides in the order of the keys
// Out      target[] of each column, without holes; found; with repeated build keys what is written has no meaning
// Needs    unique build keys; state all 0; room for as many output rows as there are probe rows; slots for both kinds of table
// Launch   cooperative; or one block, which needs no other to wait for
// Moves    as the tables, the columns of the build side read where they are
//
//   slots: dense keys: 4 bytes a place, the build row; others: 8 bytes a slot of a GlobalTable, twice as many as rows
#pragma once

#include <cooperative_groups.h>

#include <cstdint>

#include "kernels/block_sync.cuh"
#include "kernels/match/carried_columns.hpp"
#include "kernels/match/carried_rows.cuh"
#include "kernels/match/direct_table.cuh"
#include "kernels/match/global_table.cuh"
#include "kernels/match/small_table.hpp"
#include "kernels/match/table_columns.cuh"
#include "kernels/transform/key_range.cuh"
#include "kernels/tuning.hpp"

namespace gpujoin::kernels {

__device__ __forceinline__ void small_sync() {
  if (gridDim.x == 1) {
    __syncthreads();
  } else {
    cooperative_groups::this_grid().sync();
  }
}

// Some keys are loaded before the first of them is used: the loads are what such a loop waits for.
template <typename Key, typename Function>
__device__ __forceinline__ void each_build_key(const SmallTableJoin<Key>& join, uint32_t first,
                                               uint32_t stride, Function function) {
  constexpr int kAtOnce = 4;
  for (uint64_t start = first; start < join.build_rows; start += uint64_t{stride} * kAtOnce) {
    Key keys[kAtOnce];
#pragma unroll
    for (int i = 0; i < kAtOnce; ++i) {
      uint64_t const row = start + uint64_t{stride} * i;
      if (row < join.build_rows) keys[i] = join.build_keys[row];
    }
#pragma unroll
    for (int i = 0; i < kAtOnce; ++i) {
      uint64_t const row = start + uint64_t{stride} * i;
      if (row < join.build_rows) function(static_cast<uint32_t>(row), keys[i]);
    }
  }
}

// All 0 is the start: what is to be a minimum or an and is kept inverted.
template <typename Key>
__device__ __forceinline__ void note_range(const SmallTableJoin<Key>& join, uint32_t first,
                                           uint32_t stride) {
  TurnedRange<Key> range;
  each_build_key(join, first, stride, [&](uint32_t, Key key) { range.add_key(key); });
  add_block<kSmallTableThreads>(range);
  if (threadIdx.x != 0) return;
  atomicOr(&join.state->any, static_cast<unsigned long long>(range.any));
  atomicOr(&join.state->none, static_cast<unsigned long long>(static_cast<Key>(~range.all)));
  atomicMax(&join.state->high, static_cast<unsigned long long>(range.high));
  atomicMax(&join.state->inverted_low,
            static_cast<unsigned long long>(static_cast<Key>(~range.low)));
}

template <typename KeyType>
struct FindSmallPlaces {
  using Key = KeyType;
  DirectTable<Key> table;
  const uint32_t* rows;

  template <int kItems>
  __device__ void operator()(const Key (&keys)[kItems], const bool (&are_rows)[kItems], uint32_t,
                             uint32_t (&build)[kItems], bool (&found)[kItems]) const {
#pragma unroll
    for (int item = 0; item < kItems; ++item) {
      uint64_t const place = table.place_of(keys[item]);
      bool const within = are_rows[item] && place < table.places;
      build[item] = within ? rows[place] : kNoRow;
    }
#pragma unroll
    for (int item = 0; item < kItems; ++item) found[item] = build[item] != kNoRow;
  }
};

// Of the range that all blocks found together; places == 0: the keys are too far apart.
template <typename Key>
__device__ __forceinline__ DirectTable<Key> small_direct_table(const SmallTableJoin<Key>& join) {
  volatile const SmallTableState* const state = join.state;
  Key const low = static_cast<Key>(~static_cast<Key>(state->inverted_low));
  Key const high = static_cast<Key>(state->high);
  Key const varying = static_cast<Key>(state->any & state->none);
  DirectTable<Key> table{};
  if (varying != 0) table.shift = __ffsll(static_cast<long long>(varying)) - 1;
  Key const steps = static_cast<Key>(high - low) >> table.shift;
  table.low = turn_sign(low);
  table.places = steps < join.most_places ? static_cast<uint32_t>(steps) + 1 : 0;
  return table;
}

template <typename Key>
__device__ __forceinline__ void place_small_rows(const SmallTableJoin<Key>& join,
                                                 const DirectTable<Key>& table, uint32_t first,
                                                 uint32_t stride) {
  // An exchange tells at once that the place is taken. To store, and to read all rows again afterwards, was slower: 10^6 x 10^6 rows on
  // an H200 75 us instead of 70.
  auto* const rows = reinterpret_cast<uint32_t*>(join.slots);
  bool repeats = false;
  each_build_key(join, first, stride, [&](uint32_t row, Key key) {
    repeats |= atomicExch(rows + table.place_of(key), row) != kNoRow;
  });
  if (repeats) join.state->repeats = 1;
}

template <typename Key>
__device__ __forceinline__ void hash_small_rows(const SmallTableJoin<Key>& join, uint32_t first,
                                                uint32_t stride) {
  bool repeats = false;
  each_build_key(join, first, stride, [&](uint32_t row, Key key) {
    Key const mixed = mix_key(key);
    unsigned long long const wanted = static_cast<unsigned long long>(tag_of(mixed)) << 32 | row;
    uint64_t slot = slot_of(mixed, join.mask);
    for (;;) {
      unsigned long long const there = atomicCAS(&join.slots[slot], kFreeSlot, wanted);
      if (there == kFreeSlot) break;
      bool same = tag_of_slot(there) == tag_of(mixed);
      if constexpr (sizeof(Key) == 8) same = same && join.build_keys[row_of_slot(there)] == key;
      repeats |= same;
      if (same) break;
      slot = (slot + 1) & join.mask;
    }
  });
  if (repeats) join.state->repeats = 1;
}

template <int kWidth, int kItems, typename Finder>
__device__ __forceinline__ void probe_small_table(const SmallTableJoin<typename Finder::Key>& join,
                                                  const Finder& finder) {
  constexpr uint64_t kTile = uint64_t{kItems} * kSmallTableThreads;
  constexpr uint32_t kWarps = kSmallTableThreads / 32;
  __shared__ uint32_t counts[kWarps];
  __shared__ unsigned long long block_base;
  uint32_t const warp = threadIdx.x / 32;
  uint64_t const stride = gridDim.x * kTile;
  for (uint64_t tile = blockIdx.x * kTile; tile < join.output.probe_rows; tile += stride) {
    CarriedRows<typename Finder::Key, kItems> rows;
    uint32_t count = 0;
    find_table_batch(join.output, finder, 0, tile + uint64_t{warp} * 32 * kItems, rows, &count);
    if (threadIdx.x % 32 == 0) counts[warp] = count;
    block_sync();
    uint32_t before = 0;
    uint32_t total = 0;
#pragma unroll
    for (uint32_t i = 0; i < kWarps; ++i) {
      before += i < warp ? counts[i] : 0;
      total += counts[i];
    }
    if (threadIdx.x == 0) {
      block_base = atomicAdd(&join.state->rows, static_cast<unsigned long long>(total));
    }
    block_sync();
    rows.first_slot = 0;
    rows.slot_count = count;
    rows.base = block_base + before;
    write_carried_rows<kWidth>(join.output, rows);
    block_sync();  // counts and base are read
  }
}

template <typename Key, int kWidth>
__global__ void __launch_bounds__(kSmallTableThreads, 2)
    small_table_kernel(const __grid_constant__ SmallTableJoin<Key> join) {
  constexpr int kItems = kWidth == 4 ? kTableItems : kTableItemsWide;
  uint32_t const first = blockIdx.x * kSmallTableThreads + threadIdx.x;
  uint32_t const stride = gridDim.x * kSmallTableThreads;
  DirectTable<Key> direct{};
  if (join.most_places != 0) {
    note_range(join, first, stride);
    small_sync();
    direct = small_direct_table(join);
  }
  uint64_t const cleared = direct.places != 0 ? (direct.places + 1) / 2 : join.mask + 1;
  for (uint64_t i = first; i < cleared; i += stride) join.slots[i] = kFreeSlot;
  small_sync();
  if (direct.places != 0) {
    place_small_rows(join, direct, first, stride);
  } else {
    hash_small_rows(join, first, stride);
  }
  small_sync();

  if (direct.places != 0) {
    FindSmallPlaces<Key> const finder = {direct, reinterpret_cast<const uint32_t*>(join.slots)};
    probe_small_table<kWidth, kItems>(join, finder);
  } else {
    FindRows<Key> const finder = {{join.slots, join.mask, nullptr, join.build_keys}};
    probe_small_table<kWidth, kItems>(join, finder);
  }
  // The last block to come tells the host, which then needs no copy of the state, and lets go of the rows where keys repeat.
  block_sync();
  if (threadIdx.x != 0) return;
  __threadfence();
  if (atomicAdd(&join.state->finished, 1U) + 1 != gridDim.x) return;
  join.found->rows = *static_cast<volatile unsigned long long*>(&join.state->rows);
  join.found->is_direct = direct.places != 0 ? 1 : 0;
  join.found->repeats = *static_cast<volatile uint32_t*>(&join.state->repeats);
}

}  // namespace gpujoin::kernels
