// count_row_multiset.cuh: matches of a row multiset counted, the first of two passes
//
// Paper    Rui & Tu 2017, section 3.2.2: "the traditional way"
// In       as row_multiset.cuh
// Out      *count.pairs, all matches
// Needs    *count zeroed
// Launch   as many blocks as are resident, of kMultisetThreads; each warp takes units of
//          kMultisetUnitRows probe rows
// Moves    a window of a sector a probe row, and its key columns (traffic::row_multiset_count)
#pragma once

#include <cstdint>

#include "kernels/match/row_multiset.cuh"

namespace gpujoin::kernels {

struct MatchCount {
  unsigned long long pairs;
  unsigned long long taken;  // units
};

template <typename Keys>
__global__ void __launch_bounds__(kMultisetThreads, multiset_blocks_per_sm(Keys::kVerified))
    count_row_multiset_kernel(ProbeMultiset<Keys> args, MatchCount* count) {
  uint64_t const units = args.units();
  unsigned long long pairs = 0;
  for (uint64_t unit = warp_take(&count->taken); unit < units; unit = warp_take(&count->taken)) {
    walk_unit(args, unit, 0, [&](bool is_match, uint32_t, uint32_t, uint32_t, uint32_t) {
      pairs += is_match ? 1 : 0;
      return true;
    });
  }
  for (int offset = 16; offset > 0; offset /= 2) pairs += __shfl_down_sync(kWarp, pairs, offset);
  if (threadIdx.x % 32 == 0 && pairs != 0) atomicAdd(&count->pairs, pairs);
}

}  // namespace gpujoin::kernels
