// unit_schedule.cu: work units of partitions, counted and summed.
#include "src/match/unit_schedule.hpp"

#include <algorithm>

#include "kernels/match/count_units.cuh"
#include "kernels/match/redistributed_blocks.cuh"
#include "kernels/match/work_units.cuh"
#include "src/base/device.hpp"
#include "src/base/launch.hpp"

namespace gpujoin::match {

using base::check;
using base::Memory;
using base::stream_of;

UnitSchedule::UnitSchedule(base::Context& context, plan::Skew skew, const JoinedPartitions& joined)
    : skew_(skew) {
  schedule_.partitions = joined.partitions();
  likely_units_ = schedule_.partitions;
  switch (skew) {
    case plan::Skew::kNone:
      schedule_.cut = kernels::Cut::kWhole;
      break;
    case plan::Skew::kWorkUnits:
      schedule_.taken_in_order = true;
      cut_into_chunks(context, joined);
      break;
    case plan::Skew::kRedistributedBlocks:
      cut_into_shares(context, joined);
      break;
    case plan::Skew::kChildKernels:
      cut_into_chunks(context, joined);
      children_ = context.device_pool->allocate_rows<kernels::ChildCounts>(
          Memory::kDevice, 1, "counts of child kernels");
      check(cudaMemsetAsync(children_.data(), 0, sizeof(kernels::ChildCounts), stream_of(context)),
            "starting the counts of child kernels");
      schedule_.children = children_.as<kernels::ChildCounts>();
      break;
  }
}

void UnitSchedule::cut_into_chunks(base::Context& context, const JoinedPartitions& joined) {
  schedule_.cut = kernels::Cut::kChunks;
  // Units are not known here: about one a chunk of either side, and rarely more than one a
  // partition beyond that. For foresight and the size of the grid.
  likely_units_ += uint64_t{joined.probe.rows} / kernels::kCoPartitionProbeRows +
                   uint64_t{joined.build.rows} / kernels::kCoPartitionBuildRows;
  count_units(context, joined, kernels::WorkUnits{});
}

void UnitSchedule::cut_into_shares(base::Context& context, const JoinedPartitions& joined) {
  schedule_.cut = kernels::Cut::kShares;
  uint64_t const rows = uint64_t{joined.build.rows} + joined.probe.rows;
  auto const blocks = static_cast<uint64_t>(context.facts.sm_count) *
                      kernels::kCoPartitionBlocksPerSm * kernels::kRedistributedWaves;
  uint64_t const rows_of_block = std::max<uint64_t>((rows + blocks - 1) / blocks, 1);
  likely_units_ += rows / rows_of_block;
  count_units(context, joined, kernels::RedistributedBlocks{rows_of_block});
}

template <typename Count>
void UnitSchedule::count_units(base::Context& context, const JoinedPartitions& joined,
                               Count count) {
  unit_ends_ = context.device_pool->allocate_rows<unsigned long long>(
      Memory::kDevice, schedule_.partitions, "work units");
  kernels::count_units_kernel<<<1, kernels::kPartitionSumThreads, 0, stream_of(context)>>>(
      joined.build_view, joined.probe_view, schedule_.partitions, count,
      unit_ends_.as<unsigned long long>());
  check(cudaGetLastError(), "counting work units");
  schedule_.unit_ends = unit_ends_.as<unsigned long long>();
}

uint32_t UnitSchedule::blocks(uint32_t resident) const {
  // The likely units of redistributed blocks are their most: each has a block of its own.
  uint64_t const most = skew_ == plan::Skew::kRedistributedBlocks ? likely_units_ : resident;
  uint64_t const busy =
      skew_ == plan::Skew::kChildKernels ? uint64_t{schedule_.partitions} : likely_units_;
  return static_cast<uint32_t>(std::clamp<uint64_t>(busy, 1, most));
}

uint64_t UnitSchedule::unit_bound(base::Context& context) const {
  if (schedule_.cut != kernels::Cut::kChunks) return likely_units_;
  return base::read_back(context, schedule_.unit_ends + schedule_.partitions - 1);
}

kernels::ChildCounts UnitSchedule::children(base::Context& context) const {
  if (schedule_.children == nullptr) return {};
  return base::read_back(context, static_cast<const kernels::ChildCounts*>(schedule_.children));
}

}  // namespace gpujoin::match
