// carried_schedule.cuh: the units of a launch of the join that writes columns, before it
//
// Source   ours
// In       offsets of both sides' partitions; CarriedUnits
// Out      ends[partitions], the inclusive sums of the units of each; *heavy_rows; left_now[],
//          cleared
// Needs    as count_units.cuh
// Launch   as count_units.cuh, dependent
// Moves    as count_units.cuh; all of it once more for each block where heavy keys are cut finer,
//          from L2; a byte of each left[] (traffic::count_units)
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
  uint32_t const first = blockIdx.x * kPartitionSumTile;
  uint32_t const end = min(first + kPartitionSumTile, partitions);
  if (heavy_rows != nullptr) {
    unsigned long long const heavy =
        units_between(build, probe, 0, partitions, HeavyUnits{count.left});
    count.heavy_rows = heavy_unit_rows(heavy);
    if (blockIdx.x == 0 && threadIdx.x == 0) *heavy_rows = count.heavy_rows;
  }
  sum_units(build, probe, partitions, count, ends);
  if (left_now == nullptr) return;
  for (uint32_t i = first + threadIdx.x; i < end; i += kPartitionSumThreads) left_now[i] = 0;
}

}  // namespace gpujoin::kernels
