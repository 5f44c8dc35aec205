// carried_units.hpp: work units of a join that writes columns.
#pragma once

#include <cstdint>

#include "kernels/match/partition_view.hpp"
#include "src/base/queue.hpp"

namespace gpujoin::match {

struct CountedUnits {
  const uint8_t* only = nullptr;   // [partitions] not 0: those that count; null: all
  uint32_t unit_rows = 0;          // of the probe side
  uint32_t* heavy_rows = nullptr;  // out, where partitions with a heavy key are cut finer; or null
  uint8_t* left = nullptr;         // [partitions] to be cleared, or null
};

// Queued: ends[partitions], the inclusive sums of the units of each.
void count_carried_units(base::Queue& queue, const kernels::PartitionView& build,
                         const kernels::PartitionView& probe, uint32_t partitions,
                         const CountedUnits& counted, unsigned long long* ends);

}  // namespace gpujoin::match
