// child_kernels_thread_pages.cu: the join of partitions with child kernels, relocatable device
// code.
#include "kernels/papers/thread_pages.cuh"
#include "src/papers/child_kernels.cuh"

namespace gpujoin::papers {

PartitionLaunch<kernels::PageSink> launch_thread_pages_with_children(base::Queue& queue,
                                                                     const JoinedPartitions& joined,
                                                                     const UnitSchedule& schedule) {
  return launch_with_emitter<kernels::ThreadPageEmitter, kernels::PageSink, KernelsWithChildren>(
      queue, joined, schedule);
}

}  // namespace gpujoin::papers
