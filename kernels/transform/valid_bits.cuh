// valid_bits.cuh: a bit for each row of which no key is NULL
//
// Source   ours
// In       the validity bits of several key columns
// Out      words[ceil(rows / 32)], bits behind the last row 0
// Launch   ceil(rows / kStreamTile) blocks of kStreamThreads
// Moves    a bit a row and nullable column, read, and a bit a row, written
#pragma once

#include <cstdint>

#include "kernels/keys/valid_rows.hpp"
#include "kernels/tuning.hpp"

namespace gpujoin::kernels {

__global__ void __launch_bounds__(kStreamThreads)
    valid_bits_kernel(const __grid_constant__ ValidRows are_valid, uint32_t rows,
                      uint32_t* __restrict__ words) {
  uint64_t const tile = uint64_t{blockIdx.x} * kStreamTile;
#pragma unroll
  for (int item = 0; item < kStreamItems; ++item) {
    uint64_t const row = tile + item * kStreamThreads + threadIdx.x;
    bool const is_valid = row < rows && are_valid(static_cast<uint32_t>(row));
    uint32_t const word = __ballot_sync(0xffffffffU, is_valid);
    if (threadIdx.x % 32 == 0 && row < rows) words[row / 32] = word;
  }
}

}  // namespace gpujoin::kernels
