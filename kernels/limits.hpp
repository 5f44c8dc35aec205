// limits.hpp: the numbers that the planner reckons with and the kernels are built with. Plain C++
// that both read, so that a plan's cost, its legality and its execution cannot disagree. What only
// launches and kernels need is in tuning.hpp.
#pragma once

#include <cstdint>

namespace gpujoin::kernels {

// ---- partitions ----

// Bits of a partition's number: positions of all partitions are counted at once.
constexpr int kMostRadixBits = 16;

// Bits of one pass: a counter for each partition and thread, or warp, or block, in shared memory.
constexpr int kThreadHistogramMostBits = 8;
constexpr int kWarpHistogramMostBits = 10;
constexpr int kBlockHistogramMostBits = 12;
constexpr int kBucketPassMostBits = 12;
// And room for the places that its runs leave empty in a tile.
constexpr int kUnorderedMostBits = 11;

// Rows that one histogram counts, of a thread in a large input at most.
constexpr int kThreadHistogramMostRows = 128;
constexpr int kWarpHistogramRows = 512;
constexpr int kBlockHistogramTile = 8192;

// Bucket chains: rows of the largest bucket, of which each partition leaves one unfilled at most.
constexpr int kBucketMostBits = 12;

// Whole rows at once: the counters of 2 bytes of one block that counts all partitions.
constexpr uint64_t partition_counter_bytes(int32_t radix_bits) { return uint64_t{2} << radix_bits; }
// Of a word that narrow columns travel in.
constexpr int32_t kWordBytes = 4;
// Bytes of a row from which a first pass has large tiles.
constexpr int kUnorderedLargeFirst = 12;

// ---- sorts ----

// Rows of a tile that a merge sort sorts in shared memory.
constexpr int kSortTile = 4096;

// ---- tables ----

// Rows of a partition's table in shared memory, of either key width: for pairs, and where the match
// writes columns.
constexpr int kCoPartitionBuildRows = 4096;
constexpr int kMostGroupSums = 3;  // of each side of a group-join
constexpr int kCarriedBuildRows = 4608;
// Positions in them are of 16 bits, the last of which marks an end.
static_assert(kCoPartitionBuildRows < 0xffff && kCarriedBuildRows < 0xffff);

// Rows that a table of the whole build side joins in one launch: few of both sides together, or few
// build rows with more probe rows, where launches and the waits between them are a third of it all.
// H200: 7.4*10^4 x 4*10^6 rows, pairs, 0.053 ms and 0.117, 1.8*10^4 x 2.2*10^6 0.109 and 0.162;
// scattered keys with a lone value of 4 bytes, 2*10^4 x 3*10^6, 0.088 and 0.075.
constexpr uint32_t kSmallTableRows = 1U << 21;
constexpr uint32_t kSmallBuildRows = 1U << 17;
constexpr uint32_t kSmallProbeRows = 1U << 22;
constexpr bool joins_in_one_launch(uint64_t build_rows, uint64_t probe_rows) {
  return build_rows + probe_rows <= kSmallTableRows ||
         (build_rows <= kSmallBuildRows && probe_rows <= kSmallProbeRows);
}

// Build rows of a hashed table: slots, twice as many, are told by numbers of 32 bits.
constexpr uint32_t kMostHashedRows = 1U << 31;

// Of a table of dense keys that is asked at a time. H200, 2^27 probe rows, 64 MiB of 8 bytes a
// build row: 3.8 ms with slices of 16 MiB, 3.4 of 24, 3.2 of 32, 4.4 at one go.
// Rows looked up where they are, in two such tables of 128 MiB: 10.6 ms at one go, 10.3 with slices
// of 64 MiB, 10.0 of 32.
constexpr uint64_t kDirectSliceBytes = uint64_t{32} << 20;

// Many build rows go to their places through slices of them, as few as fit a block's shared memory.
// H200: 3 * 10^5 rows take 17 us in the place of 21, 10^5 as long as one by one.
constexpr uint32_t kLeastPlacedBySlices = 1U << 18;
constexpr uint32_t kMostPlaceSlices = 1024;
// Where rows near each other have places near each other a block's rows are of few slices, however
// many there are. Tiles of so many rows are read by a slice's block from where they lie, if each is
// of so few slices on average. H200, 10^8 rows of 4 + 8 bytes shuffled in blocks of 4096 and 65536
// rows (1.3 and 3.3 slices): 0.64 and 0.98 ms, through buckets 1.76. Of 5.6 slices those take 0.37
// less than through buckets, but rows of 4 + 4 bytes 0.2 to 0.35 more, of 8 + 16 bytes 0.6 to 0.8.
constexpr uint32_t kMostNearSlices = 8192;
constexpr uint32_t kNearTile = 8192;
constexpr uint32_t kMostNearVisits = 4;

// ---- output ----

// Direct output: places of a thread's page where the plan names no number. An H200 writes 2^27
// pairs of a match without work in 3.7, 2.2, 1.6, 2.4, 2.9 ms with pages of 1, 2, 4, 8, 16 places.
constexpr int kThreadPagePairs = 4;

}  // namespace gpujoin::kernels
