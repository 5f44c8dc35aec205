// side_rule_test.cpp: which joins are worth a glance at their keys.
#include "src/plan/side_rule.hpp"

#include <gtest/gtest.h>

#include "tests/plan/requests.hpp"

namespace gpujoin::plan {
namespace {

using testing::h200;
using testing::request_of;

bool pays(const PlanRequest& request) {
  return pays_to_glance(choose_plan(request, {}, h200(), 0).plan(), request);
}

TEST(SideRule, GlancesAtJoinsInPartitionsWhoseSidesAreAsLarge) {
  PlanRequest request = request_of(12'000'000, 9'000'000, 4);
  ASSERT_EQ(choose_plan(request, {}, h200(), 0).plan().transform, Transform::kRadixUnordered);
  EXPECT_TRUE(pays(request));
  EXPECT_TRUE(pays(request_of(9'000'000, 12'000'000, 4)));
  EXPECT_FALSE(pays(request_of(120'000'000, 9'000'000, 4)));
  PlanRequest other = request;
  other.options.build_side = GPUJOIN_SIDE_RIGHT;
  EXPECT_FALSE(pays(other));
  other = request;
  other.options.algorithm = GPUJOIN_ALGORITHM_PHJ_CARRIED;
  EXPECT_FALSE(pays(other));
  other = request;
  other.kind = columns::JoinKind::kLeft;
  EXPECT_FALSE(pays(other));
}

TEST(SideRule, BuildsOnTheSideThatRepeatsLess) {
  EXPECT_FALSE(repeats_less({0, 0}));
  EXPECT_TRUE(repeats_less({1, 0}));
  EXPECT_FALSE(repeats_less({0, 1}));
  EXPECT_FALSE(repeats_less({8, 1}));
  EXPECT_TRUE(repeats_less({9, 1}));
  EXPECT_TRUE(repeats_less({UINT32_MAX, 1000}));
}

}  // namespace
}  // namespace gpujoin::plan
