// interpret_pairs.cuh: a condition's program for pairs of rows, a thread a pair
//
// Source   ours
// In       left[pairs], right[pairs]   row numbers, kMissingRow where there is none
//          a program whose columns lie on the device, the same for all threads
// Out      see answer_pairs.cuh
// Needs    state all 0, which it is again afterwards
// Launch   kConditionBlocksPerSm blocks of kStreamThreads for each multiprocessor, or less,
//          dependent
// Moves    8 bytes a pair, + a random sector a pair and column, but of a side whose rows ascend the
//          width of the column. Registers of the program lie in local memory, of which the first
//          cache holds those of small programs
#pragma once

#include <cstdint>

#include "kernels/conditions/answer_pairs.cuh"
#include "kernels/conditions/interpret.hpp"
#include "kernels/dependent_launch.cuh"

namespace gpujoin::kernels {

template <int kValueBytes>
__device__ __forceinline__ void interpret_pairs(const Program& program, const uint32_t* left,
                                                const uint32_t* right, uint64_t pairs,
                                                uint32_t* kept, PairsState* state,
                                                PairsAnswer* answer) {
  unsigned long long count = 0;
  unsigned long long failing = 0;
  uint64_t const stride = uint64_t{gridDim.x} * kStreamThreads;
#pragma unroll 1
  for (uint64_t tile = uint64_t{blockIdx.x} * kStreamThreads; tile < pairs; tile += stride) {
    uint64_t const pair = tile + threadIdx.x;
    Answer found;
    if (pair < pairs) {
      found = interpret<kValueBytes, kMostRegisters>(program, __ldcs(&left[pair]),
                                                     __ldcs(&right[pair]));
    }
    if (found.state >= kNoValue) {
      unsigned long long const here = ~static_cast<unsigned long long>(pair << 16 | found.state);
      failing = failing > here ? failing : here;
    }
    bool const is_true = found.state == kValueState && found.value != 0;
    count += put_answers<1>(kept, pair, pairs, is_true ? 0 : 1);
  }
  answer_counts(count, failing, state, answer);
}

template <int kValueBytes>
__global__ void __launch_bounds__(kStreamThreads)
    interpret_small_kernel(const __grid_constant__ SmallProgram small,
                           const uint32_t* __restrict__ left, const uint32_t* __restrict__ right,
                           uint64_t pairs, uint32_t* __restrict__ kept, PairsState* state,
                           PairsAnswer* answer) {
  await_last_kernel();
  Program program = small.program;
  program.instructions = small.instructions;
  program.columns = small.columns;
  interpret_pairs<kValueBytes>(program, left, right, pairs, kept, state, answer);
}

template <int kValueBytes>
__global__ void __launch_bounds__(kStreamThreads)
    interpret_kernel(Program program, const uint32_t* __restrict__ left,
                     const uint32_t* __restrict__ right, uint64_t pairs,
                     uint32_t* __restrict__ kept, PairsState* state, PairsAnswer* answer) {
  await_last_kernel();
  interpret_pairs<kValueBytes>(program, left, right, pairs, kept, state, answer);
}

}  // namespace gpujoin::kernels
