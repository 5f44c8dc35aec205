// co_partitions_two_passes.cu: the join of partitions made twice, to count and to write.
#include "kernels/papers/two_passes.cuh"

#include "src/papers/launch_by_finder.cuh"

namespace gpujoin::papers {

PartitionLaunch<kernels::UnitSink> launch_counting(base::Queue& queue,
                                                   const JoinedPartitions& joined,
                                                   const UnitSchedule& schedule) {
  return launch_with_emitter<kernels::CountingEmitter, kernels::UnitSink>(queue, joined, schedule);
}

PartitionLaunch<kernels::UnitSink> launch_placing(base::Queue& queue,
                                                  const JoinedPartitions& joined,
                                                  const UnitSchedule& schedule) {
  return launch_with_emitter<kernels::PlacingEmitter, kernels::UnitSink>(queue, joined, schedule);
}

}  // namespace gpujoin::papers
