// match_sorted.hpp: sides that lie in the order of their keys, merged where they lie.
//
// Source   the merge of a sort-merge join; cut into ranges that need no other (as Albutiu et al.,
//          VLDB 2012, cut runs)
//
// Tables lie in the order in which they were filled, and so, often, in that of their primary key,
// as rows of details do beside it. A pass over both keys says so; it ends at the first row out of
// order. No row is moved then: keys, payloads and what is written are gone through from one end to
// the other.
#pragma once

#include <cstdint>
#include <optional>

#include "src/columns/column.hpp"
#include "src/cpu/batch_filter.hpp"
#include "src/cpu/match_sink.hpp"
#include "src/cpu/radix_partition.hpp"
#include "src/cpu/workers.hpp"

namespace gpujoin::cpu {

// How both sides' keys ascend.
struct KeyOrder {
  bool is_signed = false;  // as signed numbers, else as unsigned ones
  bool are_build_keys_unique = false;
};

// None where a row of either side is out of order, has no key (NULL), or there is no row. keys: of
// 4 or 8 bytes, of one width.
std::optional<KeyOrder> find_key_order(Workers& workers, const columns::ColumnView& build_key,
                                       uint64_t build_rows, const columns::ColumnView& probe_key,
                                       uint64_t probe_rows);

// As match_partitions and count_partitions_matches. Both sides: in this order, laid out with row
// numbers alone, so that a row would be an entry; no row is moved.
void match_sorted(Workers& workers, KeyOrder order, const PartitionedRows& build,
                  const PartitionedRows& probe, const MatchFilter& filter, MatchSinks& sinks);
uint64_t count_sorted_matches(Workers& workers, KeyOrder order, const PartitionedRows& build,
                              const PartitionedRows& probe);

}  // namespace gpujoin::cpu
