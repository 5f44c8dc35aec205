// append_bits.cuh: validity bits of several parts, one after the other
//
// In       parts[count]   each of some rows: bits from bit 0 on, or one value for all
// Out      target         words of 32 bits, those after the last row 0
// Launch   a thread a word of the target, kStreamThreads a block; dependent
// Moves    a bit a row read, and written
//
// A word gathers what each part has of it, from two words of the part where their bits lie across.
#pragma once

#include <cstdint>

#include "kernels/dependent_launch.cuh"
#include "kernels/tuning.hpp"

namespace gpujoin::kernels {

struct BitsPart {
  const uint32_t* bits;  // null: `fill`
  uint64_t rows;
  bool fill;
};
// Rows that matched, and those without a match of either side.
constexpr int kMostBitsParts = 3;
struct BitsParts {
  BitsPart parts[kMostBitsParts];
  int count;
};

// `rows` bits, at most 32, from bit `first` on.
__device__ __forceinline__ uint32_t bits_from(const uint32_t* bits, uint64_t first, uint32_t rows) {
  uint32_t const shift = first % 32;
  uint32_t const low = bits[first / 32];
  uint32_t const high = shift + rows > 32 ? bits[first / 32 + 1] : 0;
  return __funnelshift_r(low, high, shift);
}

__global__ void __launch_bounds__(kStreamThreads)
    append_bits_kernel(BitsParts parts, uint64_t words, uint32_t* target) {
  await_last_kernel();
  uint64_t const word = uint64_t{blockIdx.x} * kStreamThreads + threadIdx.x;
  if (word >= words) return;
  uint64_t const begin = word * 32;
  uint64_t const end = begin + 32;
  uint32_t made = 0;
  uint64_t start = 0;
  for (int i = 0; i < parts.count; ++i) {
    BitsPart const part = parts.parts[i];
    uint64_t const first = max(begin, start);
    uint64_t const last = min(end, start + part.rows);
    if (first < last) {
      auto const rows = static_cast<uint32_t>(last - first);
      uint32_t found = part.fill ? ~0U : 0;
      if (part.bits != nullptr) found = bits_from(part.bits, first - start, rows);
      uint32_t const of_part = rows == 32 ? ~0U : (1U << rows) - 1;
      made |= (found & of_part) << (first - begin);
    }
    start += part.rows;
  }
  target[word] = made;
}

}  // namespace gpujoin::kernels
