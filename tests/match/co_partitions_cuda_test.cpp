// co_partitions_cuda_test.cpp: the join of partitions over keys that the host partitioned.
#include "tests/match/partitioned_keys.hpp"

namespace gpujoin::tests {
namespace {

using CoPartitions = GpuTest;

plan::JoinPlan default_plan(int32_t radix_bits) {
  plan::JoinPlan plan;
  plan.device = plan::Device::kCuda;
  plan.transform = plan::Transform::kRadixOnesweep;
  plan.match = plan::Match::kCoPartitions;
  plan.skew = plan::Skew::kWorkUnits;
  plan.radix_bits = radix_bits;
  return plan;
}

int32_t expect_shapes(base::Queue& queue, const plan::JoinPlan& plan, Layout layout, bool spreads,
                      uint64_t first_capacity, const std::vector<std::string>& names = {}) {
  SCOPED_TRACE(plan::to_text(plan) + (layout == Layout::kBuckets ? ", in buckets" : ""));
  int32_t resumes = 0;
  for (int32_t key_width : {4, 8}) {
    for (KeyShape shape : key_shapes(key_width)) {
      if (!names.empty() && std::find(names.begin(), names.end(), shape.name) == names.end()) {
        continue;
      }
      if (spreads) spread_out(&shape);
      // With few shapes there are many plans: row ids with one width only.
      for (bool row_ids : {false, true}) {
        if (!names.empty() && row_ids != (key_width == 4)) continue;
        SCOPED_TRACE(shape.name + ", keys of " + std::to_string(key_width) + " bytes" +
                     (row_ids ? ", row ids" : ""));
        resumes +=
            expect_partition_join(queue, plan, layout, shape, key_width, row_ids, first_capacity);
        if (::testing::Test::HasFailure()) return resumes;
      }
    }
  }
  return resumes;
}

TEST_F(CoPartitions, AnswerAsTheReferenceForAnyNumberOfPartitions) {
  for (int32_t radix_bits : {1, 3, 7, 12}) {
    expect_shapes(queue(), default_plan(radix_bits), Layout::kSideBySide, true, 1 << 20);
    if (HasFailure()) return;
  }
}

TEST_F(CoPartitions, AnswerAsTheReferenceForKeysThatWereNotSpread) {
  // Few partitions and few buckets of the table have all the rows.
  expect_shapes(queue(), default_plan(5), Layout::kSideBySide, false, 1 << 20);
}

TEST_F(CoPartitions, AnswerAsTheReferenceInBuckets) {
  expect_shapes(queue(), default_plan(4), Layout::kBuckets, true, 1 << 20);
}

TEST_F(CoPartitions, AnswerAsTheReferenceByNestedLoop) {
  if (!plan::has_papers()) GTEST_SKIP() << "built without the papers' techniques";
  plan::JoinPlan plan = default_plan(3);
  plan.match = plan::Match::kNestedLoop;
  expect_shapes(queue(), plan, Layout::kSideBySide, true, 1 << 20);
  expect_shapes(queue(), plan, Layout::kBuckets, false, 1 << 20);
}

const std::vector<std::string>& edges() {
  static const std::vector<std::string> names = {
      "random_0",           "random_1",        "random_33",
      "unique_0",           "unique_2049",     "one_build_row_40000",
      "one_probe_row_9999", "table_4095",      "table_4096",
      "table_4097",         "table_8193",      "duplicates_on_both",
      "all_equal",          "heavy_build_key", "heavy_probe_key",
      "no_match",           "extreme_keys"};
  return names;
}

TEST_F(CoPartitions, AnswerAsTheReferenceByEveryFinderScheduleAndOutput) {
  for (Layout layout : {Layout::kSideBySide, Layout::kBuckets}) {
    for (plan::JoinPlan const& plan : partition_plans(2)) {
      expect_shapes(queue(), plan, layout, true, 1 << 20, edges());
      if (HasFailure()) return;
    }
  }
}

TEST_F(CoPartitions, AnswerAsTheReferenceForManyPartitionsByEveryFinderScheduleAndOutput) {
  for (Layout layout : {Layout::kSideBySide, Layout::kBuckets}) {
    for (plan::JoinPlan const& plan : partition_plans(10)) {
      expect_shapes(queue(), plan, layout, true, 1 << 20, {"random_9999"});
      if (HasFailure()) return;
    }
  }
}

TEST_F(CoPartitions, AnswerTheSameWithHardlyAnyRoomAtFirst) {
  CallerAllocator allocator;
  {
    auto const list = allocator.open_queue();
    for (int32_t radix_bits : {1, 6}) {
      EXPECT_GT(expect_shapes(*list, default_plan(radix_bits), Layout::kSideBySide, true, 1), 0);
    }
    EXPECT_EQ(list->device_pool->account().guard_violations(), 0U);
  }
  EXPECT_EQ(allocator.live_blocks(), 0U);
}

TEST_F(CoPartitions, AnswerTheSameWithHardlyAnyRoomAtFirstByEveryFinderScheduleAndOutput) {
  CallerAllocator allocator;
  {
    auto const list = allocator.open_queue();
    for (plan::JoinPlan const& plan : partition_plans(1)) {
      bool const list_resumes =
          expect_shapes(*list, plan, Layout::kBuckets, true, 1,
                        {"duplicates_on_both", "heavy_build_key", "heavy_probe_key"}) > 0;
      expect_shapes(queue(), plan, Layout::kSideBySide, true, 1, {"skewed", "all_equal"});
      EXPECT_TRUE(list_resumes || plan.output != plan::Output::kGrown) << plan::to_text(plan);
      if (HasFailure()) return;
    }
    EXPECT_EQ(list->device_pool->account().guard_violations(), 0U);
  }
  EXPECT_EQ(allocator.live_blocks(), 0U);
}

// Everything in one partition: build chunks of 4096 rows, probe chunks of 16384, batches of 2048.
TEST_F(CoPartitions, SplitAPartitionThatIsTooLarge) {
  CallerAllocator allocator;
  auto const list = allocator.open_queue();
  for (plan::Skew skew :
       {plan::Skew::kNone, plan::Skew::kWorkUnits, plan::Skew::kRedistributedBlocks}) {
    plan::JoinPlan plan = default_plan(4);
    plan.skew = skew;
    if (plan::why_illegal(plan)) continue;  // built without it
    SCOPED_TRACE(plan::to_text(plan));
    for (size_t build : {size_t{4095}, size_t{4096}, size_t{4097}, size_t{8192}, size_t{8193}}) {
      for (size_t probe : {size_t{1}, size_t{2047}, size_t{2048}, size_t{2049}, size_t{16383},
                           size_t{16384}, size_t{16385}, size_t{33000}}) {
        SCOPED_TRACE(std::to_string(build) + " build rows, " + std::to_string(probe) +
                     " probe rows");
        KeyShape shape{"", unique_keys(build, 16, build),
                       random_keys(probe, build + build / 4, 16, probe)};
        for (auto* side : {&shape.build, &shape.probe}) {
          for (uint64_t& key : *side) key += 9;  // partition 9 of 16
        }
        expect_partition_join(queue(), plan, Layout::kSideBySide, shape, 4, false, 1 << 20);
        int32_t const resumes =
            expect_partition_join(*list, plan, Layout::kSideBySide, shape, 4, false, 1);
        EXPECT_EQ(resumes > 0, expected_pairs({shape.build, shape.probe, {}, {}}).size() > 1024);
        if (HasFailure()) return;
      }
    }
  }
}

// A chain of 4096 links, 400,000 pairs, 3.2 MB; the output grows while batches of a unit are under
// way.
TEST_F(CoPartitions, WalkAChainOfEqualKeysToItsEnd) {
  CallerAllocator allocator;
  auto const list = allocator.open_queue();
  KeyShape const shape{"", std::vector<uint64_t>(5000, 3), std::vector<uint64_t>(80, 3)};
  for (plan::JoinPlan const& plan : partition_plans(2)) {
    SCOPED_TRACE(plan::to_text(plan));
    expect_partition_join(queue(), plan, Layout::kSideBySide, shape, 8, false, 1);
    int32_t const resumes =
        expect_partition_join(*list, plan, Layout::kBuckets, shape, 8, false, 1);
    EXPECT_TRUE(resumes > 0 || plan.output != plan::Output::kGrown);
    if (HasFailure()) return;
  }
}

// One key many times on one side: each row of it is in one pair with each of the other side's two.
TEST_F(CoPartitions, JoinAKeyThatMostRowsHave) {
  constexpr size_t kRows = size_t{1} << 20;
  for (bool heavy_build : {true, false}) {
    std::vector<uint64_t> const heavy(kRows, 6);
    std::vector<uint64_t> const light = {6, 6, 2};
    LaidOut const build = lay_out(heavy_build ? heavy : light, 2, Layout::kSideBySide, 0);
    LaidOut const probe = lay_out(heavy_build ? light : heavy, 2, Layout::kSideBySide, 0);
    PlacedSide const placed_build(queue(), build, 4, {});
    PlacedSide const placed_probe(queue(), probe, 4, {});
    for (plan::JoinPlan const& plan : partition_plans(2)) {
      SCOPED_TRACE(plan::to_text(plan) + (heavy_build ? ", heavy build side" : ""));
      output::GrowingPairs pairs(queue(), 1 << 20);
      match::co_partitions(queue(), plan, 4, placed_build.keys(), placed_build.view(),
                           placed_probe.keys(), placed_probe.view(), pairs);
      pairs.finish();
      ASSERT_EQ(pairs.rows(), 2 * kRows);
      std::vector<uint32_t> const heavy_rows =
          download<uint32_t>(queue(), heavy_build ? pairs.build() : pairs.probe(), pairs.rows());
      std::vector<uint32_t> const light_rows =
          download<uint32_t>(queue(), heavy_build ? pairs.probe() : pairs.build(), pairs.rows());
      // A bit for each of the two light rows.
      std::vector<unsigned char> met(kRows, 0);
      for (size_t i = 0; i < heavy_rows.size(); ++i) {
        ASSERT_LT(heavy_rows[i], kRows);
        ASSERT_LT(light_rows[i], 2U);
        met[heavy_rows[i]] = static_cast<unsigned char>(met[heavy_rows[i]] | 1U << light_rows[i]);
      }
      EXPECT_EQ(std::count(met.begin(), met.end(), 3), static_cast<std::ptrdiff_t>(kRows));
    }
  }
}

// Every block begins a unit before the first buffer is full, and is stopped in the middle of it;
// the correction that follows must not make it begin again.
TEST_F(CoPartitions, AreNotBegunAgainWhenGroupsAreCorrected) {
  if (!plan::has_papers()) GTEST_SKIP() << "built without the papers' techniques";
  constexpr int32_t kBits = 8;
  constexpr uint32_t kPartitions = 1U << kBits;
  constexpr uint32_t kBuildRows = 8192;  // of a partition, each key 8 times
  constexpr uint32_t kProbeRows = 16384;
  constexpr uint32_t kSame = 8;
  std::vector<uint64_t> build;
  std::vector<uint64_t> probe;
  for (uint32_t p = 0; p < kPartitions; ++p) {
    for (uint32_t i = 0; i < kBuildRows; ++i) build.push_back(uint64_t{i / kSame} << kBits | p);
    for (uint32_t i = 0; i < kProbeRows; ++i) {
      probe.push_back(uint64_t{i % (kBuildRows / kSame)} << kBits | p);
    }
  }
  PlacedSide const placed_build(queue(), lay_out(build, kBits, Layout::kSideBySide, 0), 4, {});
  PlacedSide const placed_probe(queue(), lay_out(probe, kBits, Layout::kSideBySide, 0), 4, {});
  for (plan::Skew skew :
       {plan::Skew::kNone, plan::Skew::kWorkUnits, plan::Skew::kRedistributedBlocks}) {
    plan::JoinPlan plan = default_plan(kBits);
    plan.output = plan::Output::kEstimatedGroups;
    plan.skew = skew;
    SCOPED_TRACE(plan::to_text(plan));
    output::GrowingPairs pairs(queue(), 1);
    match::co_partitions(queue(), plan, 4, placed_build.keys(), placed_build.view(),
                         placed_probe.keys(), placed_probe.view(), pairs);
    pairs.finish();
    EXPECT_EQ(pairs.rows(), uint64_t{kPartitions} * kProbeRows * kSame);
    EXPECT_GT(pairs.resumes(), 0);
  }
}

}  // namespace
}  // namespace gpujoin::tests
