// sets_in_place.hpp: rows of a side that have a match, or that have none, where a side is not
// moved, since the other one is small or has dense keys.
//
// Either side's keys may be the table. Of the other side's: the rows are asked where they lie, and
// come out in their order, with their columns next to each other. Of the rows' own: the other
// side's keys go past it and mark those that they find, which the rows then ask for. Either takes
// one look a row: of a key that repeats one entry stands for all.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "src/base/queue.hpp"
#include "src/cpu/batch_values.hpp"
#include "src/cpu/key_bits.hpp"
#include "src/cpu/key_columns.hpp"
#include "src/cpu/output_rows.hpp"
#include "src/cpu/radix_partition.hpp"
#include "src/cpu/workers.hpp"

namespace gpujoin::cpu {

// Which rows of a side come out, and where to. A side is of pack_side, or streamed, as of
// match_streamed: an entry is a key and its row's number.
struct SetOfSide {
  bool with_match = true;  // false: those without one
  const PartitionedRows& side;
  const std::vector<OutputSource>& sources;  // of `side`, as the probe side
  OutputRows& output;
};

// side: streamed; other: packed. verified: as of match_partitions, with the packed side as the
// build side.
void set_by_table_of_other(base::Queue& queue, Workers& workers, const SetOfSide& set,
                           const PartitionedRows& other, std::span<const ComparedColumns> verified);
// other: what keys there are of it.
void set_by_bits_of_other(base::Queue& queue, Workers& workers, const SetOfSide& set,
                          const KeyBits& other);
// side: packed, with row numbers; other: streamed. Throws MEMORY_LIMIT.
void set_by_own_table(base::Queue& queue, Workers& workers, const SetOfSide& set,
                      const PartitionedRows& other, std::span<const ComparedColumns> verified);

}  // namespace gpujoin::cpu
