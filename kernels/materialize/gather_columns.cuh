// gather_columns.cuh: output columns from pairs: target[i] = source[rows[i]], several columns for
// one reading of the row numbers
//
// Paper    GATHER of Wu et al. 2024, section 2.3. Differs: one launch for all columns of a side,
//          which reads the row numbers once
// In       rows[pairs]                 uint32, row numbers or positions; null: the identity
//          columns[].source            any of 1, 2, 4, 8, 16 bytes; validity as bits, or as bytes
//          of a transformed column
// Out      columns[].target[pairs], columns[].target_validity (32-bit words), columns[].null_count
// Launch   ceil(pairs / kStreamTile) blocks of kStreamThreads
// Moves    4 a pair + for each column width written + width read (clustered) or a 32-byte sector
//          (unclustered) (traffic::gather)
#pragma once

#include <cstdint>

#include "kernels/transform/mix_key.cuh"
#include "kernels/tuning.hpp"
#include "kernels/value_type.cuh"
#include "kernels/warp_sum.cuh"
#include "kernels/whole_value.cuh"

namespace gpujoin::kernels {

constexpr int kGatherColumns = 8;  // of one launch; more columns take more launches

struct GatherColumn {
  const void* source;
  void* target;
  const uint8_t* validity_bits;  // of the source, or null
  int64_t validity_bit_offset;
  const uint8_t* validity_bytes;   // of a transformed source: 1 = valid; or null
  uint32_t* target_validity;       // [ceil(pairs / 32)], when the source has validity
  unsigned long long* null_count;  // started at 0 by the caller
  int32_t width;
  int32_t unmix;  // 1: the source holds mixed keys
};

struct GatherColumns {
  const uint32_t* rows;
  uint64_t pairs;
  int32_t column_count;
  GatherColumn columns[kGatherColumns];
};

template <typename Value>
__device__ void gather_values(const GatherColumn& column, const uint32_t (&rows)[kStreamItems],
                              uint64_t tile, uint64_t pairs) {
  auto const* source = static_cast<const Value*>(column.source);
  auto* target = static_cast<Value*>(column.target);
  Value values[kStreamItems];
#pragma unroll
  for (int item = 0; item < kStreamItems; ++item) {
    if (tile + item * kStreamThreads + threadIdx.x < pairs) values[item] = source[rows[item]];
  }
#pragma unroll
  for (int item = 0; item < kStreamItems; ++item) {
    uint64_t const pair = tile + item * kStreamThreads + threadIdx.x;
    if constexpr (sizeof(Value) == 4 || sizeof(Value) == 8) {
      if (column.unmix != 0) values[item] = unmix_key(values[item]);
    }
    if (pair < pairs) target[pair] = values[item];
  }
}

__device__ inline void gather_validity(const GatherColumn& column,
                                       const uint32_t (&rows)[kStreamItems], uint64_t tile,
                                       uint64_t pairs) {
  unsigned nulls = 0;
#pragma unroll
  for (int item = 0; item < kStreamItems; ++item) {
    uint64_t const pair = tile + item * kStreamThreads + threadIdx.x;
    bool valid = true;
    if (pair < pairs) {
      if (column.validity_bytes != nullptr) {
        valid = column.validity_bytes[rows[item]] != 0;
      } else {
        int64_t const bit = column.validity_bit_offset + rows[item];
        valid = (column.validity_bits[bit / 8] >> (bit % 8) & 1) != 0;
      }
    }
    // Rows beyond the end count as valid in the vote and are masked out of the word.
    unsigned const word = __ballot_sync(0xffffffffU, valid && pair < pairs);
    if (threadIdx.x % 32 == 0 && pair < pairs) {
      column.target_validity[pair / 32] = word;
      uint64_t const left = pairs - pair;
      nulls += static_cast<unsigned>(left < 32 ? left : 32) - static_cast<unsigned>(__popc(word));
    }
  }
  add_of_block<kStreamThreads>(nulls, column.null_count);
}

__global__ void __launch_bounds__(kStreamThreads)
    gather_columns_kernel(const __grid_constant__ GatherColumns args) {
  uint64_t const tile = uint64_t{blockIdx.x} * kStreamTile;
  uint32_t rows[kStreamItems];
#pragma unroll
  for (int item = 0; item < kStreamItems; ++item) {
    uint64_t const pair = tile + item * kStreamThreads + threadIdx.x;
    rows[item] = 0;
    if (pair < args.pairs) {
      rows[item] = args.rows != nullptr ? args.rows[pair] : static_cast<uint32_t>(pair);
    }
  }
  for (int i = 0; i < args.column_count; ++i) {
    GatherColumn const& column = args.columns[i];
    with_whole_value<0>(column.width, column.source, column.target, [&](auto zero) {
      gather_values<decltype(zero)>(column, rows, tile, args.pairs);
    });
    if (column.target_validity != nullptr) gather_validity(column, rows, tile, args.pairs);
  }
}

}  // namespace gpujoin::kernels
