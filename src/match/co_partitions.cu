// co_partitions.cu: host side of the partitioned hash join's match.
#include <cub/device/device_scan.cuh>

#include <algorithm>

#include "kernels/match/co_partitions.cuh"
#include "src/base/device.hpp"
#include "src/base/launch.hpp"
#include "src/match/match.hpp"

namespace gpujoin::match {

namespace {

using base::check;
using base::Memory;
using base::stream_of;

// Inclusive sum of the partitions' work units.
base::Buffer unit_ends(base::Context& context, const uint32_t* build_offsets,
                       const uint32_t* probe_offsets, uint32_t partitions) {
  base::Pool& pool = *context.device_pool;
  base::Buffer units =
      pool.allocate_rows<unsigned long long>(Memory::kDevice, partitions, "work units");
  auto* ends = units.as<unsigned long long>();
  kernels::count_units_kernel<<<base::grid_of(partitions, kernels::kStreamThreads),
                                kernels::kStreamThreads, 0, stream_of(context)>>>(
      build_offsets, probe_offsets, partitions, ends);
  check(cudaGetLastError(), "counting work units");
  size_t bytes = 0;
  check(cub::DeviceScan::InclusiveSum(nullptr, bytes, ends, ends, partitions, stream_of(context)),
        "sizing the sum of work units");
  base::Buffer const storage = pool.allocate(Memory::kDevice, bytes, "scan storage");
  check(cub::DeviceScan::InclusiveSum(storage.data(), bytes, ends, ends, partitions,
                                      stream_of(context)),
        "summing work units");
  return units;
}

template <typename Key>
void run(base::Context& context, const MatchSide& build, const uint32_t* build_offsets,
         const MatchSide& probe, const uint32_t* probe_offsets, int32_t radix_bits,
         output::GrowingPairs& pairs) {
  uint32_t const partitions = 1U << radix_bits;
  base::Buffer const ends = unit_ends(context, build_offsets, probe_offsets, partitions);

  auto const kernel = kernels::match_co_partitions_kernel<Key>;
  constexpr size_t kShared = sizeof(kernels::CoPartitionShared<Key>);
  check(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                             static_cast<int>(kShared)),
        "asking for shared memory of the co-partitions kernel");
  int blocks_per_sm = 0;
  check(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks_per_sm, kernel,
                                                      kernels::kCoPartitionThreads, kShared),
        "asking for the occupancy of the co-partitions kernel");
  auto const resident = static_cast<uint32_t>(context.facts.sm_count * std::max(blocks_per_sm, 1));
  // Units are not known here, but there is at least one a probe chunk, and rarely more than one a partition beyond that.
  uint64_t const likely_units = partitions + uint64_t{probe.rows} / kernels::kCoPartitionProbeRows +
                                uint64_t{build.rows} / kernels::kCoPartitionBuildRows;
  auto const grid = static_cast<uint32_t>(std::min<uint64_t>(resident, likely_units));

  kernels::CoPartitions<Key> args{};
  args.build_keys = static_cast<const Key*>(build.keys);
  args.probe_keys = static_cast<const Key*>(probe.keys);
  args.build_offsets = build_offsets;
  args.probe_offsets = probe_offsets;
  args.unit_ends = ends.as<unsigned long long>();
  args.partitions = partitions;
  args.radix_bits = radix_bits;
  args.resume = pairs.resume_points(grid);
  do {
    context.check_cancelled();
    args.sink = pairs.sink();
    args.sink.build_row_ids = build.row_ids;
    args.sink.probe_row_ids = probe.row_ids;
    kernel<<<grid, kernels::kCoPartitionThreads, kShared, stream_of(context)>>>(args);
    check(cudaGetLastError(), "joining co-partitions");
  } while (!pairs.collect(likely_units));
}

}  // namespace

void co_partitions(base::Context& context, const plan::JoinPlan& plan, int32_t key_width,
                   const MatchSide& build, const kernels::PartitionView& build_partitions,
                   const MatchSide& probe, const kernels::PartitionView& probe_partitions,
                   output::GrowingPairs& pairs) {
  if (build.rows == 0 || probe.rows == 0) return;
  base::with_key_type(key_width, [&](auto zero) {
    run<decltype(zero)>(context, build, build_partitions.offsets, probe, probe_partitions.offsets,
                        plan.radix_bits, pairs);
  });
}

}  // namespace gpujoin::match
