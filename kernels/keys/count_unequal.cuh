// count_unequal.cuh: what the threads of a launch found unequal, summed, and told to the host by
// the last block to come
//
// In       a count of each thread
// Out      the answer: their sum
// Needs    state all 0, which it is again afterwards
// Launch   at the end of a kernel, by all threads
// Moves    nothing, where nothing differs
#pragma once

#include <cstdint>

#include "kernels/keys/verify_pairs.hpp"
#include "kernels/last_block.cuh"

namespace gpujoin::kernels {

__device__ __forceinline__ void answer_unequal(uint32_t unequal, UnequalState* state,
                                               UnequalAnswer* answer) {
  // Nearly always no pair of a whole block differs.
  if (__syncthreads_or(unequal != 0) != 0) {
    unsigned long long of_warp = unequal;
    for (int lane = 16; lane > 0; lane /= 2) {
      of_warp += __shfl_xor_sync(0xffffffffU, of_warp, lane);
    }
    if (threadIdx.x % 32 == 0 && of_warp != 0) atomicAdd(&state->pairs, of_warp);
    __syncthreads();
  }
  if (threadIdx.x != 0 || !comes_last(&state->finished)) return;
  answer->content = static_cast<volatile UnequalState*>(state)->pairs;
  *state = {};
  give_answer(answer);
}

}  // namespace gpujoin::kernels
