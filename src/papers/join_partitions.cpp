// join_partitions.cpp: the join of partitions by any finder, skew technique and output.
#include <algorithm>

#include "kernels/tuning.hpp"
#include "src/papers/counted_units.hpp"
#include "src/papers/estimated_groups.hpp"
#include "src/papers/paged_pairs.hpp"
#include "src/papers/papers.hpp"
#include "src/papers/partition_launches.hpp"
#include "src/papers/skew_schedule.hpp"

namespace gpujoin::papers {

namespace {

void paged(base::Queue& queue, const plan::JoinPlan& plan,
           const PartitionLaunch<kernels::PageSink>& launch, output::GrowingPairs& pairs) {
  PagedPairs pages(queue, plan, launch.blocks, kernels::kCoPartitionThreads, pairs);
  do {
    queue.check_cancelled();
    launch.run(pages.sink(), nullptr);
  } while (!pages.collect());
}

void two_passes(base::Queue& queue, const PartitionLaunch<kernels::UnitSink>& counting,
                const PartitionLaunch<kernels::UnitSink>& placing, uint64_t unit_bound,
                output::GrowingPairs& pairs) {
  CountedUnits units(queue, unit_bound, pairs);
  counting.run(units.counting_sink(), nullptr);
  queue.check_cancelled();
  placing.run(units.placing_sink(), nullptr);
}

void estimated_groups(base::Queue& queue, const plan::JoinPlan& plan,
                      const JoinedPartitions& joined, const UnitSchedule& schedule,
                      output::GrowingPairs& pairs) {
  auto const launch = launch_groups(queue, joined, schedule);
  PartitionSizes const sizes{
      joined.build_view.offsets, joined.probe_view.offsets, schedule.on_device().unit_ends,
      joined.partitions(),       joined.build.rows,         joined.probe.rows};
  kernels::ResumePoint* const resume = pairs.resume_points(launch.blocks);
  EstimatedGroups groups(queue, sizes,
                         static_cast<uint64_t>(std::max<int64_t>(plan.expected_rows, 0)), pairs);
  do {
    queue.check_cancelled();
    launch.run(groups.sink(), resume);
  } while (!groups.collect());
}

}  // namespace

void join_partitions(base::Queue& queue, const plan::JoinPlan& plan, const JoinedPartitions& joined,
                     output::GrowingPairs& pairs) {
  SkewSchedule const schedule(queue, plan.skew, joined);
  bool const children = plan.skew == plan::Skew::kChildKernels;
  switch (plan.output) {
    case plan::Output::kThreadPages:
      paged(queue, plan,
            (children ? launch_thread_pages_with_children : launch_thread_pages)(queue, joined,
                                                                                 schedule),
            pairs);
      break;
    case plan::Output::kBlockChunks:
      paged(queue, plan,
            (children ? launch_block_chunks_with_children : launch_block_chunks)(queue, joined,
                                                                                 schedule),
            pairs);
      break;
    case plan::Output::kTwoPasses:
      two_passes(
          queue,
          (children ? launch_counting_with_children : launch_counting)(queue, joined, schedule),
          (children ? launch_placing_with_children : launch_placing)(queue, joined, schedule),
          schedule.unit_bound(queue), pairs);
      break;
    case plan::Output::kEstimatedGroups:
      estimated_groups(queue, plan, joined, schedule, pairs);
      break;
    case plan::Output::kGrown:
    case plan::Output::kCounted:  // of merges only: why_illegal says so
      match::run_grown(queue, launch_grown_by_finder(queue, joined, schedule),
                       schedule.likely_units(), pairs);
      break;
  }
}

}  // namespace gpujoin::papers
