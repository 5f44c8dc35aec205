#include "src/pieces/rows_by_partition.hpp"

#include <numeric>

#include "src/pieces/key_hash.hpp"

namespace gpujoin::pieces {

RowsByPartition::RowsByPartition(const columns::Relation& block, const Partitioning& how) {
  auto const count = static_cast<size_t>(block.rows);
  std::vector<uint64_t> hashes(count);
  std::vector<uint8_t> has_null(count);
  hash_keys(block, how.keys, how.key_flags, 0, block.rows, how.seed, hashes.data(),
            has_null.data());
  begin_.assign(size_t{how.partitions} + 2, 0);
  for (size_t row = 0; row < count; ++row) {
    uint32_t const partition = has_null[row] != 0
                                   ? how.partitions
                                   : kernels::partition_of_hash(hashes[row], how.partitions);
    hashes[row] = partition;
    ++begin_[partition + 1];
  }
  std::partial_sum(begin_.begin(), begin_.end(), begin_.begin());
  order_.resize(count);
  std::vector<uint32_t> next(begin_.begin(), begin_.end() - 1);
  for (size_t row = 0; row < count; ++row) order_[next[hashes[row]]++] = static_cast<uint32_t>(row);
}

}  // namespace gpujoin::pieces
