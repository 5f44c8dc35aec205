// count_units.cuh: work units of partitions, counted and summed, for the blocks of the match
//
// Source   ours
// In       offsets of both sides' partitions; Count: units of a partition of so many build and
//          probe rows
// Out      ends[partitions], the inclusive sums of the units of each
// Launch   a block of kPartitionSumThreads for kPartitionSumTile partitions
// Moves    24 bytes a partition (traffic::count_units); each block counts the partitions before its
//          own once more, from L2. One block by itself took 33 us for 2^15 partitions on an H200
#pragma once

#include <cstdint>
#include <cub/block/block_reduce.cuh>
#include <cub/block/block_scan.cuh>

#include "kernels/match/partition_rows.cuh"
#include "kernels/match/partition_view.hpp"
#include "kernels/tuning.hpp"

namespace gpujoin::kernels {

// All threads of a block of kPartitionSumThreads; the units of partitions from `first` to `end`.
template <typename Count>
__device__ __forceinline__ unsigned long long units_between(const PartitionView& build,
                                                            const PartitionView& probe,
                                                            uint32_t first, uint32_t end,
                                                            const Count& count) {
  using Reduce = cub::BlockReduce<unsigned long long, kPartitionSumThreads>;
  __shared__ typename Reduce::TempStorage storage;
  __shared__ unsigned long long all;
  unsigned long long own = 0;
#pragma unroll 8
  for (uint32_t i = first + threadIdx.x; i < end; i += kPartitionSumThreads) {
    own += count(i, rows_of_partition(build, i), rows_of_partition(probe, i));
  }
  unsigned long long const sum = Reduce(storage).Sum(own);
  if (threadIdx.x == 0) all = sum;
  __syncthreads();
  return all;
}

// The block's own partitions.
template <typename Count>
__device__ __forceinline__ void sum_units(const PartitionView& build, const PartitionView& probe,
                                          uint32_t partitions, const Count& count,
                                          unsigned long long* ends) {
  constexpr int kItems = kPartitionSumTile / kPartitionSumThreads;
  using Scan = cub::BlockScan<unsigned long long, kPartitionSumThreads>;
  __shared__ typename Scan::TempStorage storage;
  uint32_t const tile = blockIdx.x * kPartitionSumTile;
  uint32_t const first = tile + threadIdx.x * kItems;
  unsigned long long sums[kItems];
#pragma unroll
  for (int i = 0; i < kItems; ++i) {
    uint32_t const partition = first + i;
    sums[i] = partition < partitions ? count(partition, rows_of_partition(build, partition),
                                             rows_of_partition(probe, partition))
                                     : 0;
  }
  unsigned long long const before = units_between(build, probe, 0, tile, count);
  Scan(storage).InclusiveSum(sums, sums);
#pragma unroll
  for (int i = 0; i < kItems; ++i) {
    if (first + i < partitions) ends[first + i] = before + sums[i];
  }
}

template <typename Count>
__global__ void __launch_bounds__(kPartitionSumThreads)
    count_units_kernel(PartitionView build, PartitionView probe, uint32_t partitions, Count count,
                       unsigned long long* ends) {
  sum_units(build, probe, partitions, count, ends);
}

}  // namespace gpujoin::kernels
