// count_units.cuh: work units of all partitions on the device, by any way to cut them.
#pragma once

#include "kernels/match/count_units.cuh"
#include "src/base/device.hpp"
#include "src/base/launch.hpp"
#include "src/match/unit_schedule.hpp"

namespace gpujoin::match {

// [partitions] inclusive sums of the units of each.
template <typename Count>
base::Buffer count_units(base::Queue& queue, const JoinedPartitions& joined, Count count) {
  base::Buffer unit_ends = queue.device_pool->allocate_rows<unsigned long long>(
      base::Memory::kDevice, joined.partitions(), "work units");
  kernels::count_units_kernel<<<1, kernels::kPartitionSumThreads, 0, base::stream_of(queue)>>>(
      joined.build_view, joined.probe_view, joined.partitions(), count,
      unit_ends.as<unsigned long long>());
  base::check(cudaGetLastError(), "counting work units");
  return unit_ends;
}

}  // namespace gpujoin::match
