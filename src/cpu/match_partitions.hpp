// match_partitions.hpp: each build partition's table, and its probe partition against it.
//
// A partition is one task. A heavy one is several: its probe rows are cut into chunks, and where
// build keys have very many duplicates the runs of equal keys are cut into segments, so that a
// single key cannot keep one thread busy while the others wait (Balkesen et al., ICDE 2013, section
// IV, splits by partitions only). The table is built once and shared.
#pragma once

#include <cstdint>
#include <vector>

#include "src/cpu/batch_filter.hpp"
#include "src/cpu/match_sink.hpp"
#include "src/cpu/radix_partition.hpp"
#include "src/cpu/workers.hpp"

namespace gpujoin::cpu {

// All matches that pass the filter, to the workers' sinks.
void match_partitions(base::Queue& queue, Workers& workers, const PartitionedRows& build,
                      const PartitionedRows& probe, const MatchFilter& filter, MatchSinks& sinks);

// The number of matches, before any is filtered.
uint64_t count_partitions_matches(base::Queue& queue, Workers& workers,
                                  const PartitionedRows& build, const PartitionedRows& probe);

}  // namespace gpujoin::cpu
