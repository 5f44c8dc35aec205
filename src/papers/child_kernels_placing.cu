// child_kernels_placing.cu: the join of partitions with child kernels, relocatable device code.
#include "kernels/papers/two_passes.cuh"
#include "src/papers/child_kernels.cuh"

namespace gpujoin::papers {

PartitionLaunch<kernels::UnitSink> launch_placing_with_children(base::Queue& queue,
                                                                const JoinedPartitions& joined,
                                                                const UnitSchedule& schedule) {
  return launch_with_emitter<kernels::PlacingEmitter, kernels::UnitSink, KernelsWithChildren>(
      queue, joined, schedule);
}

}  // namespace gpujoin::papers
