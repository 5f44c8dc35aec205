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

// Histogram partitionings. A histogram a thread: its counters leave room for kThreadHistogramThreads * 3 threads a multiprocessor
// with 256 partitions. A thread takes from kThreadHistogramLeastRows rows, where the input is small, to kThreadHistogramMostRows.
constexpr int kThreadHistogramThreads = 64;
constexpr int kThreadHistogramItems = 8;
constexpr int kThreadHistogramLeastRows = 32;
constexpr int kThreadHistogramMostRows = 128;
// A histogram a warp.
constexpr int kWarpHistogramWarps = 8;
constexpr int kWarpHistogramItems = 8;
constexpr int kWarpHistogramRows = 512;  // of one warp
// A histogram a block; items are the paper's VT.
constexpr int kBlockHistogramThreads = 512;
constexpr int kBlockHistogramItems = 16;
constexpr int kBlockHistogramTile = kBlockHistogramThreads * kBlockHistogramItems;

// Bucket chains: a tile is staged in shared memory, and is also the bucket of the first of two passes.
constexpr int kBucketThreads = 512;
constexpr int kBucketItems = 16;
constexpr int kBucketTileBits = 13;
constexpr int kBucketTile = kBucketThreads * kBucketItems;
constexpr int kBucketBlocksPerSm = 2;      // with keys of 4 bytes
constexpr int kBucketBlocksPerSmWide = 2;  // with keys of 8 bytes
static_assert(kBucketTile == 1 << kBucketTileBits);
// Buckets are a quarter of a partition, so that an eighth of the places stays empty, within these bounds.
constexpr int kBucketLeastBits = 5;
constexpr int kBucketMostBits = 12;

// One block that sums up partitions.
constexpr int kPartitionSumThreads = 1024;
constexpr int kPartitionSumItems = 8;

// Global table: probe rows of one work unit, and resident blocks.
constexpr int kProbeThreads = 256;
constexpr int kProbeBlocksPerSm = 6;
// Merge path: elements (build + probe, or rows + pairs) of one tile, eight a thread.
constexpr int kMergeThreads = 256;
constexpr int kMergeItems = 8;
constexpr int kMergeTile = kMergeThreads * kMergeItems;

}  // namespace gpujoin::kernels
