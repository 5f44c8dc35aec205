// order_pairs.cuh: pairs of row numbers as numbers that sort as the pairs do, and back
//
// Source   ours
// In       first, second  [count] row numbers; GPUJOIN_NO_ROW sorts behind all rows of its side
// Out      keys           [count] the first number above the second, in as many bits as both need
//          is_unordered   1 where a pair comes before the one in front of it; else as it was
// Needs    is_unordered 0
// Launch   kStreamTile pairs a block of kStreamThreads
// Moves    16 bytes a pair, each way
#pragma once

#include <cstdint>

#include "kernels/tuning.hpp"

namespace gpujoin::kernels {

// Rows of either side, which is also what a missing row counts as; and the bits of the second.
struct PairOrder {
  uint32_t first_rows;
  uint32_t second_rows;
  int32_t second_bits;

  __device__ __forceinline__ uint64_t key_of(uint32_t first, uint32_t second) const {
    return uint64_t{min(first, first_rows)} << second_bits | min(second, second_rows);
  }
};

__global__ void __launch_bounds__(kStreamThreads)
    compose_pairs_kernel(PairOrder order, const uint32_t* __restrict__ first,
                         const uint32_t* __restrict__ second, uint64_t count,
                         uint64_t* __restrict__ keys, uint32_t* is_unordered) {
  uint64_t const begin = uint64_t{blockIdx.x} * kStreamTile + threadIdx.x;
  bool falls = false;
#pragma unroll
  for (int item = 0; item < kStreamItems; ++item) {
    uint64_t const at = begin + item * kStreamThreads;
    if (at >= count) continue;
    uint64_t const key = order.key_of(first[at], second[at]);
    keys[at] = key;
    if (at != 0) falls |= key < order.key_of(first[at - 1], second[at - 1]);
  }
  if (__syncthreads_or(falls) != 0 && threadIdx.x == 0) *is_unordered = 1;
}

__global__ void __launch_bounds__(kStreamThreads)
    split_pairs_kernel(PairOrder order, const uint64_t* __restrict__ keys, uint64_t count,
                       uint32_t* __restrict__ first, uint32_t* __restrict__ second) {
  uint64_t const begin = uint64_t{blockIdx.x} * kStreamTile + threadIdx.x;
  uint64_t const mask = (uint64_t{1} << order.second_bits) - 1;
#pragma unroll
  for (int item = 0; item < kStreamItems; ++item) {
    uint64_t const at = begin + item * kStreamThreads;
    if (at >= count) continue;
    auto const high = static_cast<uint32_t>(keys[at] >> order.second_bits);
    auto const low = static_cast<uint32_t>(keys[at] & mask);
    // All ones: no row.
    first[at] = high == order.first_rows ? 0xffffffffU : high;
    second[at] = low == order.second_rows ? 0xffffffffU : low;
  }
}

}  // namespace gpujoin::kernels
