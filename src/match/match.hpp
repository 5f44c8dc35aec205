// match.hpp: the match stage: pairs of equal keys. Each family writes through the same sink.
#pragma once

#include <cstdint>

#include "src/base/context.hpp"
#include "src/output/growing_pairs.hpp"

namespace gpujoin::match {

// One side's keys as a family wants them: prepared for the global table, partitioned for co-partitions, sorted for merge path.
struct MatchSide {
  const void* keys = nullptr;  // [rows]
  uint32_t rows = 0;
  const uint32_t* row_ids = nullptr;  // [rows] what to write for a position; null: the position
};

// Non-partitioned: one hash table in device memory.
void global_table(base::Context& context, int32_t key_width, const MatchSide& build,
                  const MatchSide& probe, output::GrowingPairs& pairs);

// Co-partitions: offsets are [2^radix_bits + 1] uint32 of each side, keys are mixed.
void co_partitions(base::Context& context, int32_t key_width, const MatchSide& build,
                   const uint32_t* build_offsets, const MatchSide& probe,
                   const uint32_t* probe_offsets, int32_t radix_bits, output::GrowingPairs& pairs);

// Merge path over keys that ascend as unsigned bit patterns.
void merge_path(base::Context& context, int32_t key_width, const MatchSide& build,
                const MatchSide& probe, output::GrowingPairs& pairs);

}  // namespace gpujoin::match
