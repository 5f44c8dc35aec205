// block_sync.cuh: a barrier of the block after loops that the lanes of a warp leave apart
//
// Source   ours; decision 11
#pragma once

#include <cooperative_groups.h>

namespace gpujoin::kernels {

// Lanes of a warp come here one by one from what they did last, and __syncthreads() would count the
// warp as soon as the first of them is there.
__device__ __forceinline__ void block_sync() { cooperative_groups::this_thread_block().sync(); }

}  // namespace gpujoin::kernels
