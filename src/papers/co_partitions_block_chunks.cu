// co_partitions_block_chunks.cu: the join of partitions with direct output, chunks of blocks.
#include "kernels/papers/block_chunks.cuh"

#include "src/papers/launch_by_finder.cuh"

namespace gpujoin::papers {

PartitionLaunch<kernels::PageSink> launch_block_chunks(base::Queue& queue,
                                                       const JoinedPartitions& joined,
                                                       const UnitSchedule& schedule) {
  return launch_with_emitter<kernels::BlockChunkEmitter, kernels::PageSink>(queue, joined,
                                                                            schedule);
}

}  // namespace gpujoin::papers
