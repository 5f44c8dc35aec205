// key_columns.hpp: keys of several columns: joined by a hash of all of them, then verified.
//
// The hash of 8 bytes is a key column like any other to the partition and the match; a row with a
// NULL in any key column has a NULL there. Different keys hardly ever have the same hash
// (kernels/keys/column_hash.hpp), but they may: a batch of matches is held against the columns
// themselves before it is written.
#pragma once

#include <cstdint>
#include <span>

#include "src/base/memory.hpp"
#include "src/base/queue.hpp"
#include "src/columns/column.hpp"
#include "src/cpu/packed_field.hpp"
#include "src/cpu/probe_partition.hpp"
#include "src/cpu/workers.hpp"

namespace gpujoin::cpu {

struct HashedKeys {
  columns::ColumnView view;
  base::Buffer hashes;
  base::Buffer valid_bits;  // empty: no NULLs
};

// Of the key columns of one side.
HashedKeys hash_keys(base::Queue& queue, Workers& workers, const columns::Relation& relation,
                     std::span<const int32_t> keys);

// A build and a probe key column, of equal widths.
struct ComparedColumns {
  const columns::ColumnView* build = nullptr;
  const columns::ColumnView* probe = nullptr;
};

// Leaves in the batch the matches whose key columns are equal: those that the packed rows of either
// side carry, or of the row number, where rows carry nothing else, so that it is what a match holds
// besides its key.
void drop_unequal(std::span<const ComparedColumns> keys, const PartitionRows& build,
                  const PartitionRows& probe, MatchBatch<uint64_t>& batch);

}  // namespace gpujoin::cpu
