// The bytes that a reader with a pencil gets. Sizes are those of the usual narrow join: build 2^27
// rows, probe 2^28 rows, keys and payloads of 4 bytes.
#include "src/base/traffic.hpp"

#include <gtest/gtest.h>

namespace gpujoin::base::traffic {
namespace {

constexpr uint64_t kBuild = uint64_t{1} << 27;
constexpr uint64_t kProbe = uint64_t{1} << 28;

TEST(Traffic, PartitionInTwoPassesMoves36BytesARow) {
  // The key once for the histograms, then 8 bytes read and written twice.
  EXPECT_EQ(radix_sort(1, 4, 4, 16).bytes(), 4U + 2 * 16);
  EXPECT_EQ(radix_sort(kBuild + kProbe, 4, 4, 16).bytes(), uint64_t{14'495'514'624});
}

TEST(Traffic, SortMergeOf32BitsReadsAndWritesFourTimes) {
  // 68 bytes a row to sort and 8 to merge, 12 bytes an output row: 33.8 GB.
  const uint64_t sort = radix_sort(kBuild + kProbe, 4, 4, 32).bytes();
  EXPECT_EQ(sort, (kBuild + kProbe) * 68);
  EXPECT_NEAR(static_cast<double>(sort + (kBuild + kProbe) * 8 + kProbe * 12), 33.8e9, 0.05e9);
}

TEST(Traffic, BitsAreRoundedUpToPasses) {
  EXPECT_EQ(radix_passes(0), 0U);
  EXPECT_EQ(radix_passes(1), 1U);
  EXPECT_EQ(radix_passes(8), 1U);
  EXPECT_EQ(radix_passes(9), 2U);
  EXPECT_EQ(radix_passes(64), 8U);
}

TEST(Traffic, AMergeSortMovesEverythingOncePerRoundAndOnceForTheTiles) {
  EXPECT_EQ(merge_rounds(0), 0U);
  EXPECT_EQ(merge_rounds(4096), 0U);
  EXPECT_EQ(merge_rounds(4097), 1U);
  EXPECT_EQ(merge_rounds(8192), 1U);
  EXPECT_EQ(merge_rounds(8193), 2U);
  EXPECT_EQ(merge_rounds(kBuild), 15U);
  EXPECT_EQ(merge_rounds(0xfffffffe), 20U);
  EXPECT_EQ(merge_sort(4096, 4, 16).bytes(), 4096U * 40);
  EXPECT_EQ(merge_sort(5000, 8, 4).bytes(), 2U * 5000 * 24);
  // 16 times 16 bytes a row, where a radix sort of 32 bits moves 68.
  EXPECT_EQ(merge_sort(kBuild, 4, 4).bytes(), kBuild * 256);
}

TEST(Traffic, AHistogramPassReadsKeysTwiceAndItsCountersTwice) {
  EXPECT_EQ(histogram_pass(kBuild, 4, 4, 0, 0).bytes(), kBuild * 20);
  // 256 partitions and a histogram for each 8192 rows: half a byte a row.
  EXPECT_EQ(histogram_pass(kBuild, 4, 4, 256, kBuild / 8192).bytes(), kBuild * 20 + kBuild / 2);
  EXPECT_EQ(histogram_pass(10, 8, 16, 0, 0).bytes(), 10U * (24 + 32));
}

TEST(Traffic, ABucketChainPassReadsAndWritesOnce) {
  EXPECT_EQ(bucket_chain_pass(kBuild, 4, 4, 4), radix_pass(kBuild, 4, 4));
  EXPECT_EQ(bucket_chain_pass(kBuild, 4, 4, 0).bytes(), kBuild * 12);
}

TEST(Traffic, AnUnorderedPassReadsAndWritesWholeRowsOnce) {
  EXPECT_EQ(radix_unordered_pass(kBuild, 8).bytes(), kBuild * 16);
  // Key and four payloads in two passes: 80 bytes a row, where a sort a column moves 32 of each.
  EXPECT_EQ(2 * radix_unordered_pass(kBuild, 20).bytes(), kBuild * 80);
  EXPECT_LT(2 * radix_unordered_pass(kBuild, 20).bytes(), 4 * radix_sort(kBuild, 4, 4, 16).bytes());
  EXPECT_EQ(radix_unordered_pass(kBuild, 8).random, 0U);
  EXPECT_EQ(radix_unordered_pass(0, 8).bytes(), 0U);
}

TEST(Traffic, CarriedColumnsAreReadASideAndWrittenAPair) {
  // Narrow: key and payload of either side, and key and both payloads of a pair.
  EXPECT_EQ(carried_columns(kBuild, 8, kProbe, 8, kProbe, 12),
            (Traffic{(kBuild + kProbe) * 8 + kProbe * 12, 0}));
  // Without matches rows are read all the same.
  EXPECT_EQ(carried_columns(100, 20, 1000, 6, 0, 99).bytes(), 100U * 20 + 1000 * 6);
  // By pairs and gathers the same join writes and reads 8 bytes a pair more, and fetches.
  EXPECT_LT(carried_columns(kBuild, 8, kProbe, 8, kProbe, 12).bytes(),
            co_partitions(kBuild, kProbe, 4, false, kProbe).bytes() +
                3 * gather(kProbe, 4, Locality::kClustered).bytes());
}

TEST(Traffic, PageableMemoryIsReadTwiceAndWrittenOnceOnTheHost) {
  EXPECT_EQ(staged_copy(kBuild, 4).bytes(), 3 * host_copy(kBuild, 4).bytes());
}

TEST(Traffic, ManagedMemoryMigratesInWholePages) {
  EXPECT_EQ(page_migration(1, 1).bytes(), 65536U);
  EXPECT_EQ(page_migration(16384, 4).bytes(), 65536U);
  EXPECT_EQ(page_migration(16385, 4).bytes(), 2U * 65536);
  EXPECT_EQ(page_migration(0, 4).bytes(), 0U);
}

TEST(Traffic, ZeroCopyReadsAsOftenAsKernelsDo) {
  EXPECT_EQ(zero_copy(100, 4, 2, 0).bytes(), 800U);
  EXPECT_EQ(zero_copy(100, 4, 0, 10), (Traffic{0, 320}));
}

TEST(Traffic, ChunksCrossTheLinkBothWays) {
  EXPECT_EQ(probe_chunks(kProbe, 8, kProbe, 12).bytes(), kProbe * 20);
}

TEST(Traffic, TheGlobalTableIsHalfEmptyOrMore) {
  EXPECT_EQ(global_table_slots(0), 2U);
  EXPECT_EQ(global_table_slots(1), 2U);
  EXPECT_EQ(global_table_slots(4), 8U);
  EXPECT_EQ(global_table_slots(5), 16U);
  EXPECT_EQ(global_table_bytes(kBuild), uint64_t{1} << 31);
  EXPECT_EQ(row_slots(1), 4U);
  EXPECT_EQ(row_slots(1 << 19), uint64_t{1} << 21);
  EXPECT_EQ(row_slots(1 << 20), uint64_t{1} << 21);
  EXPECT_TRUE(fits_row_slots(1 << 20));
  EXPECT_FALSE(fits_row_slots((1 << 20) + 1));
  // Four slots a row where they and what is read beside them stay in L2.
  EXPECT_EQ(pair_table_slots(1, 0), 4U);
  EXPECT_EQ(pair_table_slots(1 << 20, 0), uint64_t{1} << 22);
  EXPECT_EQ(pair_table_slots(1 << 20, 4), uint64_t{1} << 21);
  EXPECT_EQ(pair_table_slots(1 << 18, 24), uint64_t{1} << 20);
  EXPECT_EQ(pair_table_slots((1 << 20) + 1, 0), uint64_t{1} << 22);
  EXPECT_EQ(pair_table_slots(1 << 21, 0), uint64_t{1} << 22);
}

TEST(Traffic, AnInsertMovesASectorThereAndBack) {
  const Traffic moved = global_table_build(kBuild, 4);
  EXPECT_EQ(moved.random, kBuild * 64);
  EXPECT_EQ(moved.streamed, (uint64_t{1} << 31) + kBuild * 4);
  // Keys of 8 bytes are compared in their column.
  EXPECT_EQ(global_table_build(kBuild, 8).random, kBuild * 96);
  EXPECT_EQ(small_hash_build(kBuild, 4), moved);
  EXPECT_EQ(small_hash_build(kBuild, 8), (Traffic{moved.streamed + kBuild * 4, moved.random}));
}

TEST(Traffic, AProbeMovesASectorAndEachFurtherPairAnother) {
  EXPECT_EQ(global_table_probe(kProbe, 4, kProbe).random, kProbe * 32);
  EXPECT_EQ(global_table_probe(kProbe, 4, 3 * kProbe).random, kProbe * 96);
  EXPECT_EQ(global_table_probe(kProbe, 4, 0).random, kProbe * 32);
  EXPECT_EQ(global_table_probe(kProbe, 4, kProbe).streamed, kProbe * 12);
  EXPECT_EQ(global_table_probe(kProbe, 8, kProbe).random, kProbe * 64);
}

TEST(Traffic, DenseKeysAreReadForTheirRangeAndThenPlaced) {
  EXPECT_EQ(most_direct_places(0), 1024U);
  EXPECT_EQ(most_direct_places(kBuild), 4 * kBuild + 1024);
  // A key twice and a column once; a bit there and back and a sector of the column.
  EXPECT_EQ(direct_table_build(kBuild, 4, 1, 4, kBuild),
            (Traffic{kBuild * 12 + kBuild / 8, kBuild * 96}));
  // Two columns side by side are one access.
  EXPECT_EQ(direct_table_build(kBuild, 4, 1, 8, kBuild).random,
            direct_table_build(kBuild, 4, 1, 4, kBuild).random);
}

TEST(Traffic, ProbeRowsThatWriteColumnsReadNoPairs) {
  EXPECT_EQ(table_columns(kProbe, 8, 0, kProbe, 12, kProbe),
            (Traffic{kProbe * (8 + 12), kProbe * 32}));
  EXPECT_EQ(table_columns(kProbe, 8, kProbe, 0, 12, 0), (Traffic{kProbe * 8, kProbe * 32}));
}

TEST(Traffic, AFilterReadsKeysTwiceAndWritesWhatItKeeps) {
  EXPECT_EQ(filter_rows(kProbe, 4, 2, 0, 0, 8), (Traffic{kProbe * 8, 0}));
  EXPECT_EQ(filter_rows(kProbe, 4, 2, kProbe, 1000, 8),
            (Traffic{kProbe * 8 + 1000 * (4 + 4 + 16), kProbe * 32}));
}

TEST(Traffic, RowIdsAreReadOnlyWherePairsAreNotPositions) {
  EXPECT_EQ(co_partitions(kBuild, kProbe, 4, false, kProbe).bytes(),
            (kBuild + kProbe) * 4 + kProbe * 8);
  EXPECT_EQ(co_partitions(kBuild, kProbe, 4, true, kProbe).bytes(),
            (kBuild + kProbe) * 4 + kProbe * 16);
}

TEST(Traffic, ANestedLoopComparesMoreAndMovesTheSame) {
  EXPECT_EQ(nested_loop(kBuild, kProbe, 8, true, kProbe),
            co_partitions(kBuild, kProbe, 8, true, kProbe));
}

TEST(Traffic, UnitsReadOffsetsOnceAndBuildRowsOnceEach) {
  EXPECT_EQ(count_units(1000).bytes(), 24000U);
  EXPECT_EQ(reread_build(500, 1, 4).bytes(), 0U);
  EXPECT_EQ(reread_build(500, 0, 4).bytes(), 0U);
  EXPECT_EQ(reread_build(500, 3, 8).bytes(), 8000U);
}

TEST(Traffic, PagesCostTheirHolesAndPagesOfOnePlaceHaveNone) {
  EXPECT_EQ(paged_pairs(1000, false, 10, 1), (Traffic{8'000, 0}));
  EXPECT_EQ(paged_pairs(1000, true, 10, 1), (Traffic{16'000, 0}));
  // Ten tails: noted, sorted in four passes, summed; two of four places each filled.
  EXPECT_EQ(paged_pairs(1000, false, 10, 4).bytes(),
            8'000U + 10 * 8 + 10 * (8 + 4 * 16) + 10 * 32 + 20 * 16);
  // No more tails and no more moved pairs than there are pairs.
  EXPECT_EQ(paged_pairs(1, false, 1000, 64).bytes(), 8U + 8 + 72 + 32 + 16);
  EXPECT_EQ(paged_pairs(0, false, 1000, 64).bytes(), 0U);
}

TEST(Traffic, TwoPassesReadTheKeysTwiceAndWriteThePairsOnce) {
  EXPECT_EQ(two_passes(kBuild, kProbe, 4, false, 0, kProbe).bytes(),
            2 * (kBuild + kProbe) * 4 + kProbe * 8);
  EXPECT_EQ(two_passes(0, 0, 4, false, 10, 0).bytes(), 560U);
  EXPECT_EQ(estimated_groups(uint64_t{1} << 15).bytes(), uint64_t{48} << 15);
}

TEST(Traffic, MergePathReadsKeysTwiceAndWritesBoundsForEachProbeRow) {
  EXPECT_EQ(global_table_group(100, 1000, 4, 5000).random, 100U * 192 + 1000 * 64);
  EXPECT_EQ(global_table_group(100, 1000, 4, 5000).streamed, 100U * 36 + 1000 * 36 + 5000 * 12);
  EXPECT_EQ(merge_path(100, 1000, 4, false, 0).bytes(), 1100U * 4 + 1000 * 32);
  EXPECT_EQ(merge_path(100, 1000, 4, true, 10).bytes(), 1100U * 4 + 1000 * 32 + 160);
}

TEST(Traffic, TheRowMultisetReadsAWindowARowAndVerifiesEachPairInItsColumns) {
  EXPECT_EQ(row_multiset_slots(0), 4U);
  EXPECT_EQ(row_multiset_slots(2), 4U);
  EXPECT_EQ(row_multiset_slots(3), 8U);
  EXPECT_EQ(row_multiset_bytes(1), 4U * 8 + 64 * 16);
  EXPECT_EQ(row_multiset_bytes(kBuild), (uint64_t{1} << 31) + (uint64_t{1} << 19) * 16);
  const Traffic build = row_multiset_build(kBuild, 20);
  EXPECT_EQ(build.streamed, row_multiset_bytes(kBuild) + kBuild * 20);
  EXPECT_EQ(build.random, kBuild * 64);
  // One key of 4 bytes: the slot says all.
  EXPECT_EQ(row_multiset_count(kProbe, 4, 0, kProbe), (Traffic{kProbe * 4, kProbe * 32}));
  EXPECT_EQ(row_multiset_retrieve(kProbe, 4, 0, kProbe), (Traffic{kProbe * 12, kProbe * 32}));
  // Nine pairs a row: two further windows.
  EXPECT_EQ(row_multiset_count(100, 4, 0, 900).random, 100U * 32 * 3);
  // Three columns of 16 bytes together: three sectors a pair.
  EXPECT_EQ(row_multiset_count(100, 16, 3, 50), (Traffic{150 * 16, (100 + 150) * 32}));
  EXPECT_EQ(row_multiset_retrieve(100, 16, 3, 0), row_multiset_count(100, 16, 3, 0));
}

TEST(Traffic, ASecondMergePathReadsKeysAndLowerBoundsAgain) {
  const Traffic one = merge_one_bound(100, 1000, 4, true, 10, true);
  EXPECT_EQ(one, merge_path(100, 1000, 4, true, 10));
  const Traffic two = merge_two_bounds(100, 1000, 4, true, 10);
  EXPECT_EQ(two.bytes() - one.bytes(), 1100U * 4 + 1000 * 4);
  // Duplicates where keys were hoped to be unique: counts are written twice.
  EXPECT_EQ(merge_one_bound(100, 1000, 8, false, 10, false).bytes(),
            merge_two_bounds(100, 1000, 8, false, 10).bytes() + 1000 * 4);
}

TEST(Traffic, ARandomGatherMovesSectors) {
  EXPECT_EQ(gather(1000, 4, Locality::kClustered), (Traffic{12'000, 0}));
  EXPECT_EQ(gather(1000, 4, Locality::kRandom), (Traffic{8'000, 32'000}));
  EXPECT_EQ(gather(1000, 16, Locality::kRandom), (Traffic{20'000, 32'000}));
  EXPECT_EQ(sector_bytes(33), 64U);
}

TEST(Traffic, TheFunctionsAreConstant) {
  static_assert(mix_keys(10, 8).bytes() == 160);
  static_assert((host_copy(10, 12) + write_row_ids(10)).streamed == 160);
  static_assert(radix_sort(1, 8, 0, 64).bytes() == 8 + 8 * 16);
}

}  // namespace
}  // namespace gpujoin::base::traffic
