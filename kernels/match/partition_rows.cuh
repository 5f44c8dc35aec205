// partition_rows.cuh: where the rows of a partition lie, side by side or in a chain of buckets
//
// Paper    bucket chains: Sioulas et al., in Wu et al. 2024, section 3.2, and Paul et al. IV.A.3
// In       a PartitionView
// Out      the position of any row of a partition
// Needs    the same layout on both sides
// Moves    nothing where rows lie side by side; 4 bytes a row in chains, the same for neighbouring
//          rows, so from L1
#pragma once

#include <cstdint>

#include "kernels/match/partition_view.hpp"

namespace gpujoin::kernels {

// Neighbouring rows of one partition.
struct PartitionRows {
  uint32_t
      first;  // side by side: the first one's position; in buckets: its number within the partition
  uint32_t first_bucket;  // in buckets: of the partition
  uint32_t rows;
};

__device__ inline uint32_t rows_of_partition(const PartitionView& view, uint32_t partition) {
  return view.offsets[partition + 1] - view.offsets[partition];
}

__device__ inline PartitionRows some_rows(const PartitionView& view, uint32_t partition,
                                          uint32_t first, uint32_t rows) {
  if (view.buckets == nullptr) return {view.offsets[partition] + first, 0, rows};
  return {first, view.bucket_offsets[partition], rows};
}

// Positions of rows `first + i` of neighbouring ones, by layout. One type for both with a branch,
// which all threads would take alike, costs 0.27 ms of 2.3 (2^27 x 2^27 on an H200): loads wait for
// it.
struct SideBySide {
  __device__ static uint32_t position_of(const PartitionView&, uint32_t, uint32_t row) {
    return row;
  }
};

struct InBuckets {
  __device__ static uint32_t position_of(const PartitionView& view, uint32_t first_bucket,
                                         uint32_t row) {
    uint32_t const bucket = view.buckets[first_bucket + (row >> view.bucket_bits)];
    return bucket << view.bucket_bits | (row & ((1U << view.bucket_bits) - 1));
  }
};

}  // namespace gpujoin::kernels
