// tuning.hpp: every number that depends on the architecture or was found by measuring. Policies never change what a kernel
// computes. Launch code and kernels read the same constants, so they cannot disagree.
#pragma once

#include <cstdint>

namespace gpujoin::kernels {

// Rows that a streaming kernel gives to each thread: enough loads in flight to fill the memory system.
constexpr int kStreamThreads = 256;
constexpr int kStreamItems = 4;
constexpr int kStreamTile = kStreamThreads * kStreamItems;

// Emitters: pairs that one thread may stage in one round; threads * kEmitItems pairs lie in shared memory at a time.
constexpr int kEmitItems = 4;

// Co-partitions: a table of kCoPartitionBuildRows keys in 2^kCoPartitionBucketBits chains. Three blocks a multiprocessor leave each
// thread 40 registers; with four the compiler spills.
constexpr int kCoPartitionThreads = 512;
constexpr int kCoPartitionBuildRows = 4096;
constexpr int kCoPartitionBucketBits = 11;
// Probe rows that one work unit takes through one table. More: the table is built less often; fewer: skewed partitions spread
// over more blocks.
constexpr int kCoPartitionProbeRows = 16384;
constexpr int kCoPartitionBlocksPerSm = 3;

// Global table: probe rows of one work unit, and resident blocks.
constexpr int kProbeThreads = 256;
constexpr int kProbeBlocksPerSm = 6;

// Row multiset: a tile of lanes reads a window of as many slots, 8 bytes each: one sector of 32 bytes, the least that a random
// access costs.
constexpr int kMultisetTile = 4;
constexpr int kMultisetThreads = 256;
// H200, 2^27 x 2^27 keys of 4 bytes, retrieve: 7.0 ms with six blocks, 7.5 with five; verified in their column 9.1 and 8.5.
constexpr int multiset_blocks_per_sm(bool verifies) { return verifies ? 5 : 6; }
// Probe rows that a warp takes at once.
constexpr int kMultisetUnitRows = 256;
// Windows of a walk by a tile: then an insertion asks how far its sequence is full, and a lookup goes on with the whole warp.
constexpr uint32_t kMultisetLongWalk = 8;
// Pairs that a warp gathers before it writes them.
constexpr uint32_t kWarpBufferPairs = 256;

// Merge path: elements (build + probe, or rows + pairs) of one tile, eight a thread.
constexpr int kMergeThreads = 256;
constexpr int kMergeItems = 8;
constexpr int kMergeTile = kMergeThreads * kMergeItems;

}  // namespace gpujoin::kernels
