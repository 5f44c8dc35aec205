// skew_schedule.cu: blocks redistributed to partitions, and partitions left to child kernels.
#include "src/papers/skew_schedule.hpp"

#include <algorithm>

#include "kernels/papers/redistributed_blocks.cuh"
#include "src/base/device.hpp"
#include "src/match/count_units.cuh"

namespace gpujoin::papers {

namespace {

// What the technique begins with.
plan::Skew basis_of(plan::Skew skew) {
  switch (skew) {
    case plan::Skew::kRedistributedBlocks:
      return plan::Skew::kNone;
    case plan::Skew::kChildKernels:
      return plan::Skew::kWorkUnits;
    default:
      return skew;
  }
}

}  // namespace

SkewSchedule::SkewSchedule(base::Queue& queue, plan::Skew skew,
                           const match::JoinedPartitions& joined)
    : UnitSchedule(queue, basis_of(skew), joined) {
  if (skew == plan::Skew::kRedistributedBlocks) cut_into_shares(queue, joined);
  if (skew == plan::Skew::kChildKernels) count_children(queue);
}

void SkewSchedule::cut_into_shares(base::Queue& queue, const match::JoinedPartitions& joined) {
  schedule_.cut = kernels::Cut::kShares;
  uint64_t const rows = uint64_t{joined.build.rows} + joined.probe.rows;
  auto const blocks = static_cast<uint64_t>(queue.context.facts.sm_count) *
                      kernels::kCoPartitionBlocksPerSm * kernels::kRedistributedWaves;
  uint64_t const rows_of_block = std::max<uint64_t>((rows + blocks - 1) / blocks, 1);
  // Their most, and each has a block of its own.
  likely_units_ += rows / rows_of_block;
  busy_blocks_ = likely_units_;
  has_block_for_each_ = true;
  unit_ends_ = match::count_units(queue, joined.build_view, joined.probe_view, joined.partitions(),
                                  kernels::RedistributedBlocks{rows_of_block});
  schedule_.unit_ends = unit_ends_.as<unsigned long long>();
}

void SkewSchedule::count_children(base::Queue& queue) {
  schedule_.taken_in_order = false;
  busy_blocks_ = schedule_.partitions;
  children_ = queue.device_pool->allocate_rows<kernels::ChildCounts>(base::Memory::kDevice, 1,
                                                                     "counts of child kernels");
  base::check(
      cudaMemsetAsync(children_.data(), 0, sizeof(kernels::ChildCounts), base::stream_of(queue)),
      "starting the counts of child kernels");
  schedule_.children = children_.as<kernels::ChildCounts>();
}

kernels::ChildCounts SkewSchedule::children(base::Queue& queue) const {
  if (schedule_.children == nullptr) return {};
  return base::read_back(queue, static_cast<const kernels::ChildCounts*>(schedule_.children));
}

}  // namespace gpujoin::papers
