// work_units.cuh: partitions cut into chunks of both sides, so that skew on either side spreads
// over blocks
//
// Source   ours; takes the place of Rui & Tu 3.2.3, Paul et al. IV.B.1 and the re-partitioning of
//          Wu et al. 4.3
// In       rows of each partition on both sides
// Out      work units of a partition: one where both sides fit a chunk, none where one is empty;
//          the rows of each
// Launch   counted by count_units.cuh, cut by scheduled_units.cuh
// Moves    nothing: 16 bytes of offsets a unit
#pragma once

#include <cstdint>

#include "kernels/match/partition_rows.cuh"
#include "kernels/match/schedule.hpp"
#include "kernels/tuning.hpp"

namespace gpujoin::kernels {

// How many chunks of so many rows it takes; with rows + chunk the sum could pass 32 bits.
__device__ inline uint32_t parts_of(uint32_t rows, uint32_t chunk) {
  return rows / chunk + (rows % chunk != 0 ? 1 : 0);
}

// Rows from `first` on that a chunk of `chunk` rows has.
__device__ inline uint32_t chunk_rows(uint32_t rows, uint32_t first, uint32_t chunk) {
  return min(rows - first, chunk);
}

// The `within`-th unit of a partition.
struct CutIntoChunks {
  __device__ static void cut(const Schedule&, const PartitionView& build,
                             const PartitionView& probe, uint32_t partition,
                             unsigned long long within, PartitionRows* build_rows,
                             PartitionRows* probe_rows) {
    uint32_t const builds = rows_of_partition(build, partition);
    uint32_t const probes = rows_of_partition(probe, partition);
    uint32_t const chunks = parts_of(builds, kCoPartitionBuildRows);
    auto const build_first = static_cast<uint32_t>(within % chunks) * kCoPartitionBuildRows;
    auto const probe_first = static_cast<uint32_t>(within / chunks) * kCoPartitionProbeRows;
    *build_rows = some_rows(build, partition, build_first,
                            chunk_rows(builds, build_first, kCoPartitionBuildRows));
    *probe_rows = some_rows(probe, partition, probe_first,
                            chunk_rows(probes, probe_first, kCoPartitionProbeRows));
  }
};

struct WorkUnits {
  __device__ unsigned long long operator()(uint32_t, uint64_t build_rows,
                                           uint64_t probe_rows) const {
    return (build_rows + kCoPartitionBuildRows - 1) / kCoPartitionBuildRows *
           ((probe_rows + kCoPartitionProbeRows - 1) / kCoPartitionProbeRows);
  }
};

}  // namespace gpujoin::kernels
