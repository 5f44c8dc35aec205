// verify_columns.cuh: rows that were joined by an inexact code, whose key columns were written for
// both sides, held against each other
//
// In       columns[].build[rows], columns[].probe[rows]   values of 4 or 8 bytes, without a NULL
// Out      the answer: how many rows differ in a column, a row once for each
// Needs    state all 0, which it is again afterwards
// Launch   kVerifyBlocksPerSm blocks of kStreamThreads for each multiprocessor, or less, dependent
// Moves    |key| of both sides a row, streamed (traffic of the plan's verify_cost)
#pragma once

#include <cstdint>

#include "kernels/dependent_launch.cuh"
#include "kernels/keys/count_unequal.cuh"
#include "kernels/keys/verify_pairs.hpp"
#include "kernels/tuning.hpp"

namespace gpujoin::kernels {

template <typename Value>
__device__ __forceinline__ uint32_t count_different(const VerifiedColumn& column, uint64_t rows) {
  auto const* const build = static_cast<const Value*>(column.build);
  auto const* const probe = static_cast<const Value*>(column.probe);
  uint32_t different = 0;
  uint64_t const stride = uint64_t{gridDim.x} * kStreamTile;
  for (uint64_t tile = uint64_t{blockIdx.x} * kStreamTile; tile < rows; tile += stride) {
#pragma unroll
    for (int item = 0; item < kStreamItems; ++item) {
      uint64_t const row = tile + item * kStreamThreads + threadIdx.x;
      if (row < rows) different += __ldcs(&build[row]) != __ldcs(&probe[row]) ? 1 : 0;
    }
  }
  return different;
}

__global__ void __launch_bounds__(kStreamThreads)
    verify_columns_kernel(const __grid_constant__ VerifiedColumns keys, uint64_t rows,
                          UnequalState* state, UnequalAnswer* answer) {
  await_last_kernel();
  uint32_t unequal = 0;
#pragma unroll 1
  for (int c = 0; c < keys.count; ++c) {
    unequal += keys.columns[c].width == 4 ? count_different<uint32_t>(keys.columns[c], rows)
                                          : count_different<uint64_t>(keys.columns[c], rows);
  }
  answer_unequal(unequal, state, answer);
}

}  // namespace gpujoin::kernels
