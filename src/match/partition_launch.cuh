// partition_launch.cuh: makes the launch of a join of partitions, of any finder and emitter.
#pragma once

#include <algorithm>

#include "kernels/match/join_partitions.cuh"
#include "src/base/device.hpp"
#include "src/base/launch.hpp"
#include "src/match/partition_launch.hpp"

namespace gpujoin::match {

// Kernels: kernel<Finder, Emitter, Layout, Join>() of the units that the schedule may have.
template <typename Kernels, typename Finder, typename Emitter, typename Layout, typename Sink>
PartitionLaunch<Sink> launch_with_layout(base::Queue& queue, const JoinedPartitions& joined,
                                         const UnitSchedule& schedule) {
  using Key = typename Finder::Key;
  using Join = kernels::PartitionJoin<Key, Sink>;
  auto const kernel = Kernels::template kernel<Finder, Emitter, Layout, Join>();
  constexpr size_t kShared = sizeof(kernels::PartitionJoinShared<Finder, Emitter>);
  uint32_t const blocks =
      schedule.blocks(base::resident_blocks(queue, kernel, kernels::kCoPartitionThreads, kShared,
                                            "asking for shared memory of the join of partitions"));

  Join join{};
  join.build_keys = static_cast<const Key*>(joined.build.keys);
  join.probe_keys = static_cast<const Key*>(joined.probe.keys);
  join.build = joined.build_view;
  join.probe = joined.probe_view;
  join.radix_bits = joined.radix_bits;
  join.schedule = schedule.on_device();
  join.sink.build_row_ids = joined.build.row_ids;
  join.sink.probe_row_ids = joined.probe.row_ids;
  cudaStream_t const stream = base::stream_of(queue);
  return {blocks, [=](const Sink& sink, kernels::ResumePoint* resume) {
            Join now = join;
            now.resume = resume;
            now.sink = sink;
            now.sink.build_row_ids = join.sink.build_row_ids;
            now.sink.probe_row_ids = join.sink.probe_row_ids;
            kernel<<<blocks, kernels::kCoPartitionThreads, kShared, stream>>>(now);
            base::check(cudaGetLastError(), "joining partitions");
          }};
}

template <typename Kernels, typename Finder, typename Emitter, typename Sink>
PartitionLaunch<Sink> launch_with_finder(base::Queue& queue, const JoinedPartitions& joined,
                                         const UnitSchedule& schedule) {
  if (joined.build_view.buckets != nullptr) {
    return launch_with_layout<Kernels, Finder, Emitter, kernels::InBuckets, Sink>(queue, joined,
                                                                                  schedule);
  }
  return launch_with_layout<Kernels, Finder, Emitter, kernels::SideBySide, Sink>(queue, joined,
                                                                                 schedule);
}

}  // namespace gpujoin::match
