// carried_schedule.cuh: the units of a launch of the join that writes columns, before it
//
// Source   ours
// In       offsets of both sides' partitions, aligned to 16 bytes; CarriedUnits
// Out      ends[partitions], the inclusive sums of the units of each; *heavy_rows; left_now[],
//          cleared
// Needs    as count_units.cuh
// Launch   one block of kPartitionSumThreads, as count_units.cuh, dependent
// Moves    24 bytes a partition, 16 more where heavy keys are cut finer, and one of each left[]
//          (traffic::count_units)
#pragma once

#include <cstdint>

#include "kernels/dependent_launch.cuh"
#include "kernels/match/carried_units.cuh"
#include "kernels/match/count_units.cuh"
#include "kernels/tuning.hpp"

namespace gpujoin::kernels {

// heavy_rows: probe rows of a unit of a partition with a heavy key, where those are cut finer.
// left_now: null, or the partitions that this launch leaves.
__global__ void __launch_bounds__(kPartitionSumThreads)
    carried_units_kernel(PartitionView build, PartitionView probe, uint32_t partitions,
                         CarriedUnits count, uint32_t* __restrict__ heavy_rows,
                         unsigned long long* __restrict__ ends, uint8_t* __restrict__ left_now) {
  let_next_kernel_start();
  await_last_kernel();
  if (heavy_rows != nullptr) {
    unsigned long long const heavy =
        sum_units(build, probe, partitions, HeavyUnits{count.left}, nullptr);
    count.heavy_rows = heavy_unit_rows(heavy);
    if (threadIdx.x == 0) *heavy_rows = count.heavy_rows;
  }
  sum_units(build, probe, partitions, count, ends);
  if (left_now == nullptr) return;
  for (uint32_t i = threadIdx.x; i < partitions; i += kPartitionSumThreads) left_now[i] = 0;
}

}  // namespace gpujoin::kernels
