// child_kernels_block_chunks.cu: the join of partitions with child kernels, relocatable device
// code.
#include "kernels/papers/block_chunks.cuh"
#include "src/papers/child_kernels.cuh"

namespace gpujoin::papers {

PartitionLaunch<kernels::PageSink> launch_block_chunks_with_children(base::Queue& queue,
                                                                     const JoinedPartitions& joined,
                                                                     const UnitSchedule& schedule) {
  return launch_with_emitter<kernels::BlockChunkEmitter, kernels::PageSink, KernelsWithChildren>(
      queue, joined, schedule);
}

}  // namespace gpujoin::papers
