// tuning.hpp: every number that depends on the architecture or was found by measuring. Policies
// never change what a kernel computes. Launch code and kernels read the same constants, so they
// cannot disagree; those that the planner reads too are in limits.hpp.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/limits.hpp"

namespace gpujoin::kernels {

// Threads that a multiprocessor holds.
#if defined(__CUDA_ARCH__) && \
    (__CUDA_ARCH__ == 860 || __CUDA_ARCH__ == 890 || __CUDA_ARCH__ >= 1200)
constexpr int kThreadsPerSm = 1536;
#else
constexpr int kThreadsPerSm = 2048;
#endif

// Rows that a streaming kernel gives to each thread: enough loads in flight to fill the memory
// system.
constexpr int kStreamThreads = 256;
constexpr int kStreamItems = 4;
constexpr int kStreamTile = kStreamThreads * kStreamItems;
constexpr int kRangeBlocksPerSm = 8;  // that look at the keys

// Key sample. One block sums, with few threads: each of its warps takes 160 shuffles. The scan has
// a filter, two counters a key and what its warps gather, 72 and 76 KB of keys of 4 and 8 bytes;
// its threads load so many bytes at a time, for which three blocks would have too few registers.
constexpr int kSampleDrawThreads = 1024;
constexpr int kSampleSumThreads = 256;
constexpr int kSampleThreads = 512;
constexpr int kSampleBlocksPerSm = 2;
constexpr int kSampleItemBytes = 32;
// Its count of hot keys has the filter alone, 32 KB, and rows of few keys.
constexpr int kSampleHotThreads = 512;
constexpr int kSampleHotBlocksPerSm = kThreadsPerSm / kSampleHotThreads;

// Emitters: pairs that one thread may stage in one round; threads * kEmitItems pairs lie in shared
// memory at a time.
constexpr int kEmitItems = 4;

// Direct output: places of a block's chunk. An H200 writes 2^27 pairs of a match without work in
// 0.64, 0.44, 0.29, 0.27 ms with chunks of 512, 1024, 4096, 16384.
constexpr int kBlockChunkPairs = 4096;
// Groups by estimate: a group's buffer is one part of so many of the expected output, at least
// kGroupLeastPairs; an overflow is foreseen after one part of kGroupWatchedShare of the units; an
// estimate is taken as so much more than it was found to be, and corrected by no more than a factor
// at a time.
constexpr int kGroupShares = 8;
constexpr int kGroupLeastPairs = 1 << 22;
constexpr int kGroupWatchedShare = 4;
constexpr double kGroupMargin = 1.1;
constexpr double kGroupMostCorrection = 16;

// Chunks closed by the device itself: the block that plans it, and rows that a lane moves one after
// the other.
constexpr int kCloseThreads = 1024;
constexpr int kCloseItems = 4;

// Co-partitions: a table of kCoPartitionBuildRows keys in 2^kCoPartitionBucketBits chains. Three
// blocks a multiprocessor leave each thread 40 registers; with four the compiler spills.
constexpr int kCoPartitionThreads = 512;
constexpr int kCoPartitionBucketBits = 11;
// Probe rows that one work unit takes through one table. More: the table is built less often;
// fewer: skewed partitions spread over more blocks.
constexpr int kCoPartitionProbeRows = 16384;
constexpr int kCoPartitionBlocksPerSm = 3;
// Probe rows of a block that are compared at once.
constexpr int kCoPartitionBatch = kCoPartitionThreads * kEmitItems;
// Redistributed blocks: so many for each block that runs at a time, so that the last ones to end
// are short.
constexpr int kRedistributedWaves = 4;
// The join of partitions that writes the output columns: probe rows of a lane at a time.
constexpr int kCarriedItems = 4;
constexpr int kCarriedItemsWide = 2;  // where columns have any width
// Of one unit. Where each matches many build rows fewer, so that a heavy key keeps more blocks
// busy.
constexpr uint32_t kCarriedProbeRows = 16384;
constexpr uint32_t kCarriedDealtRows = 4096;
// Partitions of more tables than these have a heavy key. Where all their units that are dealt are
// fewer than kCarriedHeavyUnits, eight for each block of a large device, they have fewer probe
// rows, but so many: all blocks join them. A unit's table takes its block 10 us.
constexpr uint32_t kCarriedLightTables = 2;
constexpr uint32_t kCarriedHeavyUnits = 2048;
constexpr uint32_t kCarriedFewestDealtRows = 256;
// Where a heavy key is, the matches of a probe row keep a warp for a while, and most probe rows
// match none: a warp that met two of them would work on when the block's others are done. So many
// warps (2^3) look up the same rows, and each takes a part of the matches. H200, 110M matches of
// 100 probe rows: 0.407 ms, with parts of a quarter 0.420, of a half 0.431.
constexpr uint32_t kCarriedPartBits = 3;
// Matches of a probe row from which on a warp writes them by themselves.
constexpr uint32_t kCarriedLongRun = 256;
// Places that a block takes at a time. Fewer: fewer holes, of up to three launches; H200, 110M
// matches 1.15 ms, with 8192 places 1.22; of 2^27 rows with one match each the match takes 1.46 ms,
// with 2048 places 1.49.
constexpr uint32_t kCarriedChunk = 4096;
// Of short outputs, of which half a chunk a block is left to be moved: no fewer than a warp writes
// at once.
constexpr uint32_t kLeastCarriedChunk = 512;
constexpr int kCarriedBucketBits = 12;
constexpr int kCarriedRankBits = 17;
// Blocks of two sizes: small ones overlap better, large ones have shared memory for stages of more
// build columns. Keys of 8 bytes need more registers, and their table as much shared memory as
// stages would.
template <size_t kKeyBytes>
struct CarriedShape {
  static constexpr int kThreads = 256;
  static constexpr int kBlocksPerSm = kKeyBytes <= 4 ? 4 : 3;
};
struct CarriedShapeWide {
  static constexpr int kThreads = 512;
  static constexpr int kBlocksPerSm = 2;
};
// Child kernels: a partition of more work units than this gets one. A unit takes a block 12 us on
// an H200 (2^27 x 2^27, 2048 rows of both sides), so no block is kept by one partition for much
// longer than that.
constexpr int kChildKernelUnits = 4;

// Histogram partitionings. A histogram a thread: its counters leave room for
// kThreadHistogramThreads * 3 threads a multiprocessor with 256 partitions. A thread takes
// kThreadHistogramLeastRows rows at least.
constexpr int kThreadHistogramThreads = 64;
constexpr int kThreadHistogramItems = 8;
constexpr int kThreadHistogramLeastRows = 32;
// A histogram a warp.
constexpr int kWarpHistogramWarps = 8;
constexpr int kWarpHistogramItems = 8;
// A histogram a block; items are the paper's VT.
constexpr int kBlockHistogramThreads = 512;
constexpr int kBlockHistogramItems = 16;
static_assert(kBlockHistogramTile == kBlockHistogramThreads * kBlockHistogramItems);
// Counters of 4 bytes in the shared memory that a block has on every supported device.
constexpr int kLeastSharedBytes = 99 * 1024;
static_assert((4 * kThreadHistogramThreads) << kThreadHistogramMostBits <= kLeastSharedBytes);
static_assert((4 * kWarpHistogramWarps) << kWarpHistogramMostBits <= kLeastSharedBytes);
static_assert(4 << kBlockHistogramMostBits <= kLeastSharedBytes);

// Bucket chains: a tile is staged in shared memory, and is also the bucket of the first of two
// passes.
constexpr int kBucketThreads = 512;
constexpr int kBucketItems = 16;
constexpr int kBucketTileBits = 13;
constexpr int kBucketTile = kBucketThreads * kBucketItems;
constexpr int kBucketBlocksPerSm = 2;      // with keys of 4 bytes
constexpr int kBucketBlocksPerSmWide = 2;  // with keys of 8 bytes
static_assert(kBucketTile == 1 << kBucketTileBits);
// Buckets are a quarter of a partition, so that an eighth of the places stays empty, within these
// bounds.
constexpr int kBucketLeastBits = 5;
static_assert(kBucketLeastBits <= kBucketMostBits && kBucketMostBits <= kBucketTileBits);

// Partition pass that moves all columns with one rank.
// Tiles of two sizes: a larger one has longer runs, of which fewer end within a sector; two smaller
// ones overlap. A first pass writes far apart and gains more by long runs. H200, transform of 2^27
// x 2^27 rows with 8 and 7 bits: of 8 bytes small and small 3.20 ms (with 7 and 8 bits 3.10), large
// and small 3.17, both large 3.40; of 12 bytes 4.79 (7 and 8 bits 4.79), 4.16 (4.74), 4.40; 20 and
// 24 bytes took 8.5 and 10.2 with small ones, 7.8 and 8.2 with large ones, in an earlier form.
constexpr int kUnorderedThreads = 512;
constexpr int kUnorderedItems = 16;  // rows a thread where no column is wider than 4 bytes
constexpr int kUnorderedBlocks = 2;  // of a multiprocessor
constexpr int kUnorderedThreadsLarge = 1024;
constexpr int kUnorderedItemsLarge = 16;
constexpr int kUnorderedLargeSecond =
    16;  // bytes of a row from which a second pass has large tiles
static_assert(kUnorderedLargeFirst <= kUnorderedLargeSecond);
constexpr int kUnorderedCountThreads = 1024;
constexpr uint32_t kUnorderedAlign = 16;  // rows: of which even one byte each fill a vector
constexpr int kMovedColumns = 17;         // of one side, in one launch: 16 keys and row numbers
constexpr int kCarriedColumns = 2 * kMovedColumns + 2;  // and a key column of each side

// One block that sums up partitions; of several, how many of them are a block's own.
constexpr int kPartitionSumThreads = 1024;
constexpr int kPartitionSumItems = 8;
constexpr uint32_t kPartitionSumTile = 2048;

// Global table: probe rows of one work unit, and resident blocks.
constexpr int kProbeThreads = 256;
constexpr int kProbeBlocksPerSm = 6;

// A table of the whole build side whose probe rows write columns: threads, blocks, probe rows of a
// lane at a time.
constexpr int kTableThreads = 256;
constexpr int kTableBlocksPerSm = 4;
constexpr int kTableItems = 4;
constexpr int kTableItemsWide = 2;  // where columns have any width

// The same of few rows, in one launch of all blocks (joins_in_one_launch). One block by itself has
// kSmallTableBlockRows of either side, of columns of any width half as many of the build side, and
// as few threads as take so many rows each.
constexpr int kSmallTableThreads = 512;
constexpr int kSmallChainThreads = 128;  // so that few rows come to many multiprocessors
constexpr int kBlockTableThreads = 1024;
constexpr uint32_t kSmallTableBlockRows = kBlockTableThreads * kTableItems;
static_assert(kSmallTableBlockRows <= kSmallTableRows);
constexpr uint32_t kBlockTableRowsPerThread = 2;

// Rows left out before they are moved: rows of a thread, whose lookups are under way at once.
constexpr int kFilterThreads = 256;
constexpr int kFilterItems = 8;

// Row multiset: a tile of lanes reads a window of as many slots, 8 bytes each: one sector of 32
// bytes, the least that a random access costs.
constexpr int kMultisetTile = 4;
constexpr int kMultisetThreads = 256;
// H200, 2^27 x 2^27 keys of 4 bytes, retrieve: 7.0 ms with six blocks, 7.5 with five; verified in
// their column 9.1 and 8.5.
constexpr int multiset_blocks_per_sm(bool verifies) { return verifies ? 5 : 6; }
// Probe rows that a warp takes at once.
constexpr int kMultisetUnitRows = 256;
// Windows of a walk by a tile: then an insertion asks how far its sequence is full, and a lookup
// goes on with the whole warp.
constexpr uint32_t kMultisetLongWalk = 8;
// Pairs that a warp gathers before it writes them.
constexpr uint32_t kWarpBufferPairs = 256;

// Merge path: elements (build + probe, or rows + pairs) of one tile, eight a thread.
constexpr int kMergeThreads = 256;
constexpr int kMergeItems = 8;
constexpr int kMergeTile = kMergeThreads * kMergeItems;
// Resident blocks of a bounds kernel that may have nothing to do.
constexpr int kMergeBlocksPerSm = 6;

// Merge sort: rows that a thread sorts in its registers and merges in a round (the paper's VT), a
// power of two as those of a tile are. A tile twice as large saves a round of merging and costs as
// much in shared memory.
constexpr int kSortItems = 8;
constexpr int kSortThreads = 512;
static_assert(kSortTile == kSortThreads * kSortItems);
// Resident blocks, by which the compiler limits registers. Full multiprocessors where registers
// suffice for it: (4 B, 4 B) rows, 2^27 on an H200, 10.37 ms against 10.71 ms with three blocks of
// 512; (8 B, 8 B) rows 20.5 ms against 19.8 ms.
constexpr int sort_blocks_per_sm(int key_bytes) {
  return key_bytes <= 4 ? kThreadsPerSm / kSortThreads : 3;
}

// Sorts that pass over upper bits only: rows of a block, and behind its tile, that are put in order
// by the others. Passes times rows that are saved are so many at least, 80 us of passes on an H200:
// a sample, which one block draws, and two answers to the host are reckoned as less. The sample
// foresees how many others a row's upper bits leave with it; each is compared, and 16 are reckoned
// as less than a pass moves.
constexpr int kRunThreads = 512;
constexpr int kRunItems = 4;
constexpr int kRunTile = kRunThreads * kRunItems;
constexpr int kRunReach = kRunThreads;
constexpr uint64_t kUpperLeastSaved = uint64_t{1} << 23;
constexpr uint64_t kUpperMostTogether = 16;
constexpr int kOrderSampleThreads = 1024;
constexpr int kOrderSampleItems = 4;
constexpr int kOrderSample = kOrderSampleThreads * kOrderSampleItems;

// Copies on the host, to and from page-locked memory: pieces that so many threads take in turn. One
// thread copies at about 8 GB/s, the link takes 55.
constexpr uint64_t kStagingPieceBytes = uint64_t{4} << 20;
constexpr int kStagingThreads = 8;
constexpr int kStagingSlots = 2;
// Of a result on its way to host memory, one at a time: 150 us on the link.
constexpr uint64_t kResultPieceBytes = uint64_t{8} << 20;
// Threads that write them to pageable memory: of memory that is new they zero the pages, 22 GB/s
// where eight do 8.
constexpr int kResultThreads = 12;
// Zero-copy: smaller columns are copied to page-locked memory. It costs less than page-locking
// theirs, and below the C library's largest mmap threshold they share pages with whatever else is
// allocated, which CUDA then refuses to copy whole.
constexpr uint64_t kLeastRegisteredBytes = uint64_t{32} << 20;

}  // namespace gpujoin::kernels
