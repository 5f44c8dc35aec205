// radix_unordered.hpp: the partitioning that moves all columns with one rank.
#pragma once

#include <span>
#include <vector>

#include "src/transform/transform.hpp"

namespace gpujoin::transform {

// Keys, mixed, and columns in the order of partitions.
struct UnorderedRows {
  base::Buffer keys;                  // [rows]
  std::vector<base::Buffer> columns;  // [rows] each
  base::Buffer offsets;               // [2^bits + 1] uint32: rows before each partition
};

// passes of the order: one becomes two where a block's shared memory has no room for it. keys: not
// mixed; those that are still columns are encoded on the way, and their codes moved. columns:
// kernels::kMovedColumns at most; one without data and parts stands for row numbers. Queued on the
// stream.
UnorderedRows radix_unordered(base::Queue& queue, const PreparedKeys& keys,
                              std::span<const PreparedColumn> columns, const Order& order);

}  // namespace gpujoin::transform
