// partition_launches.hpp: launches of the join of partitions with any finder and schedule, one for
// each emitter.
#pragma once

#include "src/match/partition_launch.hpp"

namespace gpujoin::papers {

using match::JoinedPartitions;
using match::MakeLaunch;
using match::PartitionLaunch;
using match::UnitSchedule;

MakeLaunch<kernels::PairSink> launch_grown_by_finder;
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

}  // namespace gpujoin::papers
