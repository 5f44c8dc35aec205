// sample_order.cuh: how many upper bits of their keys tell rows apart, as a sample has it
//
// Source   ours
// In       keys[rows]  uint64, rows >= kOrderSample
// Out      pairs[p]    neighbours of the sorted sample that differ within bits [begin, end), and of
//                      those first in the p-th 8 from the top
// Launch   one block of kOrderSampleThreads
// Moves    a sector for each of kOrderSample rows, one of each part of the rows
#pragma once

#include <cstdint>
#include <cub/block/block_radix_sort.cuh>

#include "kernels/tuning.hpp"

namespace gpujoin::kernels {

constexpr int kOrderDigits = 8;  // of 8 bits each

struct SampledOrder {
  uint32_t pairs[kOrderDigits];
};

// A number that rows' own periods know nothing of (the finalizer of MurmurHash3).
__device__ inline uint32_t scattered(uint32_t value) {
  value = (value ^ value >> 16) * 0x85ebca6bU;
  value = (value ^ value >> 13) * 0xc2b2ae35U;
  return value ^ value >> 16;
}

__global__ void __launch_bounds__(kOrderSampleThreads)
    sample_order_kernel(const uint64_t* __restrict__ keys, uint32_t rows, int32_t begin,
                        int32_t end, SampledOrder* found) {
  using Sort = cub::BlockRadixSort<uint64_t, kOrderSampleThreads, kOrderSampleItems>;
  __shared__ union {
    typename Sort::TempStorage sort;
    uint64_t sorted[kOrderSample];
  } shared;
  __shared__ SampledOrder counted;
  if (threadIdx.x < kOrderDigits) counted.pairs[threadIdx.x] = 0;
  uint32_t const part = rows / kOrderSample;
  uint64_t drawn[kOrderSampleItems];
#pragma unroll
  for (int item = 0; item < kOrderSampleItems; ++item) {
    uint32_t const number = item * kOrderSampleThreads + threadIdx.x;
    // Its bits at the top, the others left out.
    uint64_t const key = keys[number * part + scattered(number) % part];
    drawn[item] = key << (64 - end) >> (64 - end + begin) << (64 - end + begin);
  }
  Sort(shared.sort).Sort(drawn, 64 - end + begin, 64);
  __syncthreads();
#pragma unroll
  for (int item = 0; item < kOrderSampleItems; ++item) {
    shared.sorted[threadIdx.x * kOrderSampleItems + item] = drawn[item];
  }
  __syncthreads();
#pragma unroll
  for (int item = 0; item < kOrderSampleItems; ++item) {
    uint32_t const number = item * kOrderSampleThreads + threadIdx.x;
    if (number == 0) continue;
    uint64_t const differing = shared.sorted[number] ^ shared.sorted[number - 1];
    if (differing != 0) {
      atomicAdd(&counted.pairs[__clzll(static_cast<long long>(differing)) / 8], 1U);
    }
  }
  __syncthreads();
  if (threadIdx.x < kOrderDigits) found->pairs[threadIdx.x] = counted.pairs[threadIdx.x];
}

}  // namespace gpujoin::kernels
