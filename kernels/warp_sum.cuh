// warp_sum.cuh: sums over the lanes of a warp, and over the threads of a block
#pragma once

#include <cstdint>

#include "kernels/block_sync.cuh"

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

// Of the threads before this one. All threads of the block; warp_sums: 32 words of shared memory
// that nobody reads meanwhile.
template <int kThreads>
__device__ __forceinline__ uint32_t block_exclusive_sum(uint32_t number, uint32_t* warp_sums) {
  uint32_t const warp = threadIdx.x / 32;
  uint32_t const sum = warp_inclusive_sum(number);
  if (threadIdx.x % 32 == 31) warp_sums[warp] = sum;
  block_sync();
  // Each lane looks at one warp: a look at each of them would take a thread longer than all else.
  static_assert(kThreads <= 1024);
  uint32_t const lane = threadIdx.x % 32;
  uint32_t const of_warps = __reduce_add_sync(0xffffffffU, lane < warp ? warp_sums[lane] : 0);
  return of_warps + sum - number;
}

// Adds what the block's threads have to a counter: one address takes 0.6e9 atomics a second. All
// threads of the block.
template <int kThreads>
__device__ __forceinline__ void add_of_block(uint32_t number, unsigned long long* counter) {
  __shared__ uint32_t warp_sums[kThreads / 32];
  uint32_t const of_warp = __reduce_add_sync(0xffffffffU, number);
  if (threadIdx.x % 32 == 0) warp_sums[threadIdx.x / 32] = of_warp;
  block_sync();
  if (threadIdx.x == 0) {
    uint64_t sum = 0;
    for (uint32_t const each : warp_sums) sum += each;
    if (sum != 0) atomicAdd(counter, static_cast<unsigned long long>(sum));
  }
  block_sync();  // they are written again
}

}  // namespace gpujoin::kernels
