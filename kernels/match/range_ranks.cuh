// range_ranks.cuh: where the codes of one side belong among the sorted codes of the other
//
// Source   ours; a binary search a row. Rows are in the order of their first code, so that
//          neighbours search the same places.
// In       order codes of both sides, those of one side sorted
// Out      a range of sorted positions a row; or its corner: how many sorted codes are less by each
//          of the two
// Launch   one thread a row, kStreamThreads a block
// Moves    12 bytes a row and code read, its search in L2, 8 written      (traffic::range_ranks)
#pragma once

#include <cstdint>

#include "kernels/tuning.hpp"

namespace gpujoin::kernels {

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
