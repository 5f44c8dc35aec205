// group_slots.cuh: a slot for each key of a chunk of build rows, and sums of slots
//
// Source   ours; the rank of a bit as in match_by_rank.cuh, buckets as in carried_groups.cuh
// In       mixed keys of one partition, whose low radix_bits bits are equal
// Out      the slot of a key, below the chunk's number of rows; rows of a key have the same
// Needs    RankedSlots: 32 - radix_bits <= kCarriedRankBits; all threads of the block
// Moves    |key| a build row
// Shared   an atomic a build row; of a sum one for each value, and another where it carries
#pragma once

#include <cstdint>

#include "kernels/block_sync.cuh"
#include "kernels/match/carried_groups.cuh"
#include "kernels/match/carried_units.cuh"
#include "kernels/match/match_by_rank.cuh"

namespace gpujoin::kernels {

constexpr int kGroupJoinThreads = 512;

// The chunk's keys that a thread has: each kGroupJoinThreads-th, which it keeps where it can.
constexpr int kGroupJoinBuildItems =
    (kCarriedBuildRows + kGroupJoinThreads - 1) / kGroupJoinThreads;

// Slots of a chunk's keys by the rank of a bit.
struct RankedSlots {
  using Key = uint32_t;
  using Keys = HeldKeys<kGroupJoinThreads, kGroupJoinBuildItems, Key>;
  CarriedRanks ranks;

  // All threads.
  __device__ void build(const CarriedJoin<Key>& join, const CarriedUnit&, const Keys& keys) {
    auto* const vectors = reinterpret_cast<uint4*>(ranks.bits);
    for (uint32_t i = threadIdx.x; i < kCarriedRankWords / 4; i += kGroupJoinThreads) {
      vectors[i] = {0, 0, 0, 0};
    }
    block_sync();
    keys.each([&](int, uint32_t, Key key) {
      uint32_t const rest = key >> join.radix_bits;
      atomicOr(&ranks.bits[rest / 32], 1U << rest % 32);
    });
    block_sync();
    sum_bits<kGroupJoinThreads>(ranks);
    block_sync();
  }
  __device__ __forceinline__ bool find(const CarriedJoin<Key>& join, Key key,
                                       uint32_t* slot) const {
    return ranks.find(key >> join.radix_bits, slot);
  }
  // Of a slot's row, whose key the thread still has.
  __device__ __forceinline__ Key key_of(uint32_t, Key held) const { return held; }
};

// By the first place among the chunk's rows that has the key.
template <typename KeyType>
struct GroupedSlots {
  using Key = KeyType;
  using Keys = LoadedKeys<kGroupJoinThreads, Key>;
  CarriedGroups<Key> groups;

  // All threads.
  __device__ void build(const CarriedJoin<Key>& join, const CarriedUnit& chunk, const Keys&) {
    build_groups<kGroupJoinThreads>(join, chunk, groups);
  }
  __device__ __forceinline__ bool find(const CarriedJoin<Key>& join, Key key,
                                       uint32_t* slot) const {
    uint32_t const bucket = carried_bucket(key, join.radix_bits);
    uint32_t const end = groups.start_of(bucket + 1);
#pragma unroll 1
    for (uint32_t at = groups.start_of(bucket); at < end; ++at) {
      if (groups.keys[at] != key) continue;
      *slot = at;
      return true;
    }
    return false;
  }
  __device__ __forceinline__ Key key_of(uint32_t slot, Key) const { return groups.keys[slot]; }
};

// Slots of a block, with one more for each lane, where rows without a match are added up: lanes
// that all add need not wait for each other.
constexpr uint32_t kGroupSlots = kCarriedBuildRows + 32;

// Sums of slots behind their counts, two words of 4 bytes each: shared memory adds 4 bytes at once.
struct SlotSums {
  uint32_t* low;
  uint32_t* high;

  __device__ SlotSums(uint32_t* counts, int32_t number)
      : low(counts + (2 * number + 1) * kGroupSlots), high(low + kGroupSlots) {}
  // Of kItems values at a time, so that what was there is on its way together.
  template <int kItems>
  __device__ __forceinline__ void add(const uint32_t (&slots)[kItems],
                                      const int64_t (&values)[kItems]) const {
    uint32_t before[kItems];
#pragma unroll
    for (int item = 0; item < kItems; ++item) {
      before[item] = atomicAdd(&low[slots[item]], static_cast<uint32_t>(values[item]));
    }
#pragma unroll
    for (int item = 0; item < kItems; ++item) {
      uint32_t const sum = before[item] + static_cast<uint32_t>(values[item]);
      uint32_t const carry = sum < before[item] ? 1 : 0;
      uint32_t const high_part = static_cast<uint32_t>(values[item] >> 32) + carry;
      if (high_part != 0) atomicAdd(&high[slots[item]], high_part);
    }
  }
  __device__ __forceinline__ int64_t at(uint32_t slot) const {
    return static_cast<int64_t>(uint64_t{high[slot]} << 32 | low[slot]);
  }
};

}  // namespace gpujoin::kernels
