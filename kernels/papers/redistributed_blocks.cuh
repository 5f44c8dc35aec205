// redistributed_blocks.cuh: thread blocks mapped to partitions in proportion to their rows, before
// the match begins
//
// Paper    Paul et al. 2020, section IV.B.1
// Differs  a partition's blocks share its longer side; the paper does not say which one they share
// In       rows of each partition on both sides, from the histogram or the bucket headers
// Out      blocks of a partition: at least one, at most one a batch, none where a side is empty;
//          the rows of each
// Launch   counted by count_units.cuh, cut by scheduled_units.cuh; the match has a block for each
//          block mapped, and no queue
// Moves    nothing: 16 bytes of offsets a block
//
// Blocks are handed out for `rows` rows each; a partition of n rows gets ceil(n / rows) of them, so
// the sum is at most all rows / `rows` + partitions: the host knows a grid that suffices without
// asking the device.
#pragma once

#include <cstdint>

#include "kernels/match/partition_rows.cuh"
#include "kernels/match/work_units.cuh"
#include "kernels/tuning.hpp"

namespace gpujoin::kernels {

struct RedistributedBlocks {
  uint64_t rows_of_block;
  __device__ unsigned long long operator()(uint32_t, uint64_t build_rows,
                                           uint64_t probe_rows) const {
    if (build_rows == 0 || probe_rows == 0) return 0;
    uint64_t const wanted = (build_rows + probe_rows + rows_of_block - 1) / rows_of_block;
    return min(wanted, (max(build_rows, probe_rows) + kCoPartitionBatch - 1) / kCoPartitionBatch);
  }
};

// The `within`-th of `blocks` blocks.
__device__ inline void cut_shares(const PartitionView& build, const PartitionView& probe,
                                  uint32_t partition, unsigned long long within,
                                  unsigned long long blocks, PartitionRows* build_rows,
                                  PartitionRows* probe_rows) {
  uint64_t const builds = rows_of_partition(build, partition);
  uint64_t const probes = rows_of_partition(probe, partition);
  uint64_t const longer = max(builds, probes);
  // Below 2^32 rows and 2^32 blocks, the products fit.
  auto const first = static_cast<uint32_t>(longer * within / blocks);
  auto const share = static_cast<uint32_t>(longer * (within + 1) / blocks) - first;
  bool const of_build = builds > probes;
  *build_rows = some_rows(build, partition, of_build ? first : 0,
                          of_build ? share : static_cast<uint32_t>(builds));
  *probe_rows = some_rows(probe, partition, of_build ? 0 : first,
                          of_build ? static_cast<uint32_t>(probes) : share);
}

// As the schedule says.
struct CutAnyWay {
  __device__ static void cut(const Schedule& schedule, const PartitionView& build,
                             const PartitionView& probe, uint32_t partition,
                             unsigned long long within, PartitionRows* build_rows,
                             PartitionRows* probe_rows) {
    if (schedule.cut == Cut::kChunks) {
      CutIntoChunks::cut(schedule, build, probe, partition, within, build_rows, probe_rows);
      return;
    }
    unsigned long long const first = partition == 0 ? 0 : schedule.unit_ends[partition - 1];
    cut_shares(build, probe, partition, within, schedule.unit_ends[partition] - first, build_rows,
               probe_rows);
  }
};

}  // namespace gpujoin::kernels
