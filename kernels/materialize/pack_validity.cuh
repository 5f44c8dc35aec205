// pack_validity.cuh: validity bits of an output column, of the bytes that travelled with its values
//
// Source   ours; the way back of transform/expand_validity.cuh
// In       bytes[rows]                1 = valid
// Out      words[ceil(rows / 32)], bits behind the last row 0; *null_count, started by the caller
// Launch   ceil(rows / kStreamTile) blocks of kStreamThreads
// Moves    rows * (1 + 1/8)
#pragma once

#include <cstdint>

#include "kernels/tuning.hpp"

namespace gpujoin::kernels {

__global__ void __launch_bounds__(kStreamThreads)
    pack_validity_kernel(const uint8_t* __restrict__ bytes, uint64_t rows,
                         uint32_t* __restrict__ words, unsigned long long* null_count) {
  uint64_t const tile = uint64_t{blockIdx.x} * kStreamTile;
  uint32_t nulls = 0;
#pragma unroll
  for (int item = 0; item < kStreamItems; ++item) {
    uint64_t const row = tile + item * kStreamThreads + threadIdx.x;
    bool const is_valid = row < rows && bytes[row] != 0;
    uint32_t const word = __ballot_sync(0xffffffffU, is_valid);
    if (threadIdx.x % 32 != 0 || row >= rows) continue;
    words[row / 32] = word;
    uint64_t const left = rows - row;
    nulls += static_cast<uint32_t>(left < 32 ? left : 32) - static_cast<uint32_t>(__popc(word));
  }
  if (nulls != 0) atomicAdd(null_count, static_cast<unsigned long long>(nulls));
}

}  // namespace gpujoin::kernels
