// co_partitions_groups.cu: the join of partitions into buffers of estimated groups.
#include "kernels/papers/estimated_groups.cuh"

#include "src/papers/launch_by_finder.cuh"

namespace gpujoin::papers {

PartitionLaunch<kernels::GroupSink> launch_groups(base::Queue& queue,
                                                  const JoinedPartitions& joined,
                                                  const UnitSchedule& schedule) {
  return launch_with_emitter<kernels::GroupEmitter, kernels::GroupSink>(queue, joined, schedule);
}

}  // namespace gpujoin::papers
