// compare_pairs.cuh: conjunctions of a few comparisons of numbers as they lie, for pairs of rows,
// without an interpreter
//
// Source   ours
// In       left[pairs], right[pairs]   row numbers, kMissingRow where there is none
//          columns of 4 and 8 bytes
// Out      see answer_pairs.cuh
// Needs    state all 0, which it is again afterwards
// Launch   kConditionBlocksPerSm blocks of kStreamThreads for each multiprocessor, or less,
//          dependent
// Moves    8 bytes a pair, + a random sector a pair and column, but of a side whose rows ascend the
//          width of the column
#pragma once

#include <cstdint>

#include "kernels/conditions/answer_pairs.cuh"
#include "kernels/conditions/compare_items.cuh"
#include "kernels/dependent_launch.cuh"

namespace gpujoin::kernels {

// Values of as many pairs are asked for before the first is used.
constexpr int kComparedItems = 8;
constexpr int kComparedTile = kComparedItems * kStreamThreads;

__global__ void __launch_bounds__(kStreamThreads)
    compare_pairs_kernel(const __grid_constant__ PairComparisons comparisons,
                         const uint32_t* __restrict__ left, const uint32_t* __restrict__ right,
                         uint64_t pairs, uint32_t* __restrict__ kept, PairsState* state,
                         PairsAnswer* answer) {
  await_last_kernel();
  unsigned long long count = 0;
  uint64_t const stride = uint64_t{gridDim.x} * kComparedTile;
  for (uint64_t tile = uint64_t{blockIdx.x} * kComparedTile; tile < pairs; tile += stride) {
    uint32_t left_rows[kComparedItems];
    uint32_t right_rows[kComparedItems];
#pragma unroll
    for (int item = 0; item < kComparedItems; ++item) {
      uint64_t const pair = tile + item * kStreamThreads + threadIdx.x;
      left_rows[item] = pair < pairs ? __ldcs(&left[pair]) : kMissingRow;
      right_rows[item] = pair < pairs ? __ldcs(&right[pair]) : kMissingRow;
    }
    uint32_t const are_not_true = not_true_of(comparisons, left_rows, right_rows);
    count += put_answers<kComparedItems>(kept, tile + threadIdx.x, pairs, are_not_true);
  }
  answer_counts(count, 0, state, answer);
}

}  // namespace gpujoin::kernels
