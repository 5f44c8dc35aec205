// ordered_groups.cuh: groups of which the rows of a key lie side by side
//
// Source   ours
// In       a unit's groups (carried_groups.cuh)
// Out      the same, rows of a key side by side also where keys share a bucket
// Needs    all threads of the block
// Moves    nothing beside shared memory
// Shared   a bit a bucket; of each bucket with several keys two reads and two writes a row
#pragma once

#include <cstdint>

#include "kernels/block_sync.cuh"
#include "kernels/match/carried_groups.cuh"
#include "kernels/warp_sum.cuh"

namespace gpujoin::kernels {

// Keys of a bucket with more rows than a warp has lanes that are brought side by side one after the
// other. Keys are mixed, so a bucket has a few at most, unless somebody made them for it.
constexpr uint32_t kOrderedKeys = 16;

// All lanes of a warp: brings the rows of the first row's key to the front of those from `first` to
// `end`; where the others begin.
template <typename Key>
__device__ __forceinline__ uint32_t bring_to_front(CarriedGroups<Key>& groups, uint32_t first,
                                                   uint32_t end) {
  constexpr uint32_t kAll = 0xffffffffU;
  uint32_t const lane = threadIdx.x % 32;
  uint32_t const below = (1U << lane) - 1;
  Key const key = groups.keys[first];
  uint32_t front = first;  // before it rows of the key, from it to `chunk` others
#pragma unroll 1
  for (uint32_t chunk = first; chunk < end; chunk += 32) {
    uint32_t const at = chunk + lane;
    Key own = 0;
    uint16_t row = 0;
    if (at < end) {
      own = groups.keys[at];
      row = groups.rows[at];
    }
    bool const is_of_key = at < end && own == key;
    uint32_t const lanes = __ballot_sync(kAll, is_of_key);
    uint32_t const count = __popc(lanes);
    uint32_t const others = chunk - front;
    uint32_t const to = front + __popc(lanes & below);
    if (others >= count) {
      // Each changes places with another key's row before the chunk.
      Key const other = is_of_key ? groups.keys[to] : 0;
      uint16_t const other_row = is_of_key ? groups.rows[to] : 0;
      __syncwarp();  // all have read what is written now
      if (is_of_key) {
        groups.keys[at] = other;
        groups.rows[at] = other_row;
        groups.keys[to] = own;
        groups.rows[to] = row;
      }
    } else {
      // There are fewer than 32: they, and what the chunk has of other keys, come behind.
      Key const other = lane < others ? groups.keys[front + lane] : 0;
      uint16_t const other_row = lane < others ? groups.rows[front + lane] : 0;
      __syncwarp();
      uint32_t const behind = front + count;
      if (lane < others) {
        groups.keys[behind + lane] = other;
        groups.rows[behind + lane] = other_row;
      }
      if (at < end) {
        uint32_t const place = is_of_key ? to : behind + others + __popc(~lanes & below);
        groups.keys[place] = own;
        groups.rows[place] = row;
      }
    }
    __syncwarp();  // the next chunk's lanes read what these wrote
    front += count;
  }
  return front;
}

// All lanes of a warp, of a bucket with several keys: rows of a key come side by side, but for what
// is left of a bucket behind kOrderedKeys keys, if it is more than 32 rows. False: the bucket has
// more than 32 rows and more than kOrderedKeys keys. That is so whichever rows lie first, which
// blocks do not agree about.
template <typename Key>
__device__ __forceinline__ bool order_bucket(CarriedGroups<Key>& groups, uint32_t bucket) {
  constexpr uint32_t kAll = 0xffffffffU;
  uint32_t const lane = threadIdx.x % 32;
  uint32_t const first = groups.start_of(bucket);
  uint32_t const end = groups.start_of(bucket + 1);
  uint32_t start = first;
  uint32_t keys = 0;
#pragma unroll 1
  for (; keys < kOrderedKeys && end - start > 32; ++keys) {
    start = bring_to_front(groups, start, end);
  }
  uint32_t const rows = end - start;
  if (rows > 32) return false;
  Key key = 0;
  uint16_t row = 0;
  if (lane < rows) {
    key = groups.keys[start + lane];
    row = groups.rows[start + lane];
  }
  // Lanes beyond the rows have a mask of their own.
  uint32_t const valid = __ballot_sync(kAll, lane < rows);
  uint32_t const same = __match_any_sync(kAll, key) & (lane < rows ? valid : ~valid);
  int const leader = __ffs(static_cast<int>(same)) - 1;
  bool const leads = static_cast<int>(lane) == leader;
  uint32_t const before = warp_inclusive_sum(leads ? __popc(same) : 0);
  uint32_t const at =
      __shfl_sync(kAll, before, leader) - __popc(same) + __popc(same & ((1U << lane) - 1));
  __syncwarp();  // all have read what is written now
  if (lane < rows) {
    groups.keys[start + at] = key;
    groups.rows[start + at] = row;
  }
  keys += __popc(__ballot_sync(kAll, leads && lane < rows));
  return end - first <= 32 || keys <= kOrderedKeys;
}

struct MixedBuckets {
  uint32_t bits[kCarriedBuckets / 32];  // of those with several keys
};

// All threads; the groups of so many rows are there, and are in order when it returns. False: of a
// bucket that the thread's warp looked at order_bucket() says so.
template <int kThreads, typename Key>
__device__ __forceinline__ bool order_groups(CarriedGroups<Key>& groups, uint32_t rows,
                                             int32_t radix_bits, MixedBuckets& mixed) {
  for (uint32_t i = threadIdx.x; i < kCarriedBuckets / 32; i += kThreads) mixed.bits[i] = 0;
  block_sync();
  for (uint32_t at = threadIdx.x; at < rows; at += kThreads) {
    Key const key = groups.keys[at];
    uint32_t const bucket = carried_bucket(key, radix_bits);
    if (groups.keys[groups.start_of(bucket)] != key) {
      atomicOr(&mixed.bits[bucket / 32], 1U << bucket % 32);
    }
  }
  block_sync();
  bool are_ordered = true;
  for (uint32_t word = threadIdx.x / 32; word < kCarriedBuckets / 32; word += kThreads / 32) {
    for (uint32_t bits = mixed.bits[word]; bits != 0; bits &= bits - 1) {
      are_ordered &= order_bucket(groups, 32 * word + __ffs(static_cast<int>(bits)) - 1);
    }
  }
  block_sync();
  return are_ordered;
}

}  // namespace gpujoin::kernels
