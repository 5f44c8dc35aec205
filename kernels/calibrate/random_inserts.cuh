// random_inserts.cuh: rows into a table of 8-byte slots by compare-and-swap: what the cost model
// calls a random insert
//
// Source   ours; as the global table does it, without its keys
// In       slots[mask + 1] uint64, all kEmptySlot
// Out      slots: each of count rows in one, the next free one after where its hash begins; so rows
//          meet as hashed keys do
// Launch   ceil(count / kStreamThreads) blocks of kStreamThreads
// Moves    a sector of 32 bytes read and written back a row, and as much for each slot that was
//          taken
#pragma once

#include <cstdint>

#include "kernels/tuning.hpp"

namespace gpujoin::kernels {

constexpr unsigned long long kEmptySlot = ~0ULL;  // what filling with bytes of 255 leaves

__global__ void __launch_bounds__(kStreamThreads)
    random_inserts_kernel(unsigned long long* __restrict__ slots, uint32_t mask, uint64_t count) {
  uint64_t const row = uint64_t{blockIdx.x} * kStreamThreads + threadIdx.x;
  if (row >= count) return;
  // The finalizer of MurmurHash3, cut to the table: places repeat as they do at random.
  auto slot = static_cast<uint32_t>(row);
  slot = (slot ^ slot >> 16) * 0x85EBCA6BU;
  slot = (slot ^ slot >> 13) * 0xC2B2AE35U;
  slot = (slot ^ slot >> 16) & mask;
  while (atomicCAS(&slots[slot], kEmptySlot, static_cast<unsigned long long>(row)) != kEmptySlot) {
    slot = (slot + 1) & mask;
  }
}

}  // namespace gpujoin::kernels
