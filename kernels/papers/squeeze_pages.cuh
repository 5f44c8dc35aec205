// squeeze_pages.cuh: the holes of partly filled pages are filled with the last pairs, so that the
// output is contiguous
//
// Paper    the empty holes of Rui & Tu 2017, section 4.2.5; what becomes of them is ours
// In       tails[], ascending: first empty place of each page that is partly filled; pairs in all
// Out      columns                          valid from 0 to pairs; the pairs that lay beyond are in
//          the holes below
// Launch   lengths: ceil((tails + 1) / kStreamThreads) blocks; fill: ceil(holes / kStreamThreads)
//          blocks; of kStreamThreads
// Moves    2 * the columns' widths for each hole below `pairs`, and two binary searches in the
//          tails (traffic::squeeze_pages)
//
//   pages    |aaaa|bb__|cccc|d___|eeee|      pairs = 15
//   after    |aaaa|bbee|cccc|dee         hole k takes the k-th pair from the end
//
// As many pairs lie beyond `pairs` as places below it are empty, so no pair is moved over another
// one.
#pragma once

#include <cstdint>

#include "kernels/output/move_row.cuh"
#include "kernels/tuning.hpp"

namespace gpujoin::kernels {

// lengths[count + 1]: empty places of each page that is partly filled, and 0, for their sum.
__global__ void __launch_bounds__(kStreamThreads)
    hole_lengths_kernel(const unsigned long long* __restrict__ tails, uint32_t count,
                        uint32_t page_pairs, unsigned long long* __restrict__ lengths) {
  uint32_t const i = blockIdx.x * kStreamThreads + threadIdx.x;
  if (i <= count) lengths[i] = i == count ? 0 : page_pairs - tails[i] % page_pairs;
}

// First of count positions where beyond(position) holds, which it does for all later ones.
template <typename Beyond>
__device__ uint32_t first_beyond(uint32_t count, Beyond beyond) {
  uint32_t low = 0;
  while (count != 0) {
    uint32_t const half = count / 2;
    if (beyond(low + half)) {
      count = half;
    } else {
      low += half + 1;
      count -= half + 1;
    }
  }
  return low;
}

// holes_before[count + 1]: empty places in the pages of tails[0] to tails[i - 1].
__global__ void __launch_bounds__(kStreamThreads)
    fill_holes_kernel(const unsigned long long* __restrict__ tails,
                      const unsigned long long* __restrict__ holes_before, uint32_t count,
                      unsigned long long pairs, const __grid_constant__ SqueezedColumns columns) {
  unsigned long long const hole =
      static_cast<unsigned long long>(blockIdx.x) * kStreamThreads + threadIdx.x;
  if (hole >= holes_before[count]) return;
  uint32_t const page = first_beyond(count, [&](uint32_t i) { return holes_before[i] > hole; }) - 1;
  unsigned long long const target = tails[page] + (hole - holes_before[page]);
  if (target >= pairs) return;
  // Where the pair with `rank` pairs before it lies: behind the holes with no more pairs before
  // them.
  unsigned long long const rank = pairs - 1 - hole;
  uint32_t const pages_before =
      first_beyond(count, [&](uint32_t i) { return tails[i] - holes_before[i] > rank; });
  unsigned long long const source = rank + holes_before[pages_before];
  move_row(columns, target, source);
}

}  // namespace gpujoin::kernels
