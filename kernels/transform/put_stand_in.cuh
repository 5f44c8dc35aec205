// put_stand_in.cuh: a column of prepared rows with a value in the place of its NULLs
//
// Source   ours
// In       values[rows]; validity of the column that they are of; source_rows[rows]
// Out      values[rows]; *seen, of StandInSeen
// Needs    *seen zeroed
// Launch   ceil(rows / kStreamTile) blocks of kStreamThreads
// Moves    4, |value| and a sector's bit a row, read, and |value| a NULL, written
#pragma once

#include <cstdint>

#include "kernels/bytes_column.hpp"
#include "kernels/stand_in.cuh"
#include "kernels/tuning.hpp"

namespace gpujoin::kernels {

template <typename Value>
__global__ void __launch_bounds__(kStreamThreads)
    put_stand_in_kernel(ValidityBits validity, const uint32_t* __restrict__ source_rows,
                        uint32_t rows, uint64_t stand_in, Value* __restrict__ values,
                        uint32_t* seen) {
  uint32_t own = 0;
  uint64_t const tile = uint64_t{blockIdx.x} * kStreamTile;
  // One read hangs on the other: those of all items are under way together. H200, 6.7*10^6 rows of
  // 4 bytes, one after the other: 0.24 ms.
  uint32_t sources[kStreamItems];
  bool are_stand_ins[kStreamItems];
#pragma unroll
  for (int item = 0; item < kStreamItems; ++item) {
    uint64_t const row = tile + item * kStreamThreads + threadIdx.x;
    if (row >= rows) continue;
    sources[item] = source_rows[row];
    are_stand_ins[item] = is_stand_in(values[row], stand_in);
  }
  bool are_valid[kStreamItems];
#pragma unroll
  for (int item = 0; item < kStreamItems; ++item) {
    uint64_t const row = tile + item * kStreamThreads + threadIdx.x;
    if (row < rows) are_valid[item] = is_valid(validity, sources[item]);
  }
#pragma unroll
  for (int item = 0; item < kStreamItems; ++item) {
    uint64_t const row = tile + item * kStreamThreads + threadIdx.x;
    if (row >= rows) continue;
    if (are_valid[item]) {
      if (are_stand_ins[item]) own |= kStandInIsTaken;
    } else {
      values[row] = stand_in_of<Value>(stand_in);
      own |= kHasNulls;
    }
  }
  note_seen(own, seen);
}

}  // namespace gpujoin::kernels
