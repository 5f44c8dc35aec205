// expected_ranges_test.cpp: where a filter by bits expects the keys of both sides, from what was
// drawn of them
#include <gtest/gtest.h>

#include <cstdint>

#include "src/execute/looked_keys.hpp"

namespace gpujoin::execute {
namespace {

// The left side is the smaller one, and was scanned.
PlannedJoin join_of(plan::KeyRange left, plan::KeyRange right) {
  PlannedJoin join;
  join.request.left.rows = 1000;
  join.request.right.rows = 2000;
  join.choice.sample.sampled = join.choice.sample.counted = true;
  join.choice.sample.build_range = left;
  join.choice.sample.probe_range = right;
  join.choice.sample.build_varying = ~uint64_t{7};
  return join;
}

plan::JoinPlan building_on(plan::Side side) {
  plan::JoinPlan plan;
  plan.build_side = side;
  return plan;
}

uint64_t turned(int64_t key) { return static_cast<uint32_t>(key) ^ 0x80000000U; }

TEST(ExpectedRanges, ReachSomeBeyondWhatWasDrawn) {
  PlannedJoin const join = join_of({-51'200, 51'200, false}, {0, 5120, false});
  auto const left = expected_ranges(join, building_on(plan::Side::kLeft), 4);
  ASSERT_TRUE(left.has_value());
  EXPECT_EQ(left->build.low, turned(-51'400));
  EXPECT_EQ(left->build.high, turned(51'400));
  // Multiples of the steps.
  EXPECT_EQ(left->build.any & ~left->build.all, ~uint64_t{7});
  EXPECT_EQ(left->probe.low, turned(-10));
  EXPECT_EQ(left->probe.high, turned(5130));
}

TEST(ExpectedRanges, TakeNoStepsFromTheOtherSide) {
  PlannedJoin const join = join_of({0, 51'200, false}, {3, 5123, false});
  auto const right = expected_ranges(join, building_on(plan::Side::kRight), 4);
  ASSERT_TRUE(right.has_value());
  EXPECT_EQ(right->build.low, turned(-7));
  EXPECT_EQ(right->build.any & ~right->build.all, UINT64_MAX);
  // Those of its own are, where its range is expected.
  PlannedJoin const half = join_of({0, 51'200, false}, {3, 102'403, false});
  auto const of_half = expected_ranges(half, building_on(plan::Side::kRight), 4);
  ASSERT_TRUE(of_half.has_value());
  EXPECT_EQ(of_half->build.any & ~of_half->build.all, UINT64_MAX);
  EXPECT_EQ(of_half->probe.high, turned(51'296));
}

// A key outside would cost more than the range leaves out.
TEST(ExpectedRanges, OfAProbeSideThatCoversTheOtherAreAll) {
  PlannedJoin join = join_of({0, 51'200, false}, {100, 51'000, false});
  auto const all = expected_ranges(join, building_on(plan::Side::kLeft), 4);
  ASSERT_TRUE(all.has_value());
  EXPECT_EQ(all->probe.low, 0U);
  EXPECT_EQ(all->probe.high, UINT32_MAX);
  join.choice.sample.probe_range.exact = true;
  EXPECT_EQ(expected_ranges(join, building_on(plan::Side::kLeft), 4)->probe.high, turned(51'000));
  join.choice.sample.probe_range = {40'000, 51'200, false};
  EXPECT_LT(expected_ranges(join, building_on(plan::Side::kLeft), 4)->probe.high, UINT32_MAX);
}

TEST(ExpectedRanges, EndWhereKeysDo) {
  for (int32_t const width : {4, 8}) {
    int64_t const low = width == 4 ? INT32_MIN : INT64_MIN;
    int64_t const high = width == 4 ? INT32_MAX : INT64_MAX;
    PlannedJoin const join = join_of({low, high, false}, {low + 1, high - 1, false});
    auto const ranges = expected_ranges(join, building_on(plan::Side::kLeft), width);
    ASSERT_TRUE(ranges.has_value());
    EXPECT_EQ(ranges->build.low, 0U);
    EXPECT_EQ(ranges->build.high, width == 4 ? UINT32_MAX : UINT64_MAX);
    EXPECT_EQ(ranges->probe.low, 0U);
    EXPECT_EQ(ranges->probe.high, width == 4 ? UINT32_MAX : UINT64_MAX);
  }
}

TEST(ExpectedRanges, AreThoseOfAllRowsWhereAllWereRead) {
  PlannedJoin const join = join_of({8, 51'200, true}, {0, 5120, true});
  auto const ranges = expected_ranges(join, building_on(plan::Side::kLeft), 4);
  ASSERT_TRUE(ranges.has_value());
  EXPECT_EQ(ranges->build.low, turned(8));
  EXPECT_EQ(ranges->build.high, turned(51'200));
  EXPECT_EQ(ranges->probe.high, turned(5120));
}

// Of few keys that are frequent and many that are not the farthest ones were not drawn.
TEST(ExpectedRanges, OfSkewedKeysAreAllOrNone) {
  PlannedJoin join = join_of({0, 51'200, false}, {5000, 51'000, false});
  join.choice.sample.heavy_probe_share = 0.9;
  auto const ranges = expected_ranges(join, building_on(plan::Side::kLeft), 4);
  ASSERT_TRUE(ranges.has_value());
  EXPECT_EQ(ranges->probe.low, 0U);
  EXPECT_EQ(ranges->probe.high, UINT32_MAX);
  EXPECT_FALSE(expected_ranges(join, building_on(plan::Side::kRight), 4).has_value());
  join.choice.sample.probe_range = {40'000, 51'000, false};
  EXPECT_FALSE(expected_ranges(join, building_on(plan::Side::kLeft), 4).has_value());
}

TEST(ExpectedRanges, AreNotKnownWhereNobodyLooked) {
  PlannedJoin join = join_of({0, 51'200, false}, {0, 5120, false});
  plan::JoinPlan packed = building_on(plan::Side::kLeft);
  packed.keys = plan::Keys::kPacked;
  EXPECT_FALSE(expected_ranges(join, packed, 4).has_value());
  join.choice.sample.probe_range = {};
  EXPECT_FALSE(expected_ranges(join, building_on(plan::Side::kLeft), 4).has_value());
  join.choice.sample = {};
  EXPECT_FALSE(expected_ranges(join, building_on(plan::Side::kLeft), 4).has_value());
}

}  // namespace
}  // namespace gpujoin::execute
