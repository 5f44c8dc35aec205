// stand_in_validity.cuh: validity bits of an output column in which a value stands for NULL
//
// Source   ours; the way back of transform/find_stand_in.cuh
// In       values[rows] of 4, 8 or 16 bytes, whose low word is looked at
// Out      words[ceil(rows / 32)], bits behind the last row 0; *null_count, started by the caller
// Needs    values aligned to 16 bytes
// Launch   as many blocks as are resident, of kStreamThreads
// Moves    rows * (|value| + 1/8)
#pragma once

#include <cstdint>

#include "kernels/stand_in.cuh"
#include "kernels/tuning.hpp"
#include "kernels/warp_sum.cuh"

namespace gpujoin::kernels {

template <typename Value>
__global__ void __launch_bounds__(kStreamThreads)
    stand_in_validity_kernel(const Value* __restrict__ values, uint64_t rows, uint64_t stand_in,
                             uint32_t* __restrict__ words, unsigned long long* null_count) {
  using Vector = ValueVector<Value>;
  constexpr uint32_t kPer = Vector::kPer;
  constexpr uint32_t kLanes = 32 / kPer;  // of a word
  constexpr int kAtOnce = 4;
  uint32_t const lane = threadIdx.x % 32;
  uint64_t const step = uint64_t{gridDim.x} * kStreamThreads * kPer;
  uint32_t nulls = 0;
  // Whole words are of lanes that come by together: a warp has 32 * kPer rows side by side.
  uint64_t const begin = (uint64_t{blockIdx.x} * kStreamThreads + threadIdx.x) * kPer;
  for (uint64_t first = begin; first - lane * kPer < rows; first += kAtOnce * step) {
    Vector loaded[kAtOnce];
#pragma unroll
    for (int i = 0; i < kAtOnce; ++i) {
      uint64_t const row = first + i * step;
      if (row + kPer <= rows) {
        loaded[i] = reinterpret_cast<const Vector*>(values)[row / kPer];
      } else {
#pragma unroll
        for (uint32_t j = 0; j < kPer; ++j) {
          if (row + j < rows) loaded[i].values[j] = values[row + j];
        }
      }
    }
#pragma unroll
    for (int i = 0; i < kAtOnce; ++i) {
      uint64_t const row = first + i * step;
      uint32_t bits = 0;
#pragma unroll
      for (uint32_t j = 0; j < kPer; ++j) {
        bool const is_row = row + j < rows;
        bool const is_there = is_row && !is_stand_in(loaded[i].values[j], stand_in);
        bits |= static_cast<uint32_t>(is_there) << j;
        nulls += is_row && !is_there;
      }
      bits <<= lane % kLanes * kPer;
#pragma unroll
      for (uint32_t other = 1; other < kLanes; other *= 2) {
        bits |= __shfl_xor_sync(0xffffffffU, bits, other);
      }
      if (lane % kLanes == 0 && row < rows) words[row / 32] = bits;
    }
  }
  add_of_block<kStreamThreads>(nulls, null_count);
}

}  // namespace gpujoin::kernels
