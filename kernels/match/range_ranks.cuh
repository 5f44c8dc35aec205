// range_ranks.cuh: where the codes of one side belong among the sorted codes of the other
//
// Source   ours; a binary search a row. Rows are in the order of their first code, so that
//          neighbours search the same places.
// In       order codes of both sides, those of one side sorted
// Out      a range of sorted positions a row; or its corner: how many sorted codes are less by each
//          of the two
// Launch   one thread a row, kStreamThreads a block
// Moves    codes: 8 bytes read and 12 written a row; bounds: 12 bytes a row and code read, its
//          search in L2, 8 written                                        (traffic::range_ranks)
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

__device__ inline uint32_t count_below(const uint64_t* codes, uint32_t count, uint64_t code,
                                       bool or_equal) {
  uint32_t low = 0;
  uint32_t high = count;
  while (low < high) {
    uint32_t const middle = low + (high - low) / 2;
    uint64_t const here = codes[middle];
    if (here < code || (or_equal && here == code)) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low;
}

// One of one or two inequalities.
struct RankedInequality {
  const uint64_t* ranged;  // codes by row number
  const uint64_t* sorted;  // codes in their order
  uint64_t flip;           // of both
  bool sorted_is_less;     // of neighbours
  bool counts_equal;
};

struct RankedRows {
  RankedInequality inequalities[2];
  int32_t count;  // of inequalities
  const uint32_t* rows;
  uint32_t row_count;
  uint32_t sorted_count;
};

__device__ inline uint32_t rank_of(const RankedRows& args, int32_t i, uint32_t row) {
  RankedInequality const& inequality = args.inequalities[i];
  return count_below(inequality.sorted, args.sorted_count, inequality.ranged[row] ^ inequality.flip,
                     inequality.counts_equal);
}

__global__ void __launch_bounds__(kStreamThreads)
    neighbours_kernel(RankedRows args, uint32_t* __restrict__ lower,
                      uint32_t* __restrict__ counts) {
  uint32_t const i = blockIdx.x * kStreamThreads + threadIdx.x;
  if (i >= args.row_count) return;
  uint32_t begin = 0;
  uint32_t end = args.sorted_count;
  for (int32_t k = 0; k < args.count; ++k) {
    uint32_t const below = rank_of(args, k, args.rows[i]);
    if (args.inequalities[k].sorted_is_less) {
      end = min(end, below);
    } else {
      begin = max(begin, below);
    }
  }
  lower[i] = begin;
  counts[i] = end > begin ? end - begin : 0;
}

__global__ void __launch_bounds__(kStreamThreads)
    corners_kernel(RankedRows args, uint32_t* __restrict__ first, uint32_t* __restrict__ second) {
  uint32_t const i = blockIdx.x * kStreamThreads + threadIdx.x;
  if (i >= args.row_count) return;
  first[i] = rank_of(args, 0, args.rows[i]);
  second[i] = rank_of(args, 1, args.rows[i]);
}

}  // namespace gpujoin::kernels
