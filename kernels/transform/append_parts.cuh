// append_parts.cuh: what of a column's parts is not copied as it lies where they become one column:
// validity bits, and offsets of text
//
// Source   ours
// In       bits       one a row of the part, from any bit on; null: all are set
//          offsets    of the part's rows and one more, of 4 or 8 bytes
// Out      target     words of 32 bits, or offsets, from the part's first row on; bits behind its
//                     last row 0
// Needs    parts in the order of their rows, one launch after the other
// Launch   a thread a word, or an offset, that the part has; kStreamThreads a block; dependent
// Moves    a bit a row, or an offset, read and written
//
// Two parts may share a word: the launch of the second keeps what the first wrote.
#pragma once

#include <cstdint>

#include "kernels/dependent_launch.cuh"
#include "kernels/transform/picked_bits.cuh"
#include "kernels/tuning.hpp"

namespace gpujoin::kernels {

__global__ void __launch_bounds__(kStreamThreads)
    append_part_bits_kernel(PickBits part, uint64_t start, uint32_t* target) {
  await_last_kernel();
  uint64_t const word = start / 32 + uint64_t{blockIdx.x} * kStreamThreads + threadIdx.x;
  uint64_t const end = start + part.rows;
  if (word * 32 >= end) return;
  uint64_t const first = max(word * 32, start);
  uint64_t const rows = min(word * 32 + 32, end) - first;
  uint32_t bits = part.bits == nullptr ? ~0U : picked_bits(part, first - start);
  if (rows < 32) bits &= (1U << rows) - 1;
  uint32_t const shift = first % 32;
  uint32_t const before = shift == 0 ? 0 : target[word] & ((1U << shift) - 1);
  target[word] = before | bits << shift;
}

template <typename Offset>
__global__ void __launch_bounds__(kStreamThreads)
    append_part_offsets_kernel(const Offset* offsets, uint64_t count, int64_t added,
                               Offset* target) {
  await_last_kernel();
  uint64_t const place = uint64_t{blockIdx.x} * kStreamThreads + threadIdx.x;
  if (place < count) target[place] = static_cast<Offset>(offsets[place] + added);
}

}  // namespace gpujoin::kernels
