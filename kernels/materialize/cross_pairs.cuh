// cross_pairs.cuh: every left row with every right row
//
// In       rows, right_rows   of the output, and of the right side
// Out      left, right        [rows] i / right_rows, i % right_rows
// Launch   kStreamTile output rows a block of kStreamThreads
// Moves    8 bytes an output row, written
#pragma once

#include <cstdint>

#include "kernels/tuning.hpp"

namespace gpujoin::kernels {

__global__ void __launch_bounds__(kStreamThreads)
    cross_pairs_kernel(uint64_t rows, uint32_t right_rows, uint32_t* __restrict__ left,
                       uint32_t* __restrict__ right) {
  uint64_t const first = uint64_t{blockIdx.x} * kStreamTile + threadIdx.x;
#pragma unroll
  for (int item = 0; item < kStreamItems; ++item) {
    uint64_t const row = first + item * kStreamThreads;
    if (row >= rows) continue;
    uint64_t const of_left = row / right_rows;
    __stcs(&left[row], static_cast<uint32_t>(of_left));
    __stcs(&right[row], static_cast<uint32_t>(row - of_left * right_rows));
  }
}

}  // namespace gpujoin::kernels
