// launch_by_finder.cuh: makes the launch of a join of partitions with the plan's finder and any
// schedule; included by one file for each output.
#pragma once

#include "kernels/match/co_partitions.cuh"
#include "kernels/papers/nested_loop.cuh"
#include "kernels/papers/redistributed_blocks.cuh"
#include "src/match/partition_launch.cuh"
#include "src/papers/partition_launches.hpp"

namespace gpujoin::papers {

struct AnyKernels {
  template <typename Finder, typename Emitter, typename Layout, typename Join>
  static auto kernel() {
    using Units = kernels::ScheduledUnits<kernels::CutAnyWay>;
    return kernels::join_partitions_kernel<Finder, Emitter, Layout, Units, Join>;
  }
};

template <template <int> class Emitter, typename Sink, typename Kernels = AnyKernels>
PartitionLaunch<Sink> launch_with_emitter(base::Queue& queue, const JoinedPartitions& joined,
                                          const UnitSchedule& schedule) {
  using BlockEmitter = Emitter<kernels::kCoPartitionThreads>;
  return base::with_key_type(joined.key_width, [&](auto zero) {
    using Key = decltype(zero);
    if (joined.finder == plan::Match::kNestedLoop) {
      return match::launch_with_finder<Kernels, kernels::NestedLoop<Key>, BlockEmitter, Sink>(
          queue, joined, schedule);
    }
    return match::launch_with_finder<Kernels, kernels::HashTable<Key>, BlockEmitter, Sink>(
        queue, joined, schedule);
  });
}

}  // namespace gpujoin::papers
