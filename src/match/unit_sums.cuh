// unit_sums.cuh: work units of partitions, counted and summed.
#pragma once

#include <cub/device/device_scan.cuh>

#include "kernels/match/count_units.cuh"
#include "src/base/device.hpp"
#include "src/base/launch.hpp"

namespace gpujoin::match {

// [partitions] inclusive sums of each partition's units, as Count has them. Queued on the stream.
template <typename Count>
base::Buffer sum_units(base::Context& context, const kernels::PartitionView& build,
                       const kernels::PartitionView& probe, uint32_t partitions, Count count) {
  base::Pool& pool = *context.device_pool;
  cudaStream_t const stream = base::stream_of(context);
  base::Buffer units =
      pool.allocate_rows<unsigned long long>(base::Memory::kDevice, partitions, "work units");
  auto* const ends = units.as<unsigned long long>();
  kernels::count_units_kernel<<<base::grid_of(partitions, kernels::kStreamThreads),
                                kernels::kStreamThreads, 0, stream>>>(build, probe, partitions,
                                                                      count, ends);
  base::check(cudaGetLastError(), "counting work units");
  size_t bytes = 0;
  base::check(cub::DeviceScan::InclusiveSum(nullptr, bytes, ends, ends, partitions, stream),
              "sizing the sum of work units");
  base::Buffer const storage = pool.allocate(base::Memory::kDevice, bytes, "scan storage");
  base::check(cub::DeviceScan::InclusiveSum(storage.data(), bytes, ends, ends, partitions, stream),
              "summing work units");
  return units;
}

}  // namespace gpujoin::match
