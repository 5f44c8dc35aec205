// random_reads.cuh: target[i] = table[rows[i] & mask], 4 bytes each: what the cost model calls a
// random read
//
// Source   ours; the simplest gather, so that its time is the memory's and not a technique's
// In       table[mask + 1] and rows[count] uint32, rows in an order without pattern
// Out      target[count]
// Launch   ceil(count / kStreamTile) blocks of kStreamThreads
// Moves    8 a read in runs + a sector of 32 bytes of the table, from DRAM or from L2 as the table
//          is large or small
#pragma once

#include <cstdint>

#include "kernels/tuning.hpp"

namespace gpujoin::kernels {

__global__ void __launch_bounds__(kStreamThreads)
    random_reads_kernel(const uint32_t* __restrict__ table, uint32_t mask,
                        const uint32_t* __restrict__ rows, uint64_t count,
                        uint32_t* __restrict__ target) {
  uint64_t const tile = uint64_t{blockIdx.x} * kStreamTile;
  uint32_t values[kStreamItems];
#pragma unroll
  for (int item = 0; item < kStreamItems; ++item) {
    uint64_t const i = tile + item * kStreamThreads + threadIdx.x;
    if (i < count) values[item] = table[rows[i] & mask];
  }
#pragma unroll
  for (int item = 0; item < kStreamItems; ++item) {
    uint64_t const i = tile + item * kStreamThreads + threadIdx.x;
    if (i < count) target[i] = values[item];
  }
}

}  // namespace gpujoin::kernels
