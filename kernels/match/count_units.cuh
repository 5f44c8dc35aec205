// count_units.cuh: how many work units each partition has, by any schedule that cuts partitions
//
// Paper    Paul et al. 2020, section IV.B.1: the histogram, or the bucket headers, is analysed before the match
// In       offsets of both sides' partitions; Count: units of a partition of so many build and probe rows
// Out      units[]                       of each partition, to be summed
// Launch   ceil(partitions / kStreamThreads) blocks of kStreamThreads
// Moves    16 bytes a partition
#pragma once

#include <cstdint>

#include "kernels/match/partition_rows.cuh"
#include "kernels/tuning.hpp"

namespace gpujoin::kernels {

template <typename Count>
__global__ void __launch_bounds__(kStreamThreads)
    count_units_kernel(PartitionView build, PartitionView probe, uint32_t partitions, Count count,
                       unsigned long long* __restrict__ units) {
  uint32_t const partition = blockIdx.x * kStreamThreads + threadIdx.x;
  if (partition >= partitions) return;
  units[partition] =
      count(partition, rows_of_partition(build, partition), rows_of_partition(probe, partition));
}

}  // namespace gpujoin::kernels
