// scheduled_units.cuh: which rows a block joins next
//
// Paper    one block a partition, pid += number of blocks: Rui & Tu 2017, Algorithm 3; the other
//          schedules name theirs
// In       a Schedule, by value among the kernel's arguments
// Out      a Unit in shared memory
// Needs    the block's first warp, all lanes
// Moves    32 candidates of 8 bytes for each factor 32 of partitions, from L2
#pragma once

#include <cstdint>

#include "kernels/match/schedule.hpp"
#include "kernels/match/work_units.cuh"
#include "kernels/output/pair_sink.hpp"

namespace gpujoin::kernels {

// The rows of both sides that a block joins, every one with every one.
struct Unit {
  unsigned long long number;  // kNoUnit: the block did none yet
  unsigned long long end;     // of the units of its partition, where a block does them all
  uint32_t partition;
  bool held_back;  // not for this launch; perhaps for none, being beyond the last one
  PartitionRows build;
  PartitionRows probe;
  uint32_t build_chunks;   // 0 where a side is empty
  uint32_t probe_batches;  // each of them with each chunk
  // Where to begin: at the first batch of the first chunk, unless the unit is taken up again.
  ResumePoint from;
};

// First partition whose unit_ends exceeds the unit; 32 candidates a step, by one warp.
__device__ inline uint32_t find_partition(const unsigned long long* unit_ends, uint32_t partitions,
                                          unsigned long long unit) {
  uint32_t low = 0;
  uint32_t count = partitions;  // the answer lies in [low, low + count)
  while (count > 1) {
    uint32_t const step = (count + 31) / 32;
    uint32_t const last = min(low + (threadIdx.x + 1) * step, low + count) - 1;
    bool const beyond = threadIdx.x * step >= count || unit_ends[last] > unit;
    uint32_t const first = __ffs(static_cast<int>(__ballot_sync(0xffffffffU, beyond))) - 1;
    uint32_t const next_low = low + first * step;
    count = min(step, low + count - next_low);
    low = next_low;
  }
  return low;
}

__device__ inline unsigned long long first_unit_of(const Schedule& schedule, uint32_t partition) {
  return partition == 0 ? schedule.first_unit : schedule.unit_ends[partition - 1];
}

// One thread fills the unit in. Cuts: of a partition that is cut, the rows of a unit.
template <typename Cuts>
__device__ inline void set_unit(const Schedule& schedule, const PartitionView& build,
                                const PartitionView& probe, uint32_t partition,
                                unsigned long long number, Unit& unit) {
  unit.number = number;
  unit.partition = partition;
  unit.held_back = false;
  if (schedule.cut == Cut::kWhole) {
    unit.build = some_rows(build, partition, 0, rows_of_partition(build, partition));
    unit.probe = some_rows(probe, partition, 0, rows_of_partition(probe, partition));
  } else {
    unsigned long long const first = first_unit_of(schedule, partition);
    Cuts::cut(schedule, build, probe, partition, number - first, &unit.build, &unit.probe);
  }
  unit.probe_batches = parts_of(unit.probe.rows, kCoPartitionBatch);
  unit.build_chunks =
      unit.probe_batches == 0 ? 0 : parts_of(unit.build.rows, kCoPartitionBuildRows);
}

// Units in the schedule's order. unit.number is the unit done before, kNoUnit at first; unit.from
// says which one to take up again.
template <typename Cuts>
struct ScheduledUnits {
  template <typename Join>
  __device__ static void next(const Join& join, Unit& unit) {
    Schedule const& schedule = join.schedule;
    unsigned long long number = 0;
    if (threadIdx.x == 0) {
      number = unit.from.unit;
      if (number != kNoUnit) {
        unit.from.unit = kNoUnit;
      } else {
        unit.from = {kNoUnit, 0, 0};
        unsigned long long const before = atomicAdd(join.sink.taken, 1ULL);
        if (schedule.taken_in_order) {
          number = schedule.first_unit + before;
        } else if (unit.number == kNoUnit) {
          number = schedule.first_unit + blockIdx.x;
        } else {
          number = unit.number + gridDim.x;
        }
      }
    }
    number = __shfl_sync(0xffffffffU, number, 0);
    bool const whole = schedule.unit_ends == nullptr;
    unsigned long long units =
        whole ? schedule.partitions : schedule.unit_ends[schedule.partitions - 1];
    units = min(units, join.sink.end_unit);
    if (number >= units) {
      if (threadIdx.x == 0) unit.number = number, unit.held_back = true;
      return;
    }
    uint32_t const partition =
        whole ? static_cast<uint32_t>(number)
              : find_partition(schedule.unit_ends, schedule.partitions, number);
    if (threadIdx.x == 0) set_unit<Cuts>(schedule, join.build, join.probe, partition, number, unit);
  }
};

}  // namespace gpujoin::kernels
