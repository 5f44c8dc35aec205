// kind_cost_test.cpp: what the planner makes of kinds whose rows are not those of the inner join.
#include <gtest/gtest.h>

#include <algorithm>

#include "src/plan/choose_plan.hpp"
#include "tests/plan/requests.hpp"

namespace gpujoin::plan {
namespace {

using columns::JoinKind;
using testing::dense_sample;
using testing::h200;
using testing::request_of;
using testing::sparse_sample;

PlanRequest of_kind(JoinKind kind, PlanRequest request) {
  request.kind = kind;
  const bool left = !columns::comes_alone(columns::rows_of(kind, false));
  const bool right = !columns::comes_alone(columns::rows_of(kind, true));
  if (!left) request.left.payload_widths.clear();
  if (!right) request.right.payload_widths.clear();
  request.left.key_is_output = false;
  return request;
}

JoinPlan partitions_of(const PlanRequest& request) {
  PlanRequest named = request;
  named.options.algorithm = GPUJOIN_ALGORITHM_PHJ_CARRIED;
  return choose_plan(named, sparse_sample(1), h200(), 0).plan();
}

// A block has one partition's keys of the side that is asked, whichever the plan builds on.
TEST(KindCost, PartitionsOfTheSideThatIsAskedAreWorkForAllBlocks) {
  const PlanRequest few_of_many = request_of(80'000, 17'000'000, 1);
  const int32_t bits = partitions_of(of_kind(JoinKind::kInner, few_of_many)).radix_bits;
  for (const JoinKind kind : {JoinKind::kLeftSemi, JoinKind::kLeftAnti, JoinKind::kLeftMark}) {
    const JoinPlan plan = partitions_of(of_kind(kind, few_of_many));
    EXPECT_EQ(plan.build_side, Side::kLeft);
    EXPECT_EQ(plan.radix_bits, 9) << to_text(plan);
    EXPECT_GT(plan.radix_bits, bits);
  }
  EXPECT_EQ(partitions_of(of_kind(JoinKind::kRightSemi, few_of_many)).radix_bits, bits);
}

// So that they also tell which build rows have no match.
TEST(KindCost, PartitionsAreWorkForAllBlocksWhereBuildRowsComeOutUnmatched) {
  const PlanRequest few_of_many = request_of(20'000, 3'000'000, 1);
  for (const JoinKind kind : {JoinKind::kLeft, JoinKind::kFull, JoinKind::kLeftSingle}) {
    EXPECT_EQ(partitions_of(of_kind(kind, few_of_many)).radix_bits, 9);
    const PlanRequest fewer = request_of(20'000, 300'000, 1);
    EXPECT_EQ(partitions_of(of_kind(kind, fewer)).radix_bits, carried_bits_for(300'000, 20'000, 4));
  }
  EXPECT_EQ(partitions_of(of_kind(JoinKind::kRight, few_of_many)).radix_bits,
            partitions_of(of_kind(JoinKind::kInner, few_of_many)).radix_bits);
}

// Few rows of which a match is asked are looked up in a table of the others.
TEST(KindCost, SidesThatComeOutAloneAskTheOtherSide) {
  const PlanRequest semi = of_kind(JoinKind::kLeftSemi, request_of(45'000, 56'000, 2));
  const JoinPlan plan = choose_plan(semi, SampleStatistics(), h200(), 0).plan();
  EXPECT_EQ(plan.build_side, Side::kRight) << to_text(plan);
  EXPECT_TRUE(probes_table(plan.match)) << to_text(plan);
  // Of many, too, whose keys may repeat: bits tell it where they are dense.
  const PlanRequest anti =
      of_kind(JoinKind::kLeftAnti, request_of(int64_t{1} << 25, int64_t{1} << 25, 2));
  SampleStatistics sample = dense_sample(int64_t{1} << 25, int64_t{1} << 25);
  sample.rows_per_match = 1.6;
  const PlanChoice choice = choose_plan(anti, sample, h200(), 0);
  EXPECT_EQ(choice.plan().build_side, Side::kRight) << to_text(choice.plan());
  EXPECT_EQ(choice.plan().match, Match::kDirectTable) << to_text(choice.plan());
  // Scattered ones are partitioned.
  const PlanChoice scattered = choose_plan(anti, sparse_sample(1), h200(), 0);
  EXPECT_TRUE(partitions(scattered.plan().transform)) << to_text(scattered.plan());
}

double seconds_of(JoinKind kind, const JoinPlan& plan, double match) {
  const PlanRequest request = of_kind(kind, request_of(3'000'000, 27'000'000, 2));
  return cost_of(plan, request, sparse_sample(match), h200()).seconds;
}

// Rows without a match are written: by row numbers one by one, or in order behind the pairs.
TEST(KindCost, RowsWithoutAMatchCost) {
  JoinPlan plan = partitions_of(request_of(3'000'000, 27'000'000, 2));
  const double inner = seconds_of(JoinKind::kInner, plan, 0.05);
  const double outer = seconds_of(JoinKind::kRight, plan, 0.05);
  EXPECT_GT(outer, inner + 25e6 * 2 * 3 * 4 / 4.2e12);
  EXPECT_LT(seconds_of(JoinKind::kRight, plan, 1), outer);
  plan.gather = Gather::kCarriedRows;
  const double numbers = seconds_of(JoinKind::kInner, plan, 0.05);
  EXPECT_LT(numbers, inner);
  EXPECT_GT(seconds_of(JoinKind::kRight, plan, 0.05), outer);
}

// What a filter leaves out has no match, and is fetched in order behind the pairs.
TEST(KindCost, OuterJoinsOfFewMatchesAreNoneOfRowNumbers) {
  const PlanRequest full = of_kind(JoinKind::kFull, request_of(5'000'000, 27'000'000, 2, 8));
  SampleStatistics sample = sparse_sample(0.05);
  const PlanChoice choice = choose_plan(full, sample, h200(), 0);
  EXPECT_NE(choice.plan().gather, Gather::kCarriedRows) << to_text(choice.plan());
  const bool weighs_filters =
      std::any_of(choice.candidates.begin(), choice.candidates.end(),
                  [](const Candidate& each) { return each.plan.filter != Filter::kNone; });
  EXPECT_TRUE(weighs_filters);
}

}  // namespace
}  // namespace gpujoin::plan
