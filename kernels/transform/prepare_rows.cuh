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
  uint64_t const tile = uint64_t{blockIdx.x} * kStreamTile;
#pragma unroll
  for (int item = 0; item < kStreamItems; ++item) {
    uint64_t const position = tile + item * kStreamThreads + threadIdx.x;
    if (position >= rows) break;
    uint32_t const row =
        source_rows != nullptr ? source_rows[position] : static_cast<uint32_t>(position);
    if (prepared != nullptr) {
      if constexpr (Mixed) {
        prepared[position] = mix_key(column[row]);
      } else {
        prepared[position] = column[row];
      }
    }
    if (row_ids != nullptr) row_ids[position] = row;
  }
}

}  // namespace gpujoin::kernels
