// count_units.cuh: work units of all partitions on the device, by any way to cut them.
#pragma once

#include "kernels/match/count_units.cuh"
#include "src/base/device.hpp"
#include "src/base/launch.hpp"
#include "src/match/carried_columns.hpp"

namespace gpujoin::match {

// [partitions] inclusive sums of the units of each.
template <typename Count>
base::Buffer count_units(base::Queue& queue, const kernels::PartitionView& build,
                         const kernels::PartitionView& probe, uint32_t partitions, Count count) {
  base::Buffer unit_ends = queue.device_pool->allocate_rows<unsigned long long>(
      base::Memory::kDevice, partitions, "work units");
  unsigned const blocks = base::grid_of(partitions, kernels::kPartitionSumTile);
  kernels::count_units_kernel<<<blocks, kernels::kPartitionSumThreads, 0, base::stream_of(queue)>>>(
      build, probe, partitions, count, unit_ends.as<unsigned long long>());
  base::check(cudaGetLastError(), "counting work units");
  return unit_ends;
}

// Of contiguous partitions.
template <typename Count>
base::Buffer count_units(base::Queue& queue, const CarriedSide& build, const CarriedSide& probe,
                         uint32_t partitions, Count count) {
  kernels::PartitionView build_view{};
  kernels::PartitionView probe_view{};
  build_view.offsets = build.offsets;
  probe_view.offsets = probe.offsets;
  return count_units(queue, build_view, probe_view, partitions, count);
}

}  // namespace gpujoin::match
