// order_rule_test.cpp: plans of a join that has others after it, on the figures of an H200.
#include "src/plan/order_rule.hpp"

#include <gtest/gtest.h>

#include "tests/plan/requests.hpp"

namespace gpujoin::plan {
namespace {

using testing::h200;
using testing::sample_of;

constexpr int64_t kFact = int64_t{1} << 27;
constexpr int64_t kDimension = int64_t{1} << 25;

// Join number `join` of a sequence of one 4-byte column a dimension: row ids and the columns that
// came before travel on the left side.
PlanRequest request_of_join(int32_t join, int32_t gather = 0) {
  PlanRequest request;
  request.options.gather = gather;
  request.options.build_side = GPUJOIN_SIDE_RIGHT;
  request.left.rows = kFact;
  request.right.rows = kDimension;
  request.left.payload_widths.assign(static_cast<size_t>(join == 0 ? 0 : join + 1), 4);
  request.right.payload_widths = {4};
  request.pairs = join == 0;
  request.right.row_numbers = false;
  return request;
}

// The plan of the first of so many joins.
JoinPlan first_of(int32_t joins, double* saved, int32_t gather = 0) {
  PlanRequest const request = request_of_join(0, gather);
  PlanChoice const choice = choose_plan(request, sample_of(1.0, 25), h200(), 0);
  SequenceOutlook outlook;
  for (int32_t join = 1; join < joins; ++join)
    outlook.later.push_back(request_of_join(join, gather));
  outlook.rows = outlook.fact_rows = kFact;
  return best_in_sequence(choice, outlook, h200(), saved).plan;
}

TEST(OrderRule, KnowsWhatKeepsTheOrder) {
  JoinPlan plan;
  plan.match = Match::kGlobalTable;
  plan.build_side = Side::kRight;
  EXPECT_TRUE(keeps_left_order(plan));
  plan.match = Match::kDirectTable;
  plan.gather = Gather::kCarried;
  EXPECT_TRUE(keeps_left_order(plan));
  plan.build_side = Side::kLeft;
  EXPECT_FALSE(keeps_left_order(plan));
  plan.build_side = Side::kRight;
  plan.transform = Transform::kRadixOnesweep;
  plan.match = Match::kCoPartitions;
  EXPECT_FALSE(keeps_left_order(plan));
}

// Measured on an H200, milliseconds of PHJ-OM and NOP: 5.4 and 9.5 alone, 15.1 and 20.2 of two
// joins, 45.9 and 43.4 of four, 137.0 and 94.0 of eight.
TEST(OrderRule, LongSequencesKeepTheOrder) {
  constexpr int32_t kByRowNumber = GPUJOIN_GATHER_UNTRANSFORMED;
  double saved = -1;
  EXPECT_TRUE(partitions(first_of(1, &saved, kByRowNumber).transform));
  EXPECT_EQ(saved, 0);
  EXPECT_TRUE(partitions(first_of(2, &saved, kByRowNumber).transform));
  EXPECT_EQ(algorithm_name(first_of(8, &saved, kByRowNumber)), "NOP");
  EXPECT_GT(saved, 1e-3);
}

// Joins that carry their columns are so much faster that order is worth the table in longer
// sequences only.
TEST(OrderRule, CarriedSequencesKeepTheOrderWhenTheyAreLonger) {
  double saved = -1;
  EXPECT_TRUE(testing::joins_hashed_parts(first_of(1, &saved)));
  EXPECT_EQ(saved, 0);
  EXPECT_FALSE(keeps_left_order(first_of(2, &saved)));
  // The table whose probe writes columns, which costs less than pairs and a fetch.
  EXPECT_TRUE(keeps_left_order(first_of(24, &saved)));
  EXPECT_EQ(first_of(24, &saved).gather, Gather::kCarried);
  EXPECT_GT(saved, 1e-3);
}

TEST(OrderRule, FactColumnsAtTheEndCountAsFetches) {
  PlanChoice const choice = choose_plan(request_of_join(0), sample_of(1.0, 25), h200(), 0);
  SequenceOutlook outlook;
  outlook.rows = outlook.fact_rows = kFact;
  outlook.fact_widths.assign(8, 4);
  double saved = 0;
  EXPECT_TRUE(keeps_left_order(best_in_sequence(choice, outlook, h200(), &saved).plan));
  EXPECT_GT(saved, 0);
  // In the cache, order is worth little.
  outlook.fact_rows = 1000;
  outlook.rows = 1000;
  EXPECT_FALSE(keeps_left_order(best_in_sequence(choice, outlook, h200(), &saved).plan));
}

TEST(OrderRule, KeepsToTheMemory) {
  PlanChoice choice = choose_plan(request_of_join(0), sample_of(1.0, 25), h200(), 0);
  SequenceOutlook outlook;
  outlook.rows = outlook.fact_rows = kFact;
  outlook.fact_widths.assign(8, 4);
  for (Candidate& candidate : choice.candidates) {
    if (keeps_left_order(candidate.plan)) candidate.memory_bytes = uint64_t{1} << 50;
  }
  choice.memory_limit_bytes = uint64_t{1} << 40;
  double saved = -1;
  EXPECT_TRUE(best_in_sequence(choice, outlook, h200(), &saved).plan == choice.plan());
  EXPECT_EQ(saved, 0);
}

TEST(OrderRule, LooksUpWhereNearlyEachRowHasOneMatch) {
  PlanRequest request = request_of_join(0);
  request.pairs = false;
  SampleStatistics sample = sample_of(1.0, 25);
  sample.counted = true;
  PlanChoice choice = choose_plan(request, sample, h200(), 0);
  Candidate const* const best = best_lookup(choice);
  ASSERT_NE(best, nullptr);
  EXPECT_TRUE(keeps_left_order(best->plan));
  EXPECT_EQ(best->plan.gather, Gather::kCarried);
  EXPECT_EQ(best->plan.filter, Filter::kNone);
  for (Candidate const& other : choice.candidates) {
    if (keeps_left_order(other.plan) && other.plan.gather == Gather::kCarried) {
      EXPECT_LE(best->seconds, other.seconds);
    }
  }

  choice.memory_limit_bytes = 1;
  EXPECT_EQ(best_lookup(choice), nullptr) << "none fits";
  choice.memory_limit_bytes = 0;
  choice.sample.match_ratio = 0.8;
  EXPECT_EQ(best_lookup(choice), nullptr) << "rows would be lost";
  choice.sample.match_ratio = 1;
  choice.sample.rows_per_match = 1.5;
  EXPECT_EQ(best_lookup(choice), nullptr) << "rows would come twice";
  choice.sample.rows_per_match = 1;
  choice.sample.counted = false;
  EXPECT_EQ(best_lookup(choice), nullptr) << "nobody has looked";

  request.options.algorithm = GPUJOIN_ALGORITHM_PHJ_OM;
  EXPECT_EQ(best_lookup(choose_plan(request, sample, h200(), 0)), nullptr) << "another is named";
}

}  // namespace
}  // namespace gpujoin::plan
