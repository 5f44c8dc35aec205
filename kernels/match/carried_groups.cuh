// carried_groups.cuh: a chunk of a build partition in shared memory, grouped by bucket
//
// Source   ours; the counting sort is that of a histogram partitioning, within a block
// Differs  from the chains of co_partitions.cuh: rows of a bucket lie side by side, so that the
//          matches of a key that has many can be given to as many lanes
// In       mixed keys of one partition, whose low radix_bits bits are equal
// Out      the range of positions of a bucket; of each position the key and the row, counted from
//          where the stages begin
// Needs    kCarriedBuildRows < 2^16
// Moves    |key| a build row
// Shared   one atomic add a build row
#pragma once

#include <cuda_pipeline_primitives.h>

#include <cstdint>

#include "kernels/block_sync.cuh"
#include "kernels/match/carried_columns.hpp"
#include "kernels/match/carried_stages.cuh"
#include "kernels/match/chunk_rows.cuh"
#include "kernels/tuning.hpp"
#include "kernels/warp_sum.cuh"

namespace gpujoin::kernels {

constexpr uint32_t kCarriedBuckets = 1U << kCarriedBucketBits;

template <typename Key>
struct CarriedGroups {
  Key keys[kCarriedBuildRows];
  uint16_t rows[kCarriedBuildRows];
  // Of two buckets in a word: rows while they are counted, then the first position. The end of the
  // last one after them.
  uint32_t starts[kCarriedBuckets / 2 + 1];
  uint32_t warp_sums[32];

  __device__ uint32_t start_of(uint32_t bucket) const {
    return reinterpret_cast<const uint16_t*>(starts)[bucket];
  }
};

template <typename Key>
__device__ __forceinline__ uint32_t carried_bucket(Key key, int32_t radix_bits) {
  return static_cast<uint32_t>(key >> radix_bits) & (kCarriedBuckets - 1);
}

// A lane's matches of one probe row, in positions of the groups.
struct CarriedMatches {
  uint32_t first;
  uint32_t count;
};

template <typename Key>
__device__ __forceinline__ CarriedMatches find_matches(const CarriedGroups<Key>& groups, Key key,
                                                       int32_t radix_bits) {
  uint32_t const bucket = carried_bucket(key, radix_bits);
  uint32_t const end = groups.start_of(bucket + 1);
  CarriedMatches found = {0, 0};
#pragma unroll 1
  for (uint32_t at = groups.start_of(bucket); at < end; ++at) {
    if (groups.keys[at] == key && found.count++ == 0) found.first = at;
  }
  return found;
}

// The rank of a row among those with its number, of which count(rows) counts so many more and
// answers how many there were. Rows with the number of the leader are counted at once: a counter
// takes one add at a time, and a number may have all rows. lanes: of the warp that have a row;
// leader: one of them.
template <typename Count>
__device__ __forceinline__ uint32_t rank_in_warp(uint32_t number, uint32_t lanes, int leader,
                                                 Count count) {
  uint32_t const below = (1U << threadIdx.x % 32) - 1;
  bool const is_first = number == __shfl_sync(lanes, number, leader);
  uint32_t const together = __ballot_sync(lanes, is_first);
  uint32_t const before = is_first ? __popc(together & below) : 0;
  uint32_t rank = 0;
  if (before == 0) rank = count(is_first ? __popc(together) : 1);
  uint32_t const first_rank = __shfl_sync(lanes, rank, leader);
  return is_first ? first_rank + before : rank;
}

// The rank of a row in its bucket, which is counted one further. lanes: of the warp that have a
// row, the first among them.
template <typename Key>
__device__ __forceinline__ uint32_t rank_in_bucket(CarriedGroups<Key>& groups, uint32_t bucket,
                                                   uint32_t lanes) {
  uint32_t const shift = bucket % 2 * 16;
  return rank_in_warp(bucket, lanes, 0, [&](uint32_t rows) {
    return atomicAdd(&groups.starts[bucket / 2], rows << shift) >> shift & 0xffffU;
  });
}

// Counts become starts: exclusive sums over the buckets, in place. All threads.
template <int kThreads, typename Key>
__device__ __forceinline__ void sum_buckets(CarriedGroups<Key>& groups) {
  constexpr int kWords = kCarriedBuckets / 2 / kThreads;
  uint32_t* const words = groups.starts + threadIdx.x * kWords;
  uint32_t counts[kWords];
  uint32_t own = 0;
#pragma unroll
  for (int i = 0; i < kWords; ++i) {
    counts[i] = words[i];
    own += (counts[i] & 0xffffU) + (counts[i] >> 16);
  }
  uint32_t start = block_exclusive_sum<kThreads>(own, groups.warp_sums);
#pragma unroll
  for (int i = 0; i < kWords; ++i) {
    uint32_t const second = start + (counts[i] & 0xffffU);
    words[i] = start | second << 16;
    start = second + (counts[i] >> 16);
  }
  if (threadIdx.x == kThreads - 1) groups.starts[kCarriedBuckets / 2] = start;
}

// All threads; the groups, and what was queued for shared memory, are there when it returns.
// Whoever read the groups before must have come to a barrier since.
template <int kThreads, typename Key>
__device__ __forceinline__ void build_groups(const CarriedJoin<Key>& join, const CarriedUnit& unit,
                                             CarriedGroups<Key>& groups) {
  LoadedKeys<kThreads, Key> const keys{join, unit};
  for (uint32_t i = threadIdx.x; i < kCarriedBuckets / 2; i += kThreads) groups.starts[i] = 0;
  block_sync();
  // Of two rows each: what a register holds.
  uint32_t ranks[(kChunkItems<kThreads, Key> + 1) / 2] = {};
  keys.each([&](int item, uint32_t row, Key key) {
    uint32_t const bucket = carried_bucket(key, join.radix_bits);
    uint32_t const rows = keys.rows - (row - threadIdx.x % 32);  // of the warp
    uint32_t const rank =
        rank_in_bucket(groups, bucket, rows < 32 ? (1U << rows) - 1 : 0xffffffffU);
    ranks[item / 2] |= rank << item % 2 * 16;
  });
  block_sync();
  sum_buckets<kThreads>(groups);
  block_sync();
  uint32_t const head = unit.build_first % kStageAlign;
  keys.each([&](int item, uint32_t i, Key key) {
    uint32_t const rank = ranks[item / 2] >> item % 2 * 16 & 0xffffU;
    uint32_t const at = groups.start_of(carried_bucket(key, join.radix_bits)) + rank;
    groups.keys[at] = key;
    groups.rows[at] = static_cast<uint16_t>(head + i);
  });
  __pipeline_wait_prior(0);
  block_sync();
}

// All lanes of a warp write all matches of one probe row, wherever in its bucket they lie.
template <int kWidth, typename Key>
__device__ __forceinline__ void write_by_scan(const CarriedJoin<Key>& join, CarriedBlock& block,
                                              const CarriedGroups<Key>& groups, Key key,
                                              uint32_t probe, uint32_t build_first) {
  uint32_t const lane = threadIdx.x % 32;
  uint32_t const bucket = carried_bucket(key, join.radix_bits);
  uint32_t const end = groups.start_of(bucket + 1);
  LaneRows<Key, 1> row;
  row.keys[0] = key;
  row.probe[0] = probe;
  row.build_first = build_first;
#pragma unroll 1
  for (uint32_t first = groups.start_of(bucket); first < end; first += 32) {
    uint32_t const at = first + lane;
    bool const matches = at < end && groups.keys[at] == key;
    uint32_t const lanes = __ballot_sync(0xffffffffU, matches);
    row.slots[0] = matches ? __popc(lanes & ((1U << lane) - 1)) : kNoSlot;
    if (matches) row.build[0] = groups.rows[at];
    write_slots<kWidth>(join, block, __popc(lanes), row);
  }
}

}  // namespace gpujoin::kernels
