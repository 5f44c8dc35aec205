// load_column.cuh: a run of a column on its way to shared memory
//
// Source   ours
// In       values [0, count) of a column
// Out      the same in shared memory, once the caller has waited for the pipeline and come to a
//          barrier
// Needs    a stage aligned to 16 bytes; all threads of the block
// Moves    the width of a value a row
#pragma once

#include <cuda_pipeline_primitives.h>

#include <cstdint>

#include "kernels/value_type.cuh"

namespace gpujoin::kernels {

// Queues the copy of values [0, count) of a column to shared memory, kVectors vectors a thread at
// most; values of 1 and 2 bytes are there at once.
template <int kThreads, int kVectors, typename Value>
__device__ __forceinline__ void load_column(Value* stage, const Value* __restrict__ in,
                                            uint32_t count) {
  constexpr uint32_t kPerVector = 16 / sizeof(Value);
  uint32_t done = 0;
  if (reinterpret_cast<uintptr_t>(in) % 16 == 0) {
    uint32_t const vectors = count / kPerVector;
#pragma unroll
    for (int v = 0; v < kVectors; ++v) {
      uint32_t const i = v * kThreads + threadIdx.x;
      if (i < vectors) {
        __pipeline_memcpy_async(reinterpret_cast<uint4*>(stage) + i,
                                reinterpret_cast<const uint4*>(in) + i, 16);
      }
    }
    done = vectors * kPerVector;
  }
#pragma unroll 1
  for (uint32_t i = done + threadIdx.x; i < count; i += kThreads) {
    if constexpr (sizeof(Value) < 4) {
      stage[i] = in[i];
    } else if constexpr (sizeof(Value) == 16) {
      __pipeline_memcpy_async(&stage[i].low, &in[i].low, 8);
      __pipeline_memcpy_async(&stage[i].high, &in[i].high, 8);
    } else {
      __pipeline_memcpy_async(&stage[i], &in[i], sizeof(Value));
    }
  }
}

}  // namespace gpujoin::kernels
