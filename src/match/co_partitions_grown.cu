// co_partitions_grown.cu: the join of partitions into memory that grows.
#include "kernels/output/emit_pairs.cuh"

#include "src/match/partition_launch.cuh"

namespace gpujoin::match {

PartitionLaunch<kernels::PairSink> launch_grown(base::Context& context,
                                                const JoinedPartitions& joined,
                                                const UnitSchedule& schedule) {
  return launch_with_emitter<kernels::BlockEmitter, kernels::PairSink>(context, joined, schedule);
}

}  // namespace gpujoin::match
