// co_partitions_grown.cu: the join of partitions by hash tables into memory that grows: of all
// pairs, or of those that a condition is true of.
#include "kernels/match/co_partitions.cuh"
#include "kernels/output/ask_pairs.cuh"
#include "kernels/output/emit_pairs.cuh"

#include "src/match/partition_launch.cuh"

namespace gpujoin::match {

namespace {

struct ChunkKernels {
  template <typename Finder, typename Emitter, typename Layout, typename Join>
  static auto kernel() {
    using Units = kernels::ScheduledUnits<kernels::CutIntoChunks>;
    return kernels::join_partitions_kernel<Finder, Emitter, Layout, Units, Join>;
  }
};

template <typename Emitter, typename Sink>
PartitionLaunch<Sink> launch_with_emitter(base::Queue& queue, const JoinedPartitions& joined,
                                          const UnitSchedule& schedule) {
  return base::with_key_type(joined.key_width, [&](auto zero) {
    using Finder = kernels::HashTable<decltype(zero)>;
    return launch_with_finder<ChunkKernels, Finder, Emitter, Sink>(queue, joined, schedule);
  });
}

}  // namespace

PartitionLaunch<kernels::PairSink> launch_grown(base::Queue& queue, const JoinedPartitions& joined,
                                                const UnitSchedule& schedule) {
  using Emitter = kernels::BlockEmitter<kernels::kCoPartitionThreads>;
  return launch_with_emitter<Emitter, kernels::PairSink>(queue, joined, schedule);
}

PartitionLaunch<kernels::AskingSink> launch_asking(base::Queue& queue,
                                                   const JoinedPartitions& joined,
                                                   const UnitSchedule& schedule) {
  using Emitter = kernels::AskingEmitter<kernels::kCoPartitionThreads>;
  return launch_with_emitter<Emitter, kernels::AskingSink>(queue, joined, schedule);
}

}  // namespace gpujoin::match
