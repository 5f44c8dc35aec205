// verify_pairs.cuh: pairs that were joined by an inexact code, held against the key columns
//
// In       build[pairs], probe[pairs]   row numbers of each side
//          key columns of both sides, 4 or 8 bytes; no value is NULL in a row that has a pair
// Out      the answer: how many pairs differ
// Needs    state all 0, which it is again afterwards
// Launch   kVerifyBlocksPerSm blocks of kStreamThreads for each multiprocessor, or less, dependent
// Moves    8 bytes a pair, + a random sector a pair, column and side, but of a side whose rows
//          ascend |key| (traffic::row_multiset_count has the same)
#pragma once

#include <cstdint>

#include "kernels/dependent_launch.cuh"
#include "kernels/keys/count_unequal.cuh"
#include "kernels/keys/encoded_keys.cuh"
#include "kernels/keys/verify_pairs.hpp"
#include "kernels/tuning.hpp"

namespace gpujoin::kernels {

// Which of the pairs whose bit is set are equal in all columns, as bits.
template <int kItems>
__device__ __forceinline__ uint32_t equal_pairs(const VerifiedColumns& keys,
                                                const uint32_t (&build)[kItems],
                                                const uint32_t (&probe)[kItems],
                                                uint32_t are_pairs) {
  uint32_t equal = are_pairs;
  auto const compare = [&](const VerifiedColumn& column, auto zero) {
    using Value = decltype(zero);
    Value build_values[kItems] = {};
    Value probe_values[kItems] = {};
    load_rows(column.build, build, are_pairs, build_values);
    load_rows(column.probe, probe, are_pairs, probe_values);
#pragma unroll
    for (int i = 0; i < kItems; ++i) {
      if (build_values[i] != probe_values[i]) equal &= ~(1U << i);
    }
  };
#pragma unroll 1
  for (int c = 0; c < keys.count; ++c) {
    if (keys.columns[c].width == 4) {
      compare(keys.columns[c], uint32_t{});
    } else {
      compare(keys.columns[c], uint64_t{});
    }
  }
  return equal;
}

__global__ void __launch_bounds__(kStreamThreads)
    count_unequal_kernel(const __grid_constant__ VerifiedColumns keys,
                         const uint32_t* __restrict__ build, const uint32_t* __restrict__ probe,
                         uint64_t pairs, UnequalState* state, UnequalAnswer* answer) {
  await_last_kernel();
  uint32_t unequal = 0;  // a thread of 2^32 pairs would be one of 2^15 in a grid
  uint64_t const stride = uint64_t{gridDim.x} * kStreamTile;
  for (uint64_t tile = uint64_t{blockIdx.x} * kStreamTile; tile < pairs; tile += stride) {
    uint32_t build_rows[kStreamItems] = {};
    uint32_t probe_rows[kStreamItems] = {};
    uint32_t are_pairs = 0;
#pragma unroll
    for (int item = 0; item < kStreamItems; ++item) {
      uint64_t const pair = tile + item * kStreamThreads + threadIdx.x;
      if (pair >= pairs) continue;
      are_pairs |= 1U << item;
      build_rows[item] = __ldcs(&build[pair]);
      probe_rows[item] = __ldcs(&probe[pair]);
    }
    unequal += __popc(are_pairs & ~equal_pairs(keys, build_rows, probe_rows, are_pairs));
  }
  answer_unequal(unequal, state, answer);
}

}  // namespace gpujoin::kernels
