// decode_key.cuh: a key column's values from packed codes
//
// In       codes, mixed or not; positions[count] of those that are wanted, or null: all, in order
// Out      values[count] of one column
// Launch   ceil(count / kStreamTile) blocks of kStreamThreads, dependent
// Moves    count * (|code| + |value|), + 4 for positions, by which codes are read at random
#pragma once

#include <cstdint>

#include "kernels/dependent_launch.cuh"
#include "kernels/keys/encoded_columns.hpp"
#include "kernels/transform/mix_key.cuh"
#include "kernels/tuning.hpp"

namespace gpujoin::kernels {

// codes and values may be the same array, without positions.
template <typename Code, typename Value>
__global__ void __launch_bounds__(kStreamThreads)
    decode_key_kernel(const Code* codes, const uint32_t* __restrict__ positions, uint64_t count,
                      bool mixed, const __grid_constant__ EncodedColumn column, Value* values) {
  await_last_kernel();
  uint64_t const first = uint64_t{blockIdx.x} * kStreamTile + threadIdx.x;
  Code read[kStreamItems] = {};
#pragma unroll
  for (int item = 0; item < kStreamItems; ++item) {
    uint64_t const at = first + item * kStreamThreads;
    if (at < count) read[item] = codes[positions != nullptr ? positions[at] : at];
  }
#pragma unroll
  for (int item = 0; item < kStreamItems; ++item) {
    uint64_t const at = first + item * kStreamThreads;
    if (at >= count) continue;
    values[at] = column.template value_in<Value>(mixed ? unmix_key(read[item]) : read[item]);
  }
}

}  // namespace gpujoin::kernels
