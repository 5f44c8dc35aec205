// match_in_rounds.cuh: a unit whose probe rows match few build rows each
//
// Source   ours
// In       a unit's groups (carried_groups.cuh)
// Out      rows of the output columns; left[] of a partition whose build rows are more than a table
//          holds, or many in one bucket
// Moves    as carried_columns.cuh
//
//   in each round the lanes write one match of each of their rows; most often there is no second
#pragma once

#include <cstdint>

#include "kernels/block_sync.cuh"
#include "kernels/match/carried_batches.cuh"
#include "kernels/match/carried_groups.cuh"
#include "kernels/match/carried_stages.cuh"
#include "kernels/match/carried_units.cuh"
#include "kernels/tuning.hpp"

namespace gpujoin::kernels {

// A batch of probe rows and what they match.
template <typename Key, int kItems>
struct CarriedBatch {
  LaneRows<Key, kItems> rows;
  // Of each of a lane's rows, the matches not yet written << 16 | the position of the first of
  // them.
  uint32_t matches[kItems];
  uint32_t count;  // of all the lane's rows

  __device__ bool has_match(int item) const { return matches[item] >> 16 != 0; }
};
constexpr uint32_t kOneMatch = 1U << 16;

// Rows of a bucket that are written in rounds.
constexpr uint32_t kHeavyBucket = 128;

template <typename KeyType, int kColumnWidth, typename Shape>
struct MatchInRounds {
  using Key = KeyType;
  using Join = CarriedJoin<Key>;
  static constexpr int kWidth = kColumnWidth;
  static constexpr int kThreads = Shape::kThreads;
  static constexpr int kBlocksPerSm = Shape::kBlocksPerSm;
  static constexpr int kItems = kWidth != 0 ? kCarriedItems : kCarriedItemsWide;
  static constexpr uint32_t kUnitRows = kCarriedProbeRows;
  static constexpr bool kWholeBuild = false;
  static constexpr bool kKeeps = false;
  // Wide keys beside wide columns leave no registers.
  static constexpr bool kLoadsAhead = sizeof(Key) <= 4 || kWidth == 4;
  using Batch = BatchKeys<MatchInRounds>;

  struct Shared : CarriedBlock {
    bool is_heavy;  // a bucket
    CarriedGroups<Key> groups;
  };

  __device__ static uint32_t heavy_rows(const CarriedJoin<Key>&) { return kUnitRows; }
  __device__ static uint32_t first_row(const CarriedUnit&, uint32_t batch) {
    return 32 * kItems * batch;
  }
  __device__ static void start(const Join&, Shared&) {}

  // All threads; false: the unit is left to a join that deals, and so is every other of its
  // partition.
  __device__ static bool build(const CarriedJoin<Key>& join, const CarriedUnit& unit,
                               Shared& shared) {
    if (!unit.is_whole) return leave_unit(join, unit);
    if (threadIdx.x == 0) shared.is_heavy = false;
    build_groups<kThreads>(join, unit, shared.groups);
    // A probe row that matches them would keep the lanes of its warp for as many rounds.
    bool is_heavy = false;
    for (uint32_t bucket = threadIdx.x; bucket < kCarriedBuckets; bucket += kThreads) {
      uint32_t const rows = shared.groups.start_of(bucket + 1) - shared.groups.start_of(bucket);
      is_heavy = is_heavy || rows > kHeavyBucket;
    }
    if (is_heavy) shared.is_heavy = true;
    block_sync();
    return shared.is_heavy ? leave_unit(join, unit) : true;
  }

  // All lanes of a warp.
  __device__ static void join_batch(const CarriedJoin<Key>& join, const CarriedUnit& unit,
                                    Shared& shared, uint32_t number, const Batch& keys) {
    CarriedBatch<Key, kItems> batch;
    find_batch(join, unit, shared.groups, first_row(unit, number), keys, batch);
    if (is_missed(join, shared, batch.count)) return;
    bool more = batch.count != 0;
#pragma unroll 1
    while (__any_sync(0xffffffffU, more)) {
      write_next_matches(join, shared, batch);
      more = false;
#pragma unroll
      for (int item = 0; item < kItems; ++item) {
        if (!batch.has_match(item)) continue;
        batch.matches[item] -= kOneMatch;
        if (!batch.has_match(item)) continue;
        more = true;
#pragma unroll 1
        do {
          ++batch.matches[item];
        } while (shared.groups.keys[batch.matches[item] & 0xffffU] != batch.rows.keys[item]);
      }
    }
  }

 private:
  __device__ static void find_batch(const CarriedJoin<Key>& join, const CarriedUnit& unit,
                                    const CarriedGroups<Key>& groups, uint32_t first,
                                    const Batch& keys, CarriedBatch<Key, kItems>& batch) {
    uint32_t const left = unit.probe_rows - first;
    uint32_t const lane = threadIdx.x % 32;
    start_batch(unit, first, keys, batch.rows);
    batch.count = 0;
#pragma unroll
    for (int item = 0; item < kItems; ++item) {
      CarriedMatches found{};
      if (item * 32 + lane < left) {
        found = find_matches(groups, batch.rows.keys[item], join.radix_bits);
      }
      batch.matches[item] = found.count << 16 | found.first;
      batch.count += found.count;
    }
  }

  // Each row's next match: the lanes that have one write side by side.
  __device__ static void write_next_matches(const CarriedJoin<Key>& join, Shared& shared,
                                            CarriedBatch<Key, kItems>& batch) {
    uint32_t const below = (1U << threadIdx.x % 32) - 1;
    uint32_t slots = 0;
#pragma unroll
    for (int item = 0; item < kItems; ++item) {
      bool const writes = batch.has_match(item);
      uint32_t const lanes = __ballot_sync(0xffffffffU, writes);
      batch.rows.slots[item] = writes ? slots + __popc(lanes & below) : kNoSlot;
      if (writes) batch.rows.build[item] = shared.groups.rows[batch.matches[item] & 0xffffU];
      slots += __popc(lanes);
    }
    write_batch<kWidth>(join, shared, slots, batch.rows);
  }
};

}  // namespace gpujoin::kernels
