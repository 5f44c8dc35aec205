// child_kernels_thread_pages.cu: the join of partitions with child kernels, relocatable device
// code.
#include "kernels/output/thread_pages.cuh"
#include "src/match/child_kernels.cuh"

namespace gpujoin::match {

PartitionLaunch<kernels::PageSink> launch_thread_pages_with_children(base::Context& context,
                                                                     const JoinedPartitions& joined,
                                                                     const UnitSchedule& schedule) {
  return launch_with_emitter<kernels::ThreadPageEmitter, kernels::PageSink, KernelsWithChildren>(
      context, joined, schedule);
}

}  // namespace gpujoin::match
