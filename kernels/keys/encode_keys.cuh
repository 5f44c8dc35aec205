// encode_keys.cuh: one code of 4 or 8 bytes a row, from its key columns
//
// In       columns, and the rows that take part; see encoded_keys.cuh
// Out      codes[rows], mixed when a radix partition follows that does not mix; a flag where a
//          value lay outside of its field
// Launch   ceil(rows / (kStreamThreads * kEncodeItems)) blocks of kStreamThreads, dependent
// Moves    rows * (|key| + |code|), + 4 for row numbers
#pragma once

#include <cstdint>

#include "kernels/dependent_launch.cuh"
#include "kernels/keys/encoded_keys.cuh"
#include "kernels/transform/mix_key.cuh"
#include "kernels/tuning.hpp"

namespace gpujoin::kernels {

template <bool kHashed>
constexpr uint32_t kEncodeTile = kStreamThreads* kEncodeItems<kHashed>;

template <typename Code, bool kHashed>
__global__ void __launch_bounds__(kStreamThreads)
    encode_keys_kernel(const __grid_constant__ EncodedColumns from, uint32_t rows, bool mixed,
                       Code* __restrict__ codes) {
  constexpr int kItems = kEncodeItems<kHashed>;
  await_last_kernel();
  uint64_t const first = uint64_t{blockIdx.x} * kEncodeTile<kHashed> + threadIdx.x;
  uint32_t are_rows = 0;
#pragma unroll
  for (int i = 0; i < kItems; ++i) are_rows |= (first + i * kStreamThreads < rows ? 1U : 0U) << i;
  Code encoded[kItems];
  encode_at<kHashed, kStreamThreads>(from, first, are_rows, encoded);
#pragma unroll
  for (int i = 0; i < kItems; ++i) {
    if ((are_rows >> i & 1) == 0) continue;
    codes[first + i * kStreamThreads] = mixed ? mix_key(encoded[i]) : encoded[i];
  }
}

}  // namespace gpujoin::kernels
