// estimate_pairs.cuh: how many pairs each partition is expected to give
//
// Paper    Paul et al. 2020, section IV.B.2: "based on the size of the co-partitions, the overall
//          input size and the error in previous estimations", without a formula; and the worst case
//          of V.D, figure 7
// Differs  the formula is ours; the error of earlier groups is a factor that the host keeps
// In       offsets of the partitions of both sides
// Out      estimates[]     |Rp| * |Sp| / d; one more, 0, for their sum
// Launch   ceil((partitions + 1) / kStreamThreads) blocks of kStreamThreads
// Moves    16 bytes a partition (traffic::estimated_groups)
//
// d, the distinct keys of a partition, is guessed from the overall sizes as min(|R|, |S|) /
// partitions: each row of the larger side is expected to have one match. With d = 1 the estimate is
// the worst case: every row with every row.
#pragma once

#include <cstdint>

#include "kernels/tuning.hpp"

namespace gpujoin::kernels {

// most: no estimate is larger, so that their sum fits.
__global__ void __launch_bounds__(kStreamThreads)
    estimate_pairs_kernel(const uint32_t* __restrict__ build_offsets,
                          const uint32_t* __restrict__ probe_offsets, uint32_t partitions,
                          double distinct_keys, double most,
                          unsigned long long* __restrict__ estimates) {
  uint32_t const partition = blockIdx.x * kStreamThreads + threadIdx.x;
  if (partition > partitions) return;
  if (partition == partitions) {
    estimates[partition] = 0;
    return;
  }
  double const build_rows = build_offsets[partition + 1] - build_offsets[partition];
  double const probe_rows = probe_offsets[partition + 1] - probe_offsets[partition];
  estimates[partition] =
      static_cast<unsigned long long>(ceil(fmin(build_rows * probe_rows / distinct_keys, most)));
}

}  // namespace gpujoin::kernels
