// partition_sums.cuh: exclusive sums of as many numbers as there are partitions, by one block
//
// In       load(i)                          the i-th number, 64 bits; two of 32 bits each may be
//          packed in it
// Out      store(i, sum)                    the sum of the numbers before it; the function returns
//          the sum of all
// Needs    every thread of a block of kPartitionSumThreads
// Moves    what load and store move: there are 2^16 numbers at most, 8192 at a time
#pragma once

#include <cub/block/block_scan.cuh>

#include <cstdint>

#include "kernels/tuning.hpp"

namespace gpujoin::kernels {

template <typename Load, typename Store>
__device__ unsigned long long partition_sums(uint32_t numbers, Load load, Store store) {
  using Sum = unsigned long long;
  using Scan = cub::BlockScan<Sum, kPartitionSumThreads>;
  __shared__ typename Scan::TempStorage storage;
  Sum before = 0;
  for (uint32_t tile = 0; tile < numbers; tile += kPartitionSumThreads * kPartitionSumItems) {
    uint32_t const first = tile + threadIdx.x * kPartitionSumItems;
    Sum sums[kPartitionSumItems];
#pragma unroll
    for (int item = 0; item < kPartitionSumItems; ++item) {
      sums[item] = first + item < numbers ? load(first + item) : 0;
    }
    Sum all;
    Scan(storage).ExclusiveSum(sums, sums, all);
#pragma unroll
    for (int item = 0; item < kPartitionSumItems; ++item) {
      if (first + item < numbers) store(first + item, before + sums[item]);
    }
    before += all;
    __syncthreads();  // the scan's storage is used again
  }
  return before;
}

// Which of `numbers` holds the element with `element` elements before it: before[] are their
// exclusive sums, and one that is empty is followed by one with the same sum, so it is the last
// with no more. low: it is none before that.
template <typename Sum>
__device__ __forceinline__ uint32_t holder_of(const Sum* __restrict__ before, uint32_t low,
                                              uint32_t numbers, Sum element) {
  uint32_t high = numbers;
  while (high - low > 1) {
    uint32_t const middle = low + (high - low) / 2;
    if (before[middle] <= element) {
      low = middle;
    } else {
      high = middle;
    }
  }
  return low;
}

}  // namespace gpujoin::kernels
