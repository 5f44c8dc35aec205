// co_partitions_thread_pages.cu: the join of partitions with direct output, pages of threads.
#include "kernels/papers/thread_pages.cuh"

#include "src/papers/launch_by_finder.cuh"

namespace gpujoin::papers {

PartitionLaunch<kernels::PageSink> launch_thread_pages(base::Queue& queue,
                                                       const JoinedPartitions& joined,
                                                       const UnitSchedule& schedule) {
  return launch_with_emitter<kernels::ThreadPageEmitter, kernels::PageSink>(queue, joined,
                                                                            schedule);
}

}  // namespace gpujoin::papers
