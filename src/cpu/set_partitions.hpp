// set_partitions.hpp: rows of one side of partitions that have a match, or that have none: semi and
// anti joins, which need no pair. A row's search ends with its first match, so that neither time
// nor memory grows with how often keys repeat.
#pragma once

#include <span>
#include <vector>

#include "src/base/queue.hpp"
#include "src/cpu/batch_writer.hpp"
#include "src/cpu/key_columns.hpp"
#include "src/cpu/output_rows.hpp"
#include "src/cpu/radix_partition.hpp"
#include "src/cpu/workers.hpp"

namespace gpujoin::cpu {

// with_match: whether rows come out that have a match, or those that have none. verified: as of
// match_partitions, with `other` as the build side. sources: of `side`, as the probe side.
void set_partitions(base::Queue& queue, Workers& workers, bool with_match,
                    const PartitionedRows& other, const PartitionedRows& side,
                    std::span<const ComparedColumns> verified,
                    const std::vector<OutputSource>& sources, OutputRows& output);

}  // namespace gpujoin::cpu
