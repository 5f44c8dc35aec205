// last_block.cuh: the block that comes last finishes what all blocks of a launch did
#pragma once

#include <cstdint>

namespace gpujoin::kernels {

// One thread a block, after what its block wrote; `finished` 0 at first. The block that has the
// answer true sees what the others wrote.
__device__ __forceinline__ bool comes_last(uint32_t* finished) {
  __threadfence();
  if (atomicAdd(finished, 1U) + 1 != gridDim.x) return false;
  __threadfence();
  return true;
}

}  // namespace gpujoin::kernels
