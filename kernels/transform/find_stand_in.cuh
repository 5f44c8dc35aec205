// find_stand_in.cuh: which of 32 values a column's valid rows have
//
// Source   ours. A value that no row has stands for NULL while a column is on its way, so that its
//          validity needs no column of its own
// In       values[rows] of 4, 8 or 16 bytes, whose low word is looked at; validity
// Out      *found, bit i: a valid row has the value base ^ i
// Needs    *found zeroed; base % 32 == 0
// Launch   as many blocks as are resident, of kStreamThreads
// Moves    |value| + 1/8 a row, read
#pragma once

#include <cstdint>

#include "kernels/bytes_column.hpp"
#include "kernels/stand_in.cuh"
#include "kernels/tuning.hpp"

namespace gpujoin::kernels {

template <typename Value>
__global__ void __launch_bounds__(kStreamThreads)
    find_stand_in_kernel(const Value* __restrict__ values, ValidityBits validity, uint64_t rows,
                         uint64_t base, uint32_t* found) {
  using Word = decltype(low_word(Value{}));
  using Vector = ValueVector<Value>;
  constexpr int kPer = Vector::kPer;
  constexpr int kAtOnce = 4;
  uint32_t present = 0;
  auto const look = [&](Value value, bool valid) {
    Word const differs = low_word(value) ^ static_cast<Word>(base);
    if (valid && differs < 32) present |= 1U << differs;
  };
  // At an address that vectors cannot be loaded from values are looked at one by one.
  uint64_t const vectors = reinterpret_cast<uintptr_t>(values) % 16 == 0 ? rows / kPer : 0;
  uint64_t const thread = uint64_t{blockIdx.x} * kStreamThreads + threadIdx.x;
  uint64_t const threads = uint64_t{gridDim.x} * kStreamThreads;
  for (uint64_t first = thread; first < vectors; first += kAtOnce * threads) {
    Vector loaded[kAtOnce];
    uint32_t valid[kAtOnce];
#pragma unroll
    for (int i = 0; i < kAtOnce; ++i) {
      uint64_t const vector = first + i * threads;
      if (vector >= vectors) break;
      loaded[i] = reinterpret_cast<const Vector*>(values)[vector];
      valid[i] = are_valid<kPer>(validity, vector * kPer);
    }
#pragma unroll
    for (int i = 0; i < kAtOnce; ++i) {
      if (first + i * threads >= vectors) break;
#pragma unroll
      for (int j = 0; j < kPer; ++j) look(loaded[i].values[j], (valid[i] >> j & 1) != 0);
    }
  }
  for (uint64_t row = vectors * kPer + thread; row < rows; row += threads) {
    look(values[row], is_valid(validity, row));
  }
  note_seen(present, found);
}

}  // namespace gpujoin::kernels
