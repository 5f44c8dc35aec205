// growing_pairs_test.cu: room made while the match waits, in mapped pages and in a caller's blocks.
#include <functional>

#include "tests/caller_allocator.hpp"
#include "tests/output/emit_counts.cuh"

namespace gpujoin::tests {
namespace {

using GrowingPairs = GpuTest;

std::vector<uint32_t> random_counts(size_t units, uint32_t most, uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<uint32_t> counts(units * 256);
  for (uint32_t& count : counts) count = static_cast<uint32_t>(random() % (most + 1));
  return counts;
}

// As many pairs as asked for, on few units.
std::vector<uint32_t> counts_of_total(uint64_t total, size_t units) {
  std::vector<uint32_t> counts(units * 256, static_cast<uint32_t>(total / (units * 256)));
  for (size_t i = 0; i < total % (units * 256); ++i) ++counts[i * 7 % counts.size()];
  return counts;
}

TEST_F(GrowingPairs, WithRoomForAllNeverResume) {
  for (uint32_t grid : {1U, 3U, 64U}) {
    std::vector<uint32_t> const counts = random_counts(20, 12, grid);
    output::GrowingPairs pairs(queue(), 1 << 16);
    emit_counts<256>(queue(), counts, pairs, {grid});
    expect_pairs(queue(), pairs, expected_pairs(counts));
    EXPECT_EQ(pairs.resumes(), 0);
  }
}

TEST_F(GrowingPairs, OfAMatchWithoutPairsAreEmpty) {
  output::GrowingPairs pairs(queue(), 0);
  emit_counts<256>(queue(), std::vector<uint32_t>(1024, 0), pairs);
  EXPECT_EQ(pairs.rows(), 0U);
  EXPECT_EQ(pairs.resumes(), 0);
  CallerAllocator allocator;
  auto const list = allocator.open_queue();
  output::GrowingPairs list_pairs(*list, 0);
  emit_counts<256>(*list, std::vector<uint32_t>(1024, 0), list_pairs);
  EXPECT_EQ(list_pairs.rows(), 0U);
}

TEST_F(GrowingPairs, GrowWhenOnePairTooManyCame) {
  CallerAllocator allocator;
  auto const list = allocator.open_queue();
  for (base::Queue* each : {&queue(), &*list}) {
    for (int64_t beyond : {-1, 0, 1}) {
      output::GrowingPairs pairs(*each, 5000);
      uint64_t const capacity = pairs.sink().capacity;
      ASSERT_GE(capacity, 5000U);
      uint64_t const total = capacity + static_cast<uint64_t>(beyond);
      std::vector<uint32_t> const counts = counts_of_total(total, 4);
      emit_counts<256>(*each, counts, pairs);
      expect_pairs(*each, pairs, expected_pairs(counts));
      EXPECT_EQ(pairs.resumes() > 0, beyond > 0) << beyond << " beyond " << capacity;
    }
  }
}

// The largest test of the folder: about 25 MB.
TEST_F(GrowingPairs, OfMappedPagesStayWhereTheyAreWhenTheyGrow) {
  if (queue().context.device->page_bytes == 0) GTEST_SKIP() << "this device maps no pages";
  std::vector<uint32_t> const counts = random_counts(2500, 9, 5);
  output::GrowingPairs pairs(queue(), 1);
  uint32_t const* build = pairs.build();
  emit_counts<256>(queue(), counts, pairs, {16, false});
  EXPECT_GT(pairs.resumes(), 1);
  EXPECT_EQ(pairs.build(), build);
  expect_pairs(queue(), pairs, expected_pairs(counts));
}

TEST_F(GrowingPairs, OfACallersAllocatorResumeManyTimes) {
  CallerAllocator allocator;
  {
    auto const list = allocator.open_queue();
    for (uint32_t grid : {1U, 5U}) {
      std::vector<uint32_t> const counts = random_counts(60, 18, grid);
      output::GrowingPairs pairs(*list, 1);
      emit_counts<256>(*list, counts, pairs, {grid, false});
      EXPECT_GT(pairs.resumes(), 3);
      expect_pairs(*list, pairs, expected_pairs(counts));
    }
    EXPECT_GT(allocator.live_blocks(), 0U);
  }
  EXPECT_EQ(allocator.live_blocks(), 0U);
}

TEST_F(GrowingPairs, ForeseeTheNeedFromTheUnitsTaken) {
  CallerAllocator allocator;
  auto const list = allocator.open_queue();
  std::vector<uint32_t> const counts = random_counts(60, 18, 9);
  output::GrowingPairs blind(*list, 1);
  emit_counts<256>(*list, counts, blind, {2, false});
  output::GrowingPairs foreseeing(*list, 1);
  emit_counts<256>(*list, counts, foreseeing, {2, true});
  EXPECT_LT(foreseeing.resumes(), blind.resumes());
  expect_pairs(*list, foreseeing, expected_pairs(counts));
}

TEST_F(GrowingPairs, TakeUnequalCounts) {
  CallerAllocator allocator;
  auto const list = allocator.open_queue();
  std::vector<uint32_t> counts(30 * 512, 0);
  counts[5] = 7001;
  counts[3 * 512 + 511] = 20000;
  for (size_t i = 20 * 512; i < 21 * 512; ++i) counts[i] = i % 2 == 0 ? 30 : 0;
  counts.back() = 1;
  for (base::Queue* each : {&queue(), &*list}) {
    for (uint32_t grid : {1U, 4U, 40U}) {
      output::GrowingPairs pairs(*each, 1000);
      emit_counts<512>(*each, counts, pairs, {grid});
      expect_pairs(*each, pairs, expected_pairs(counts));
    }
  }
}

TEST_F(GrowingPairs, HoldRowIdsAcrossResumes) {
  CallerAllocator allocator;
  auto const list = allocator.open_queue();
  std::vector<uint32_t> const counts = random_counts(20, 30, 1);
  std::vector<uint32_t> build_ids(31);
  for (uint32_t i = 0; i < 31; ++i) build_ids[i] = 1000 + i;
  base::Buffer const ids = upload(*list, build_ids);
  output::GrowingPairs pairs(*list, 1);
  EmitOptions options;
  options.build_row_ids = ids.as<uint32_t>();
  emit_counts<256>(*list, counts, pairs, options);
  Pairs expected = expected_pairs(counts);
  for (uint64_t& pair : expected) pair += 1000;
  EXPECT_GT(pairs.resumes(), 0);
  expect_pairs(*list, pairs, expected);
}

TEST_F(GrowingPairs, MakeRoomForAKnownTotal) {
  CallerAllocator allocator;
  auto const list = allocator.open_queue();
  for (base::Queue* each : {&queue(), &*list}) {
    for (uint64_t rows : {0U, 1U, 1024U, 1025U, 700000U}) {
      output::GrowingPairs pairs(*each, 10);
      pairs.make_room(rows);
      EXPECT_EQ(pairs.rows(), rows);
      kernels::PairSink const sink = pairs.sink();
      ASSERT_GE(sink.capacity, rows);
      base::check(cudaMemsetAsync(sink.build_out, 0x11, rows * 4, base::stream_of(*each)),
                  "writing the test's build rows");
      base::check(cudaMemsetAsync(sink.probe_out, 0x22, rows * 4, base::stream_of(*each)),
                  "writing the test's probe rows");
      pairs.finish();
      EXPECT_EQ(pairs.rows(), rows);
      EXPECT_EQ(download<uint32_t>(*each, pairs.build(), rows),
                std::vector<uint32_t>(rows, 0x11111111));
      EXPECT_EQ(download<uint32_t>(*each, pairs.probe(), rows),
                std::vector<uint32_t>(rows, 0x22222222));
    }
  }
}

TEST_F(GrowingPairs, LeaveTheirColumnsToWhoeverHoldsThem) {
  CallerAllocator allocator;
  auto const list = allocator.open_queue();
  std::vector<uint32_t> const counts = random_counts(10, 10, 2);
  Pairs const expected = expected_pairs(counts);
  for (base::Queue* each : {&queue(), &*list}) {
    columns::Storage build;
    columns::Storage probe;
    {
      output::GrowingPairs pairs(*each, 1);
      emit_counts<256>(*each, counts, pairs);
      build = pairs.build_storage();
      probe = pairs.probe_storage();
    }
    // The next join must not get the memory that a result still holds.
    output::GrowingPairs next(*each, 1 << 16);
    emit_counts<256>(*each, random_counts(10, 20, 3), next);
    EXPECT_TRUE(sorted_pairs(*each, build.get(), probe.get(), expected.size()) == expected);
  }
}

}  // namespace
}  // namespace gpujoin::tests
