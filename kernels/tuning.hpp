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
// Merge path: elements (build + probe, or rows + pairs) of one tile, eight a thread.
constexpr int kMergeThreads = 256;
constexpr int kMergeItems = 8;
constexpr int kMergeTile = kMergeThreads * kMergeItems;

// Host link: pageable memory goes through page-locked pieces that so many threads fill, each with so many pieces in turn. One
// thread copies at about 8 GB/s, the link takes 55.
constexpr uint64_t kStagingPieceBytes = uint64_t{4} << 20;
constexpr int kStagingThreads = 8;
constexpr int kStagingSlots = 2;
// Of a result on its way to host memory, one at a time: 150 us on the link.
constexpr uint64_t kResultPieceBytes = uint64_t{8} << 20;
// Threads that write them to pageable memory: of memory that is new they zero the pages, 22 GB/s where eight do 8.
constexpr int kResultThreads = 12;
// Zero-copy: smaller columns are copied to page-locked memory. It costs less than page-locking theirs, and below the C library's
// largest mmap threshold they share pages with whatever else is allocated, which CUDA then refuses to copy whole.
constexpr uint64_t kLeastRegisteredBytes = uint64_t{32} << 20;

}  // namespace gpujoin::kernels
