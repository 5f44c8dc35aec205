// block_table.cuh: a join of few rows by one block, whose table is in its shared memory
//
// Source   ours: small_table.cuh, whose steps are a way to L2 and back each where one block has all
//          rows
// In       keys of both sides, columns of both sides in the order of the keys
// Out      target[] of each column, without holes; the answer; with repeated build keys, of which
//          more than one row may be wanted, nothing is written
// Needs    kItems * blockDim.x build rows at most; room for as many output rows as there are probe
//          rows
// Launch   one block of 32 to kBlockTableThreads threads, dynamic shared memory of mask + 1 slots
// Moves    keys and columns, once
// Shared   the table: dense keys: 4 bytes a place, the build row; others: 8 bytes a slot, twice as
//          many as rows
#pragma once

#include <cstdint>

#include "kernels/block_sync.cuh"
#include "kernels/match/carried_columns.hpp"
#include "kernels/match/lane_rows.cuh"
#include "kernels/match/pair_slots.cuh"
#include "kernels/match/small_rows.cuh"
#include "kernels/match/small_table.hpp"
#include "kernels/match/table_columns.cuh"
#include "kernels/transform/key_range.cuh"
#include "kernels/tuning.hpp"

namespace gpujoin::kernels {

constexpr uint32_t kBlockTableWarps = kBlockTableThreads / 32;

// All threads have it.
template <typename Key>
__device__ __forceinline__ TurnedRange<Key> range_of_block(TurnedRange<Key> range) {
  __shared__ TurnedRange<Key> warps[kBlockTableWarps];
  range.add_lanes();
  if (threadIdx.x % 32 == 0) warps[threadIdx.x / 32] = range;
  __syncthreads();
  range = {};
  if (threadIdx.x % 32 < blockDim.x / 32) range = warps[threadIdx.x % 32];
  range.add_lanes();
  return range;
}

template <int kItems, typename Key>
__device__ __forceinline__ void load_probe_rows(const TableJoin<Key>& join, uint32_t tile,
                                                LaneRows<Key, kItems>& rows) {
#pragma unroll
  for (int item = 0; item < kItems; ++item) {
    uint32_t const row = tile + item * blockDim.x + threadIdx.x;
    rows.probe[item] = row;
    rows.keys[item] = row < join.probe_rows ? __ldcs(&join.probe_keys[row]) : 0;
  }
}

// Finds the rows of a tile, and their places behind *written, which it moves on.
template <int kItems, typename Finder>
__device__ __forceinline__ void find_probe_rows(const TableJoin<typename Finder::Key>& join,
                                                const Finder& finder,
                                                LaneRows<typename Finder::Key, kItems>& rows,
                                                uint32_t* written) {
  __shared__ uint32_t counts[kBlockTableWarps];
  uint32_t const lane = threadIdx.x % 32;
  bool are_rows[kItems];
  bool found[kItems];
#pragma unroll
  for (int item = 0; item < kItems; ++item) {
    are_rows[item] = rows.probe[item] < join.probe_rows && finder.takes(rows.probe[item]);
  }
  finder(rows.keys, are_rows, 0, rows.build, found);
  uint32_t const slots = give_slots(found, rows);
  if (lane == 0) counts[threadIdx.x / 32] = slots;
  block_sync();
  uint32_t const count = lane < blockDim.x / 32 ? counts[lane] : 0;
  uint32_t const before = __reduce_add_sync(0xffffffffU, lane < threadIdx.x / 32 ? count : 0);
  rows.first_slot = 0;
  rows.slot_count = slots;
  rows.base = *written + before;
  *written += __reduce_add_sync(0xffffffffU, count);
}

template <typename Key, int kWidth>
__global__ void __launch_bounds__(kBlockTableThreads, 1)
    block_table_kernel(const __grid_constant__ SmallTableJoin<Key> join) {
  constexpr int kItems = kWidth == 4 ? kTableItems : kTableItemsWide;
  extern __shared__ __align__(16) unsigned char dynamic_shared[];
  __shared__ uint32_t repeats;
  auto* const slots = reinterpret_cast<unsigned long long*>(dynamic_shared);
  unsigned long long const started = nanoseconds();

  // The keys of both sides are on their way while the table is cleared.
  Key keys[kItems];
  uint32_t build_rows[kItems];
  uint32_t are_rows = 0;
#pragma unroll
  for (int item = 0; item < kItems; ++item) {
    build_rows[item] = item * blockDim.x + threadIdx.x;
    if (build_rows[item] >= join.build_rows) continue;
    if (!is_valid(join.build_present, build_rows[item])) continue;
    keys[item] = join.build_keys[build_rows[item]];
    are_rows |= 1U << item;
  }
  LaneRows<Key, kItems> rows;
  load_probe_rows(join.output, 0, rows);
  if (threadIdx.x == 0) repeats = 0;
  auto* const pairs = reinterpret_cast<ulonglong2*>(slots);
  for (uint32_t i = threadIdx.x; i < (join.mask + 1) / 2; i += blockDim.x) {
    pairs[i] = {kFreeSlot, kFreeSlot};
  }

  DirectTable<Key> direct{};
  if (join.most_places != 0) {
    TurnedRange<Key> range;
    range.add_keys(keys, are_rows);
    direct = small_direct_table(join, range_of_block(range));
  } else {
    __syncthreads();
  }
  auto* const places = reinterpret_cast<uint32_t*>(slots);
  PairTable<Key> const table = {slots, static_cast<uint32_t>(join.mask), join.build_keys};
  uint32_t const repeated = direct.places != 0
                                ? place_rows(places, direct, keys, build_rows, are_rows, nullptr)
                                : hash_rows(table, keys, build_rows, are_rows);
  if (repeated != 0) repeats = 1;
  block_sync();

  uint32_t written = 0;
  bool const in_vain = repeats != 0 && join.repeated != RepeatedKeys::kOneRow;
  if (!in_vain) {
    for (uint32_t tile = 0;;) {
      if (direct.places != 0) {
        AmongPresent<FindSmallPlaces<Key>> const finder = {{direct, places}, join.probe_present};
        find_probe_rows(join.output, finder, rows, &written);
      } else {
        AmongPresent<FindPairRows<Key>> const finder = {{table}, join.probe_present};
        find_probe_rows(join.output, finder, rows, &written);
      }
      write_carried_rows<kWidth>(join.output, rows);
      tile += kItems * blockDim.x;
      if (tile >= join.output.probe_rows) break;
      load_probe_rows(join.output, tile, rows);
      block_sync();  // counts are read
    }
  }
  block_sync();
  if (threadIdx.x != 0) return;
  tell_host(join.answer, written, direct.places != 0, in_vain, started);
}

}  // namespace gpujoin::kernels
