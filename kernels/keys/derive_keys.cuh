// derive_keys.cuh: a key column that compares by its bits, of one that does not
//
// Source   ours
// In       a DerivedKey, on the device
// Out      values[rows], `stride` apart, of 4 or 8 bytes
// Launch   kStreamTile rows a block of kStreamThreads, dependent
// Moves    the widths of a value and of what it becomes a row
#pragma once

#include <cstdint>

#include "kernels/dependent_launch.cuh"
#include "kernels/keys/derived_key.hpp"
#include "kernels/tuning.hpp"

namespace gpujoin::kernels {

template <typename Bits, bool kDecimal>
__global__ void __launch_bounds__(kStreamThreads)
    derive_keys_kernel(const __grid_constant__ DerivedKey key, uint64_t rows, uint64_t stride,
                       Bits* __restrict__ values) {
  await_last_kernel();
  uint64_t const first = uint64_t{blockIdx.x} * kStreamTile + threadIdx.x;
  if constexpr (kDecimal) {
    // One after the other: a division is long, and bound by what it computes.
#pragma unroll 1
    for (uint64_t row = first; row < rows && row < first + kStreamTile; row += kStreamThreads) {
      values[row * stride] = derived_decimal<Bits>(key, row);
    }
  } else {
#pragma unroll
    for (int item = 0; item < kStreamItems; ++item) {
      uint64_t const row = first + item * kStreamThreads;
      if (row < rows) values[row * stride] = derived_value<Bits>(key, row);
    }
  }
}

}  // namespace gpujoin::kernels
