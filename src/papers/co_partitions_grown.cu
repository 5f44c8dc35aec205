// co_partitions_grown.cu: the join of partitions into memory that grows, with any finder and
// schedule.
#include "kernels/output/emit_pairs.cuh"

#include "src/papers/launch_by_finder.cuh"

namespace gpujoin::papers {

PartitionLaunch<kernels::PairSink> launch_grown_by_finder(base::Queue& queue,
                                                          const JoinedPartitions& joined,
                                                          const UnitSchedule& schedule) {
  return launch_with_emitter<kernels::BlockEmitter, kernels::PairSink>(queue, joined, schedule);
}

}  // namespace gpujoin::papers
