// co_partitions.cpp: the join of partitions, by the plan's finder, skew technique and output.
#include <algorithm>

#include "kernels/tuning.hpp"
#include "src/match/match.hpp"
#include "src/match/partition_launch.hpp"
#include "src/match/unit_schedule.hpp"
#include "src/output/counted_units.hpp"
#include "src/output/estimated_groups.hpp"
#include "src/output/paged_pairs.hpp"

namespace gpujoin::match {

namespace {

void grown(base::Context& context, const JoinedPartitions& joined, const UnitSchedule& schedule,
           output::GrowingPairs& pairs) {
  auto const launch = launch_grown(context, joined, schedule);
  kernels::ResumePoint* const resume = pairs.resume_points(launch.blocks);
  do {
    context.check_cancelled();
    launch.run(pairs.sink(), resume);
  } while (!pairs.collect(schedule.likely_units()));
}

void paged(base::Context& context, const plan::JoinPlan& plan,
           const PartitionLaunch<kernels::PageSink>& launch, output::GrowingPairs& pairs) {
  output::PagedPairs pages(context, plan, launch.blocks, kernels::kCoPartitionThreads, pairs);
  do {
    context.check_cancelled();
    launch.run(pages.sink(), nullptr);
  } while (!pages.collect());
}

void two_passes(base::Context& context, const PartitionLaunch<kernels::UnitSink>& counting,
                const PartitionLaunch<kernels::UnitSink>& placing, uint64_t unit_bound,
                output::GrowingPairs& pairs) {
  output::CountedUnits units(context, unit_bound, pairs);
  counting.run(units.counting_sink(), nullptr);
  context.check_cancelled();
  placing.run(units.placing_sink(), nullptr);
}

void estimated_groups(base::Context& context, const plan::JoinPlan& plan,
                      const JoinedPartitions& joined, const UnitSchedule& schedule,
                      output::GrowingPairs& pairs) {
  auto const launch = launch_groups(context, joined, schedule);
  output::PartitionSizes const sizes{
      joined.build_view.offsets, joined.probe_view.offsets, schedule.on_device().unit_ends,
      joined.partitions(),       joined.build.rows,         joined.probe.rows};
  kernels::ResumePoint* const resume = pairs.resume_points(launch.blocks);
  output::EstimatedGroups groups(
      context, sizes, static_cast<uint64_t>(std::max<int64_t>(plan.expected_rows, 0)), pairs);
  do {
    context.check_cancelled();
    launch.run(groups.sink(), resume);
  } while (!groups.collect());
}

}  // namespace

void co_partitions(base::Context& context, const plan::JoinPlan& plan, int32_t key_width,
                   const MatchSide& build, const kernels::PartitionView& build_partitions,
                   const MatchSide& probe, const kernels::PartitionView& probe_partitions,
                   output::GrowingPairs& pairs) {
  if (build.rows == 0 || probe.rows == 0) return;
  JoinedPartitions const joined{plan.match, key_width,        plan.radix_bits, build,
                                probe,      build_partitions, probe_partitions};
  UnitSchedule const schedule(context, plan.skew, joined);
  bool const children = plan.skew == plan::Skew::kChildKernels;
  switch (plan.output) {
    case plan::Output::kThreadPages:
      paged(context, plan,
            (children ? launch_thread_pages_with_children : launch_thread_pages)(context, joined,
                                                                                 schedule),
            pairs);
      break;
    case plan::Output::kBlockChunks:
      paged(context, plan,
            (children ? launch_block_chunks_with_children : launch_block_chunks)(context, joined,
                                                                                 schedule),
            pairs);
      break;
    case plan::Output::kTwoPasses:
      two_passes(
          context,
          (children ? launch_counting_with_children : launch_counting)(context, joined, schedule),
          (children ? launch_placing_with_children : launch_placing)(context, joined, schedule),
          schedule.unit_bound(context), pairs);
      break;
    case plan::Output::kEstimatedGroups:
      estimated_groups(context, plan, joined, schedule, pairs);
      break;
    case plan::Output::kGrown:
    case plan::Output::kCounted:  // of merges only: why_illegal says so
      grown(context, joined, schedule, pairs);
      break;
  }
}

}  // namespace gpujoin::match
