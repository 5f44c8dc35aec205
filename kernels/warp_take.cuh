// warp_take.cuh: the next number of a counter, for a warp
#pragma once

#include <cstdint>

namespace gpujoin::kernels {

// All lanes of a warp have what the counter was; one of them counts one further.
template <typename Number>
__device__ __forceinline__ Number warp_take(Number* counter) {
  Number number = 0;
  if (threadIdx.x % 32 == 0) number = atomicAdd(counter, Number{1});
  return __shfl_sync(0xffffffffU, number, 0);
}

}  // namespace gpujoin::kernels
