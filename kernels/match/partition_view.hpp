// partition_view.hpp: what host and device share about where the rows of a partition lie.
#pragma once

#include <cstdint>

namespace gpujoin::kernels {

// Partition p has offsets[p + 1] - offsets[p] rows. Without buckets its rows lie side by side, row
// i of it at position offsets[p] + i. With buckets, of 2^bucket_bits places each and all but a
// partition's last one full, row i of it lies in bucket number buckets[bucket_offsets[p] + (i >>
// bucket_bits)], at place i & (2^bucket_bits - 1).
struct PartitionView {
  const uint32_t* offsets;         // [partitions + 1]
  const uint32_t* buckets;         // [bucket_offsets[partitions]], or null: contiguous
  const uint32_t* bucket_offsets;  // [partitions + 1]
  int32_t bucket_bits;
};

}  // namespace gpujoin::kernels
