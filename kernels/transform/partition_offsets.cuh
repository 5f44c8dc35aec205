// partition_offsets.cuh: where each partition begins in keys that are ordered by their low bits
//
// Paper    Wu, Koutsoukos, Alonso 2024, section 4.3. Differs: boundaries by binary search instead
//          of a second histogram pass, which would read all keys again
// In       keys[rows]                       Key, ascending by digit = key & (partitions - 1)
// Out      offsets[partitions + 1]          first position of each partition; the last is rows
// Launch   ceil((partitions + 1) / kStreamThreads) blocks of kStreamThreads
// Moves    log2(rows) sectors a partition
#pragma once

#include <cstdint>

#include "kernels/tuning.hpp"

namespace gpujoin::kernels {

template <typename Key>
__global__ void __launch_bounds__(kStreamThreads)
    partition_offsets_kernel(const Key* __restrict__ keys, uint32_t rows, uint32_t partitions,
                             uint32_t* __restrict__ offsets) {
  uint32_t const partition = blockIdx.x * kStreamThreads + threadIdx.x;
  if (partition > partitions) return;
  uint32_t low = 0;
  uint32_t high = partition == partitions ? 0 : rows;
  if (partition == partitions) low = rows, high = rows;
  while (low < high) {
    uint32_t const middle = low + (high - low) / 2;
    if (static_cast<uint32_t>(keys[middle] & (partitions - 1)) < partition) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  offsets[partition] = low;
}

}  // namespace gpujoin::kernels
