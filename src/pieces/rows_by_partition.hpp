// rows_by_partition.hpp: which rows of a block go to which partition, by a hash of their keys.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "src/columns/column.hpp"

namespace gpujoin::pieces {

// Partitions of a side; a last one is of rows with a NULL key that is equal to nothing.
struct Partitioning {
  std::span<const int32_t> keys;
  std::span<const int32_t> key_flags;
  uint32_t partitions = 1;
  uint64_t seed = 0;
};

class RowsByPartition {
 public:
  // block: gathered rows. Reads them once, and takes 13 bytes a row.
  RowsByPartition(const columns::Relation& block, const Partitioning& how);

  // In the order of the block.
  std::span<const uint32_t> of(size_t partition) const {
    return std::span(order_).subspan(begin_[partition], begin_[partition + 1] - begin_[partition]);
  }

 private:
  std::vector<uint32_t> begin_;
  std::vector<uint32_t> order_;
};

}  // namespace gpujoin::pieces
