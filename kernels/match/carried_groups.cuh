// carried_groups.cuh: a chunk of a build partition in shared memory, grouped by bucket
//
// Source   ours; the counting sort is that of a histogram partitioning, within a block
// Differs  from the chains of co_partitions.cuh: rows of a bucket lie side by side, so that the matches of a key that has many can be
//          given to as many lanes
// In       mixed keys of one partition, whose low radix_bits bits are equal
// Out      the range of positions of a bucket, the key and the chunk row of each position
// Needs    kCarriedBuildRows < 2^16
// Moves    |key| a build row
// Shared   one atomic add a build row
#pragma once

#include <cstdint>

#include "kernels/block_sync.cuh"
#include "kernels/match/carried_columns.hpp"
#include "kernels/tuning.hpp"
#include "kernels/warp_sum.cuh"

namespace gpujoin::kernels {

constexpr uint32_t kCarriedBuckets = 1U << kCarriedBucketBits;

template <typename Key>
struct CarriedGroups {
  Key keys[kCarriedBuildRows];
  uint16_t rows[kCarriedBuildRows];
  // Of two buckets in a word: rows while they are counted, then the first position. The end of the last one after them.
  uint32_t starts[kCarriedBuckets / 2 + 1];
  uint32_t warp_sums[kCarriedThreads / 32];

  __device__ uint32_t start_of(uint32_t bucket) const {
    return reinterpret_cast<const uint16_t*>(starts)[bucket];
  }
};

template <typename Key>
__device__ __forceinline__ uint32_t carried_bucket(Key key, int32_t radix_bits) {
  return static_cast<uint32_t>(key >> radix_bits) & (kCarriedBuckets - 1);
}

// Counts become starts: exclusive sums over the buckets, in place. All threads.
template <typename Key>
__device__ __forceinline__ void sum_buckets(CarriedGroups<Key>& groups) {
  constexpr int kWords = kCarriedBuckets / 2 / kCarriedThreads;
  uint32_t const lane = threadIdx.x % 32;
  uint32_t const warp = threadIdx.x / 32;
  uint32_t* const words = groups.starts + threadIdx.x * kWords;
  uint32_t counts[kWords];
  uint32_t own = 0;
#pragma unroll
  for (int i = 0; i < kWords; ++i) {
    counts[i] = words[i];
    own += (counts[i] & 0xffffU) + (counts[i] >> 16);
  }
  uint32_t const sum = warp_inclusive_sum(own);
  if (lane == 31) groups.warp_sums[warp] = sum;
  block_sync();
  uint32_t start = sum - own;
#pragma unroll
  for (uint32_t i = 0; i < kCarriedThreads / 32; ++i) {
    if (i < warp) start += groups.warp_sums[i];
  }
#pragma unroll
  for (int i = 0; i < kWords; ++i) {
    uint32_t const second = start + (counts[i] & 0xffffU);
    words[i] = start | second << 16;
    start = second + (counts[i] >> 16);
  }
  if (threadIdx.x == kCarriedThreads - 1) groups.starts[kCarriedBuckets / 2] = start;
}

// All threads; the groups are there when it returns. Whoever read the groups before must have come to a barrier since.
template <typename Key>
__device__ __forceinline__ void build_groups(const Key* __restrict__ chunk_keys, uint32_t rows,
                                             int32_t radix_bits, CarriedGroups<Key>& groups) {
  constexpr int kItems = (kCarriedBuildRows + kCarriedThreads - 1) / kCarriedThreads;
  constexpr int kAtOnce = 4;
  // Keys are loaded again, from a cache, when their places are known: held meanwhile they would not fit the registers.
  auto const each_row = [&](auto function) {
#pragma unroll
    for (int item = 0; item < kItems; item += kAtOnce) {
      if (item * kCarriedThreads >= rows) break;
      Key keys[kAtOnce];
#pragma unroll
      for (int k = 0; k < kAtOnce; ++k) {
        uint32_t const i = (item + k) * kCarriedThreads + threadIdx.x;
        if (i < rows) keys[k] = chunk_keys[i];
      }
#pragma unroll
      for (int k = 0; k < kAtOnce; ++k) {
        uint32_t const i = (item + k) * kCarriedThreads + threadIdx.x;
        if (i < rows) function(item + k, i, keys[k]);
      }
    }
  };
  for (uint32_t i = threadIdx.x; i < kCarriedBuckets / 2; i += kCarriedThreads) {
    groups.starts[i] = 0;
  }
  block_sync();
  uint16_t ranks[kItems];
  each_row([&](int item, uint32_t, Key key) {
    uint32_t const bucket = carried_bucket(key, radix_bits);
    uint32_t const shift = bucket % 2 * 16;
    ranks[item] =
        static_cast<uint16_t>(atomicAdd(&groups.starts[bucket / 2], 1U << shift) >> shift);
  });
  block_sync();
  sum_buckets(groups);
  block_sync();
  each_row([&](int item, uint32_t i, Key key) {
    uint32_t const at = groups.start_of(carried_bucket(key, radix_bits)) + ranks[item];
    groups.keys[at] = key;
    groups.rows[at] = static_cast<uint16_t>(i);
  });
  block_sync();
}

}  // namespace gpujoin::kernels
