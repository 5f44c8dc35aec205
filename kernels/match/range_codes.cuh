// range_codes.cuh: the order codes of one side's rows that take part in a range join
//
// Source   ours
// In       order codes of all rows; the rows that take part
// Out      their codes, or the codes turned round, their numbers, and the bits that vary
// Launch   kBlocksPerSm blocks of kStreamThreads for each multiprocessor, or less
// Moves    8 bytes read and 12 written a row                              (traffic::range_ranks)
#pragma once

#include <cstdint>

#include "kernels/bytes_column.hpp"
#include "kernels/tuning.hpp"

namespace gpujoin::kernels {

// Of a row: no column is NULL, or one is.
struct IsInRange {
  ValidityBits first;
  ValidityBits second;
  bool is_wanted;
  __device__ bool operator()(uint32_t row) const {
    return (is_valid(first, row) && is_valid(second, row)) == is_wanted;
  }
};

// rows null: all. out_rows null: not written. varying: bits in which any code differs from the
// first one; 0 before.
__global__ void __launch_bounds__(kStreamThreads)
    codes_of_rows_kernel(const uint64_t* __restrict__ codes, const uint32_t* __restrict__ rows,
                         uint32_t count, uint64_t flip, uint64_t* __restrict__ out_codes,
                         uint32_t* __restrict__ out_rows, unsigned long long* varying) {
  uint64_t const first = codes[rows == nullptr ? 0 : rows[0]];
  uint64_t differs = 0;
  uint64_t const step = uint64_t{gridDim.x} * kStreamThreads;
  for (uint64_t i = uint64_t{blockIdx.x} * kStreamThreads + threadIdx.x; i < count; i += step) {
    uint32_t const row = rows == nullptr ? static_cast<uint32_t>(i) : rows[i];
    uint64_t const code = codes[row];
    differs |= code ^ first;
    out_codes[i] = code ^ flip;
    if (out_rows != nullptr) out_rows[i] = row;
  }
  uint64_t const low = __reduce_or_sync(~0U, static_cast<uint32_t>(differs));
  uint64_t const high = __reduce_or_sync(~0U, static_cast<uint32_t>(differs >> 32));
  if (threadIdx.x % 32 == 0 && (low | high) != 0) atomicOr(varying, high << 32 | low);
}

}  // namespace gpujoin::kernels
