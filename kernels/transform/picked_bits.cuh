// picked_bits.cuh: bits of rows, from any bit on, a word at a time
#pragma once

#include <cstdint>

namespace gpujoin::kernels {

struct PickBits {
  const uint8_t* bits;
  int64_t first_bit;  // of row 0
  uint64_t rows;
  bool are_unset;  // rows whose bit is 0 are picked
};

// The bits of 32 rows, fewer at the end. Reads no byte but those that hold them.
__device__ __forceinline__ uint32_t picked_bits(const PickBits& from, uint64_t row) {
  if (row >= from.rows) return 0;
  uint64_t const at = static_cast<uint64_t>(from.first_bit) + row;
  auto const* const first = from.bits + at / 8;
  auto const shift = static_cast<uint32_t>(at % 8);
  auto const rows = static_cast<uint32_t>(min(from.rows - row, uint64_t{32}));
  uint32_t const unset = from.are_unset ? ~0U : 0;
  if (rows == 32 && shift == 0 && reinterpret_cast<uintptr_t>(first) % 4 == 0) {
    return *reinterpret_cast<const uint32_t*>(first) ^ unset;
  }
  uint64_t bits = 0;
  for (uint32_t byte = 0; byte * 8 < shift + rows; ++byte) {
    bits |= uint64_t{first[byte]} << (8 * byte);
  }
  uint32_t const found = static_cast<uint32_t>(bits >> shift) ^ unset;
  return rows == 32 ? found : found & ((1U << rows) - 1);
}

}  // namespace gpujoin::kernels
