// co_partitions_grown.cu: the join of partitions by hash tables into memory that grows.
#include "kernels/match/co_partitions.cuh"
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

}  // namespace

PartitionLaunch<kernels::PairSink> launch_grown(base::Queue& queue, const JoinedPartitions& joined,
                                                const UnitSchedule& schedule) {
  using Emitter = kernels::BlockEmitter<kernels::kCoPartitionThreads>;
  return base::with_key_type(joined.key_width, [&](auto zero) {
    using Finder = kernels::HashTable<decltype(zero)>;
    return launch_with_finder<ChunkKernels, Finder, Emitter, kernels::PairSink>(queue, joined,
                                                                                schedule);
  });
}

}  // namespace gpujoin::match
