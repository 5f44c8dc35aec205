// child_kernels_counting.cu: the join of partitions with child kernels, relocatable device code.
#include "kernels/papers/two_passes.cuh"
#include "src/papers/child_kernels.cuh"

namespace gpujoin::papers {

PartitionLaunch<kernels::UnitSink> launch_counting_with_children(base::Queue& queue,
                                                                 const JoinedPartitions& joined,
                                                                 const UnitSchedule& schedule) {
  return launch_with_emitter<kernels::CountingEmitter, kernels::UnitSink, KernelsWithChildren>(
      queue, joined, schedule);
}

}  // namespace gpujoin::papers
