// ready_flag.cuh: what a block of one kernel has written, told to a kernel that runs beside it
//
// Source   ours
// In       a word of device memory, 0; what a block wrote before it tells
// Out      the same for whoever waited
// Needs    the kernel that tells is on the device when the one that waits comes: launched dependent
//          it comes when all blocks of that one have let it start. Where kernels follow each other
//          the flag is there when it asks
#pragma once

#include <cstdint>

#include "kernels/block_sync.cuh"

namespace gpujoin::kernels {

// All threads of one block, after what they wrote.
__device__ __forceinline__ void tell_ready(uint32_t* flag) {
  block_sync();
  if (threadIdx.x != 0) return;
  __threadfence();
  *static_cast<volatile uint32_t*>(flag) = 1;
}

// One thread; others see what was told after a barrier with it.
__device__ __forceinline__ void await_ready(const uint32_t* flag) {
  while (*static_cast<const volatile uint32_t*>(flag) == 0) {
  }
  __threadfence();
}

}  // namespace gpujoin::kernels
