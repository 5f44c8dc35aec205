// positions.cuh: which value of a dictionary, or of a column of runs, each row has
//
// Source   ours; see positions.hpp
// In       Indices, Runs or Composed, on the device
// Out      positions[rows] uint32
// Launch   kStreamTile rows a block of kStreamThreads, dependent
// Moves    an index, read, and 4 bytes a row; of runs their ends, from the cache, a bisection a row
#pragma once

#include <cstdint>

#include "kernels/dependent_launch.cuh"
#include "kernels/keys/positions.hpp"
#include "kernels/tuning.hpp"

namespace gpujoin::kernels {

template <typename Source>
__global__ void __launch_bounds__(kStreamThreads)
    positions_kernel(const __grid_constant__ Source source, uint64_t rows,
                     uint32_t* __restrict__ positions) {
  await_last_kernel();
  uint64_t const first = uint64_t{blockIdx.x} * kStreamTile + threadIdx.x;
#pragma unroll
  for (int item = 0; item < kStreamItems; ++item) {
    uint64_t const row = first + item * kStreamThreads;
    if (row < rows) positions[row] = position_of(source, row);
  }
}

}  // namespace gpujoin::kernels
