// put_stand_in.cuh: a column of prepared rows with a value in the place of its NULLs
//
// Source   ours
// In       values[rows]; validity of the column that they are of; source_rows[rows]
// Out      values[rows]
// Launch   ceil(rows / kStreamTile) blocks of kStreamThreads
// Moves    4 and a sector's bit a row, read, and |value| a NULL
#pragma once

#include <cstdint>

#include "kernels/bytes_column.hpp"
#include "kernels/tuning.hpp"
#include "kernels/value_type.cuh"

namespace gpujoin::kernels {

template <typename Value>
__device__ __forceinline__ Value stand_in_of(uint64_t low) {
  if constexpr (sizeof(Value) == sizeof(Wide)) {
    return {low, 0};
  } else {
    return static_cast<Value>(low);
  }
}

template <typename Value>
__global__ void __launch_bounds__(kStreamThreads)
    put_stand_in_kernel(ValidityBits validity, const uint32_t* __restrict__ source_rows,
                        uint32_t rows, uint64_t stand_in, Value* __restrict__ values) {
  uint64_t const tile = uint64_t{blockIdx.x} * kStreamTile;
#pragma unroll
  for (int item = 0; item < kStreamItems; ++item) {
    uint64_t const row = tile + item * kStreamThreads + threadIdx.x;
    if (row >= rows) break;
    if (!is_valid(validity, source_rows[row])) values[row] = stand_in_of<Value>(stand_in);
  }
}

}  // namespace gpujoin::kernels
