// cross_pairs.cuh: every left row with every right row
//
// In       lists              rows of either side, or all of them
//          first, rows        of all pairs those to write
// Out      left, right        [rows] of pair i: i / right_rows and i % right_rows of the lists
// Launch   kStreamTile output rows a block of kStreamThreads
// Moves    8 bytes an output row, written
#pragma once

#include <cstdint>

#include "kernels/tuning.hpp"

namespace gpujoin::kernels {

// Null: the rows 0, 1, 2 and so on.
struct CrossedLists {
  const uint32_t* left;
  const uint32_t* right;
  uint32_t right_rows;
};

__global__ void __launch_bounds__(kStreamThreads)
    cross_pairs_kernel(CrossedLists lists, uint64_t first, uint64_t rows,
                       uint32_t* __restrict__ left, uint32_t* __restrict__ right) {
  uint64_t const begin = uint64_t{blockIdx.x} * kStreamTile + threadIdx.x;
#pragma unroll
  for (int item = 0; item < kStreamItems; ++item) {
    uint64_t const row = begin + item * kStreamThreads;
    if (row >= rows) continue;
    uint64_t const pair = first + row;
    uint64_t const in_left = pair / lists.right_rows;
    auto const of_left = static_cast<uint32_t>(in_left);
    auto const of_right = static_cast<uint32_t>(pair - in_left * lists.right_rows);
    __stcs(&left[row], lists.left == nullptr ? of_left : lists.left[of_left]);
    __stcs(&right[row], lists.right == nullptr ? of_right : lists.right[of_right]);
  }
}

}  // namespace gpujoin::kernels
