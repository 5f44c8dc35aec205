// partition_launch.hpp: launches of the join of partitions, one for each emitter.
#pragma once

#include <cstdint>
#include <functional>

#include "kernels/output/pair_sink.hpp"
#include "src/base/context.hpp"
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
using MakeLaunch = PartitionLaunch<Sink>(base::Context& context, const JoinedPartitions& joined,
                                         const UnitSchedule& schedule);

MakeLaunch<kernels::PairSink> launch_grown;
MakeLaunch<kernels::GroupSink> launch_groups;
MakeLaunch<kernels::PageSink> launch_thread_pages;
MakeLaunch<kernels::PageSink> launch_block_chunks;
MakeLaunch<kernels::UnitSink> launch_counting;
MakeLaunch<kernels::UnitSink> launch_placing;

// The same with a schedule of child kernels, for the outputs that never refuse.
MakeLaunch<kernels::PageSink> launch_thread_pages_with_children;
MakeLaunch<kernels::PageSink> launch_block_chunks_with_children;
MakeLaunch<kernels::UnitSink> launch_counting_with_children;
MakeLaunch<kernels::UnitSink> launch_placing_with_children;

}  // namespace gpujoin::match
