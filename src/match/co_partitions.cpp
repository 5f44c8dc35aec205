// co_partitions.cpp: the join of partitions, by the plan's finder, skew technique and output.
#include "src/match/match.hpp"
#include "src/match/partition_launch.hpp"
#include "src/match/unit_schedule.hpp"
#include "src/papers/papers.hpp"

namespace gpujoin::match {

namespace {

template <typename Sink, typename MakeSink>
void run_until_written(base::Queue& queue, const PartitionLaunch<Sink>& launch, MakeSink make_sink,
                       uint64_t units, output::GrowingPairs& pairs) {
  kernels::ResumePoint* const resume = pairs.resume_points(launch.blocks);
  do {
    queue.check_cancelled();
    launch.run(make_sink(), resume);
  } while (!pairs.collect(units));
}

bool is_of_papers(const plan::JoinPlan& plan) {
  return plan::is_of_papers(plan.match) || plan::is_of_papers(plan.skew) ||
         plan::is_of_papers(plan.output, plan.gather);
}

}  // namespace

void run_grown(base::Queue& queue, const PartitionLaunch<kernels::PairSink>& launch, uint64_t units,
               output::GrowingPairs& pairs) {
  auto const sink = [&] { return pairs.sink(); };
  run_until_written(queue, launch, sink, units, pairs);
}

bool asks_pairs(const plan::JoinPlan& plan) {
  return plan.match == plan::Match::kCoPartitions && !is_of_papers(plan);
}

void co_partitions(base::Queue& queue, const plan::JoinPlan& plan, int32_t key_width,
                   const MatchSide& build, const kernels::PartitionView& build_partitions,
                   const MatchSide& probe, const kernels::PartitionView& probe_partitions,
                   output::GrowingPairs& pairs) {
  if (build.rows == 0 || probe.rows == 0) return;
  JoinedPartitions const joined{plan.match, key_width,        plan.radix_bits, build,
                                probe,      build_partitions, probe_partitions};
  if (is_of_papers(plan)) {
    papers::join_partitions(queue, plan, joined, pairs);
    return;
  }
  UnitSchedule const schedule(queue, plan.skew, joined);
  uint64_t const units = schedule.likely_units();
  if (pairs.has_question()) {
    auto const sink = [&] { return pairs.asking_sink(); };
    run_until_written(queue, launch_asking(queue, joined, schedule), sink, units, pairs);
    return;
  }
  run_grown(queue, launch_grown(queue, joined, schedule), units, pairs);
}

}  // namespace gpujoin::match
