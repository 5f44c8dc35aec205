// partition_launch.hpp: launches of the join of partitions.
#pragma once

#include <cstdint>
#include <functional>

#include "kernels/output/asking_sink.hpp"
#include "kernels/output/pair_sink.hpp"
#include "src/base/queue.hpp"
#include "src/match/unit_schedule.hpp"

namespace gpujoin::match {

// A kernel with everything but its sink. The sink's row ids are set by the launch.
template <typename Sink>
struct PartitionLaunch {
  uint32_t blocks = 0;
  // resume: a point for each block, or null for sinks that nothing resumes. Queued on the stream.
  std::function<void(const Sink& sink, kernels::ResumePoint* resume)> run;
};

// Makes a launch. The memory of what is joined, and of the schedule, must outlive it.
template <typename Sink>
using MakeLaunch = PartitionLaunch<Sink>(base::Queue& queue, const JoinedPartitions& joined,
                                         const UnitSchedule& schedule);

// By hash tables, of whole partitions or work units.
MakeLaunch<kernels::PairSink> launch_grown;
// The same, which asks the pairs of the sink's question.
MakeLaunch<kernels::AskingSink> launch_asking;

// Launches until every pair is written. units: about, to foresee the output's need.
void run_grown(base::Queue& queue, const PartitionLaunch<kernels::PairSink>& launch, uint64_t units,
               output::GrowingPairs& pairs);

}  // namespace gpujoin::match
