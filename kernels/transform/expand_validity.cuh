// expand_validity.cuh: validity bits as a column of bytes, so that a transform moves them as it
// moves any payload
//
// In       bits                 one a row of the input, least significant first
//          source_rows[rows]    original row of each prepared row; null: the identity
// Out      bytes[rows]          1 = valid
// Launch   ceil(rows / kStreamTile) blocks of kStreamThreads
// Moves    rows * (1 + 1/8), + 4 for source_rows
#pragma once

#include <cstdint>

#include "kernels/tuning.hpp"

namespace gpujoin::kernels {

__global__ void __launch_bounds__(kStreamThreads)
    expand_validity_kernel(const uint8_t* __restrict__ bits, int64_t bit_offset,
                           const uint32_t* __restrict__ source_rows, uint32_t rows,
                           uint8_t* __restrict__ bytes) {
  uint64_t const tile = uint64_t{blockIdx.x} * kStreamTile;
#pragma unroll
  for (int item = 0; item < kStreamItems; ++item) {
    uint64_t const position = tile + item * kStreamThreads + threadIdx.x;
    if (position >= rows) break;
    int64_t const bit = bit_offset + (source_rows != nullptr ? source_rows[position]
                                                             : static_cast<uint32_t>(position));
    bytes[position] = bits[bit / 8] >> (bit % 8) & 1;
  }
}

}  // namespace gpujoin::kernels
