// warp_sum.cuh: sums over the lanes of a warp
#pragma once

#include <cstdint>

namespace gpujoin::kernels {

// Of the lanes up to this one. All lanes of a warp.
__device__ __forceinline__ uint32_t warp_inclusive_sum(uint32_t number) {
  uint32_t const lane = threadIdx.x % 32;
#pragma unroll
  for (int step = 1; step < 32; step *= 2) {
    uint32_t const before = __shfl_up_sync(0xffffffffU, number, step);
    if (lane >= static_cast<uint32_t>(step)) number += before;
  }
  return number;
}

}  // namespace gpujoin::kernels
