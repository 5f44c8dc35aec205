// prepare_rows.cuh: a column as the transform wants it: rows with NULL keys left out, keys mixed
// when a radix partition follows
//
// In       column[n]             Value: the caller's keys or payloads
//          source_rows[rows]     rows with a valid key, ascending; null: all of them, in order
// Out      prepared[rows]        values, mixed when Mixed; null: not wanted
//          row_ids[rows]         original row of each prepared row; null: not wanted
// Needs    rows < 2^32 - 1
// Launch   ceil(rows / kStreamTile) blocks of kStreamThreads
// Moves    rows * (2 * |Value|), + 4 for row_ids, + 4 for source_rows    (traffic::mix_keys,
//          write_row_ids)
#pragma once

#include <cstdint>

#include "kernels/transform/mix_key.cuh"
#include "kernels/tuning.hpp"

namespace gpujoin::kernels {

template <typename Value, bool Mixed>
__global__ void __launch_bounds__(kStreamThreads)
    prepare_rows_kernel(const Value* __restrict__ column, const uint32_t* __restrict__ source_rows,
                        uint32_t rows, Value* __restrict__ prepared,
                        uint32_t* __restrict__ row_ids) {
  uint64_t const first = uint64_t{blockIdx.x} * kStreamTile + threadIdx.x;
  // All of a thread's loads are under way before the first is waited for.
  uint32_t source[kStreamItems];
#pragma unroll
  for (int item = 0; item < kStreamItems; ++item) {
    uint64_t const position = first + item * kStreamThreads;
    source[item] = static_cast<uint32_t>(position);
    if (position < rows && source_rows != nullptr) source[item] = __ldcs(&source_rows[position]);
  }
  if (prepared != nullptr) {
    Value values[kStreamItems];
#pragma unroll
    for (int item = 0; item < kStreamItems; ++item) {
      if (first + item * kStreamThreads < rows) values[item] = column[source[item]];
    }
#pragma unroll
    for (int item = 0; item < kStreamItems; ++item) {
      uint64_t const position = first + item * kStreamThreads;
      if (position >= rows) continue;
      if constexpr (Mixed) {
        prepared[position] = mix_key(values[item]);
      } else {
        prepared[position] = values[item];
      }
    }
  }
  if (row_ids == nullptr) return;
#pragma unroll
  for (int item = 0; item < kStreamItems; ++item) {
    uint64_t const position = first + item * kStreamThreads;
    if (position < rows) row_ids[position] = source[item];
  }
}

}  // namespace gpujoin::kernels
