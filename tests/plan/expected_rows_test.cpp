// expected_rows_test.cpp: room for the output of plans that build on the side that was drawn, not
// scanned.
#include "src/plan/expected_rows.hpp"

#include <gtest/gtest.h>

#include "tests/plan/requests.hpp"

namespace gpujoin::plan {
namespace {

using testing::pairs_request;
using testing::sample_of;

// H200: 6.6*10^7 rows with Zipf 1.32 of a key of 7.4*10^7 others, of which the scan made 5.6*10^7
// pairs: the probe was made twice, 2.78 ms in the place of 1.5.
TEST(ExpectedRows, OfASkewedProbeSideAreMoreThanWereSeen) {
  const PlanRequest request = pairs_request(73'586'153, 66'162'512, 8);
  ASSERT_EQ(build_side_of(request), Side::kRight);
  SampleStatistics sample = sample_of(0.1);
  sample.rows_per_match = 7.5;
  sample.scanned_share = 0.125;
  sample.hot_rows = 48'000'000;
  const int64_t expected = 56'483'187;
  JoinPlan plan;
  plan.build_side = Side::kRight;
  EXPECT_EQ(expected_rows_of(plan, request, sample, expected), expected);
  plan.build_side = Side::kLeft;
  EXPECT_EQ(expected_rows_of(plan, request, sample, expected), 66'162'512);
  EXPECT_EQ(expected_rows_of(plan, request, sample, 40'000'000), 50'000'000);
  // No more than there are, where these are fewer than a quarter more.
  EXPECT_EQ(expected_rows_of(plan, request, sample, 70'000'000), 70'000'000);
  sample.build_keyed = 0.9;
  EXPECT_EQ(expected_rows_of(plan, request, sample, expected), 59'546'260);
  // What was seen whole, or has no hot keys, errs by its margin.
  sample.scanned_share = 1;
  EXPECT_EQ(expected_rows_of(plan, request, sample, expected), expected);
  sample.scanned_share = 0.125;
  sample.hot_rows = 0;
  EXPECT_EQ(expected_rows_of(plan, request, sample, expected), expected);
}

}  // namespace
}  // namespace gpujoin::plan
