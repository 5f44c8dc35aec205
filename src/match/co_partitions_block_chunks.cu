// co_partitions_block_chunks.cu: the join of partitions with direct output, chunks of blocks.
#include "kernels/output/block_chunks.cuh"

#include "src/match/partition_launch.cuh"

namespace gpujoin::match {

PartitionLaunch<kernels::PageSink> launch_block_chunks(base::Context& context,
                                                       const JoinedPartitions& joined,
                                                       const UnitSchedule& schedule) {
  return launch_with_emitter<kernels::BlockChunkEmitter, kernels::PageSink>(context, joined,
                                                                            schedule);
}

}  // namespace gpujoin::match
