// count_units.cuh: work units of partitions, counted and summed, for the blocks of the match
//
// Source   ours
// In       offsets of both sides' partitions, aligned to 16 bytes; Count: units of a partition of
//          so many build and probe rows
// Out      ends[partitions], the inclusive sums of the units of each
// Needs    an even number of partitions; ends aligned to 16 bytes
// Launch   one block of kPartitionSumThreads: a launch of many and the two of their scan take as
//          long for 2^15 partitions, and twice as long for 2^12
// Moves    24 bytes a partition (traffic::count_units)
#pragma once

#include <cstdint>
#include <cub/block/block_scan.cuh>

#include "kernels/match/partition_view.hpp"
#include "kernels/tuning.hpp"

namespace gpujoin::kernels {

// Rows of neighbouring partitions from `first` on, a multiple of as many; 0 of those that there are
// not. By vectors: see place_partitions.cuh.
template <int kItems>
__device__ __forceinline__ void rows_of_partitions(const uint32_t* __restrict__ offsets,
                                                   uint32_t first, uint32_t partitions,
                                                   uint32_t (&rows)[kItems]) {
  static_assert(kItems == 8);
  if (first + kItems > partitions) {
#pragma unroll
    for (int i = 0; i < kItems; ++i) {
      rows[i] = first + i < partitions ? offsets[first + i + 1] - offsets[first + i] : 0;
    }
    return;
  }
  auto const* const vectors = reinterpret_cast<const uint4*>(offsets + first);
  uint4 const low = vectors[0];
  uint4 const high = vectors[1];
  uint32_t const bounds[] = {
      low.x, low.y, low.z, low.w, high.x, high.y, high.z, high.w, offsets[first + kItems]};
#pragma unroll
  for (int i = 0; i < kItems; ++i) rows[i] = bounds[i + 1] - bounds[i];
}

// All threads of a block of kPartitionSumThreads; the units of all partitions. ends null: they are
// summed only.
template <typename Count>
__device__ __forceinline__ unsigned long long sum_units(const PartitionView& build,
                                                        const PartitionView& probe,
                                                        uint32_t partitions, const Count& count,
                                                        unsigned long long* ends) {
  constexpr int kItems = kPartitionSumItems;
  using Scan = cub::BlockScan<unsigned long long, kPartitionSumThreads>;
  __shared__ typename Scan::TempStorage storage;
  unsigned long long before = 0;
#pragma unroll 1
  for (uint32_t tile = 0; tile < partitions; tile += kPartitionSumThreads * kItems) {
    uint32_t const first = tile + threadIdx.x * kItems;
    uint32_t build_rows[kItems];
    uint32_t probe_rows[kItems];
    rows_of_partitions(build.offsets, first, partitions, build_rows);
    rows_of_partitions(probe.offsets, first, partitions, probe_rows);
    unsigned long long sums[kItems];
    unsigned long long sum = 0;
#pragma unroll
    for (int i = 0; i < kItems; ++i) {
      if (first + i < partitions) sum += count(first + i, build_rows[i], probe_rows[i]);
      sums[i] = sum;
    }
    unsigned long long start;
    unsigned long long all;
    Scan(storage).ExclusiveSum(sum, start, all);
#pragma unroll
    for (int i = 0; i < kItems; i += 2) {
      if (ends == nullptr || first + i >= partitions) break;
      ulonglong2 const both = {before + start + sums[i], before + start + sums[i + 1]};
      *reinterpret_cast<ulonglong2*>(ends + first + i) = both;
    }
    before += all;
    __syncthreads();  // the scan's storage is used again
  }
  return before;
}

template <typename Count>
__global__ void __launch_bounds__(kPartitionSumThreads)
    count_units_kernel(PartitionView build, PartitionView probe, uint32_t partitions, Count count,
                       unsigned long long* ends) {
  sum_units(build, probe, partitions, count, ends);
}

}  // namespace gpujoin::kernels
