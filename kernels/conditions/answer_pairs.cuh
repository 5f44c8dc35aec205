// answer_pairs.cuh: the answers of a thread's pairs, written, counted, and summed for the host
//
// Source   ours
// In       of each item of a thread whether it is not true: false, or NULL; as bits
// Out      kept[pairs / 32]   a bit a pair, of those that are true; words, rounded up
//          the answer: how many these are, and the first pair without a value
// Needs    items kStreamThreads apart, so that a warp's lanes are neighbours; state all 0, which it
//          is again afterwards
// Moves    an eighth of a byte a pair
#pragma once

#include <cstdint>

#include "kernels/conditions/pair_answers.hpp"
#include "kernels/last_block.cuh"

namespace gpujoin::kernels {

// Answers how many items are kept. All lanes of a warp come here.
template <int kItems>
__device__ __forceinline__ uint32_t put_answers(uint32_t* kept, uint64_t first_pair, uint64_t pairs,
                                                uint32_t are_not_true) {
  uint32_t count = 0;
#pragma unroll
  for (int item = 0; item < kItems; ++item) {
    uint64_t const pair = first_pair + item * kStreamThreads;
    bool const is_pair = pair < pairs;
    bool const is_kept = is_pair && (are_not_true >> item & 1) == 0;
    uint32_t const word = __ballot_sync(0xffffffffU, is_kept);
    if (threadIdx.x % 32 == 0 && is_pair) kept[pair / 32] = word;
    count += is_kept ? 1 : 0;
  }
  return count;
}

// By all threads, at the end of a kernel.
__device__ __forceinline__ void answer_counts(unsigned long long kept, unsigned long long failing,
                                              PairsState* state, PairsAnswer* answer) {
  for (int lane = 16; lane > 0; lane /= 2) kept += __shfl_xor_sync(0xffffffffU, kept, lane);
  if (threadIdx.x % 32 == 0 && kept != 0) atomicAdd(&state->kept, kept);
  if (failing != 0) atomicMax(&state->failing, failing);
  __syncthreads();
  if (threadIdx.x != 0 || !comes_last(&state->finished)) return;
  auto const* const found = static_cast<volatile PairsState*>(state);
  answer->content = {found->kept, found->failing};
  *state = {};
  give_answer(answer);
}

}  // namespace gpujoin::kernels
