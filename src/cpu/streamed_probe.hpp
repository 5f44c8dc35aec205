// streamed_probe.hpp: probe rows looked up where they lie, in one table of a small build side, or
// in the tables of all partitions of a larger one.
//
// A table that a core's second cache holds needs no partitions (Kim et al., VLDB 2009, section 5,
// moves both sides so that tables are as small): then keys of the probe side are read where they
// lie (where some are NULL, the others and their row numbers are packed, a few thousand at a time),
// and payloads of rows with a match, next to each other. Of a larger build side looking up costs
// more than partitions do; but matches come in the order of the probe side, whose text is then
// fetched from neighbours.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "src/cpu/batch_filter.hpp"
#include "src/cpu/key_bits.hpp"
#include "src/cpu/match_sink.hpp"
#include "src/cpu/radix_partition.hpp"
#include "src/cpu/workers.hpp"

namespace gpujoin::cpu {

// Whether it is faster than partitions. is_hashed: keys are hashes, and each row that is found is
// read where the relation has it, too: of the probe side from neighbours then.
bool streams_probe(uint64_t build_rows, uint64_t probe_rows, bool is_hashed);

// All rows of the side as one partition. expected: layout and input_rows are set.
void pack_side(base::Queue& queue, PartitionedRows& side);

// Tables of all partitions, for any number of probe sides.
class KeptTables {
 public:
  virtual ~KeptTables() = default;
  // No key comes twice; false: it is not known.
  virtual bool are_keys_unique() const = 0;
};
std::unique_ptr<const KeptTables> keep_tables(base::Queue& queue, Workers& workers,
                                              const PartitionedRows& build);

// As match_partitions and count_partitions_matches. build: of pack_side, or partitioned; probe:
// laid out with row numbers alone, so that a row would be an entry; its rows are not moved. Of
// partitions a row of the build side is an entry, too. tables: those of the build side, or null:
// none were kept.
void match_streamed(base::Queue& queue, Workers& workers, const PartitionedRows& build,
                    const KeptTables* tables, const PartitionedRows& probe,
                    const MatchFilter& filter, MatchSinks& sinks);
uint64_t count_streamed_matches(base::Queue& queue, Workers& workers, const PartitionedRows& build,
                                const PartitionedRows& probe);

// The rows of a probe side, as above, whose keys are among those of the build side. That one is
// laid out as the probe side is, or placed (key_places.hpp); no row of it comes out where the keys
// do not keep them.
void match_key_bits(base::Queue& queue, Workers& workers, const KeyBits& keys,
                    const PartitionedRows& build, const PartitionedRows& probe,
                    const MatchFilter& filter, MatchSinks& sinks);

}  // namespace gpujoin::cpu
