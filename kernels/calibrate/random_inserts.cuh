// random_inserts.cuh: distinct keys into a table of 8-byte slots by compare-and-swap: what the cost model calls a random insert
//
// Source   ours; as the global table does it, without its duplicates
// In       slots[mask + 1] uint64, all kEmptySlot; first[count] uint32, the slots to begin at, in an order without pattern
// Out      slots: each of count rows in one, the next free one after where it began
// Launch   ceil(count / kStreamThreads) blocks of kStreamThreads
// Moves    4 a row in runs + a sector of 32 bytes read and written back
#pragma once

#include <cstdint>

#include "kernels/tuning.hpp"

namespace gpujoin::kernels {

constexpr unsigned long long kEmptySlot = ~0ULL;  // what filling with bytes of 255 leaves

__global__ void __launch_bounds__(kStreamThreads)
    random_inserts_kernel(unsigned long long* __restrict__ slots, uint32_t mask,
                          const uint32_t* __restrict__ first, uint64_t count) {
  uint64_t const i = uint64_t{blockIdx.x} * kStreamThreads + threadIdx.x;
  if (i >= count) return;
  uint32_t slot = first[i] & mask;
  while (atomicCAS(&slots[slot], kEmptySlot, static_cast<unsigned long long>(i)) != kEmptySlot) {
    slot = (slot + 1) & mask;
  }
}

}  // namespace gpujoin::kernels
