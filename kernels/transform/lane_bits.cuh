// lane_bits.cuh: validity bits of the rows that a thread of a tile has
//
// Source   ours
// In       bits from any bit on
// Out      a register a thread, bit i its i-th row
// Needs    all lanes of a warp
// Moves    a bit a row
//
// A lane brings the bits of one of the warp's kItems groups of 32 rows, which follow each other,
// and the others ask it: of 2^27 keys a load a row and thread took 0.3 ms more.
#pragma once

#include <cstdint>

#include "kernels/bytes_column.hpp"

namespace gpujoin::kernels {

// Rows first + i * kStride + the lane, of which those before `end` are there. expected: bits.
template <int kItems, int kStride>
__device__ __forceinline__ uint32_t lane_bits(const ValidityBits& validity, uint64_t first,
                                              uint64_t end) {
  static_assert(kItems <= 32);
  uint32_t const lane = threadIdx.x % 32;
  uint64_t const row = first + uint64_t{lane} * kStride;
  uint64_t word = 0;
  if (lane < kItems && row < end) {
    uint64_t const at = static_cast<uint64_t>(validity.offset) + row;
    uint64_t const last = (static_cast<uint64_t>(validity.offset) + end - 1) / 8;
#pragma unroll
    for (int byte = 0; byte < 5; ++byte) {
      if (at / 8 + byte <= last) word |= uint64_t{validity.bits[at / 8 + byte]} << (8 * byte);
    }
    word >>= at % 8;
  }
  uint32_t own = 0;
#pragma unroll
  for (int i = 0; i < kItems; ++i) {
    own |= (__shfl_sync(0xffffffffU, static_cast<uint32_t>(word), i) >> lane & 1) << i;
  }
  return own;
}

}  // namespace gpujoin::kernels
