// near_rows_test.cpp: what rows cost whose neighbours ask for the same, and rows that a filter
// leaves and that are fetched after their match.
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/plan/requests.hpp"

namespace gpujoin::plan {
namespace {

using testing::h200;
using testing::request_of;
using testing::sample_of;

constexpr int32_t kAnywhere = 64;

// Of a probe side whose rows 2^16 apart have keys so many bits apart; the build side lies anyhow.
SampleStatistics near_sample(double match_ratio, KeyRange keys, int32_t bits) {
  SampleStatistics sample = sample_of(match_ratio, 31);
  sample.build_range = sample.probe_range = keys;
  sample.probe_neighbour_bits = bits;
  return sample;
}

const Candidate& cheapest(const PlanChoice& choice) { return choice.candidates.front(); }

double stage_seconds(const PlanChoice& choice, Filter filter, Gather gather, const char* stage) {
  for (const Candidate& candidate : choice.candidates) {
    const JoinPlan& plan = candidate.plan;
    if (plan.filter != filter || plan.gather != gather || !partitions(plan.transform)) continue;
    for (const StageCost& cost : candidate.stages) {
      if (std::string(cost.stage) == stage) return cost.seconds;
    }
  }
  ADD_FAILURE() << "no such candidate";
  return 0;
}

// H200, 18 362 x 3*10^7 sorted rows of sparse keys, of which keys of the build side were replaced,
// with three columns of 8 bytes: hashed 0.32 ms, in partitions 0.60. In no order 1.1 of both.
TEST(NearRows, AskAHashedTableInAFirstCache) {
  PlanRequest request = request_of(18'362, 30'318'022, 0);
  request.left.payload_widths = {8, 8, 8};
  const KeyRange keys = {21'714, 2'147'444'029, true};
  EXPECT_EQ(testing::chosen(request, near_sample(0.64, keys, kAnywhere)), "PHJ-CARRIED");
  EXPECT_EQ(testing::chosen(request, near_sample(0.64, keys, 31)), "PHJ-CARRIED");
  EXPECT_EQ(testing::chosen(request, near_sample(0.64, keys, 22)), "NOP-CARRIED");
}

// H200, 5.6*10^6 x 6*10^7 sorted rows of which 4 % match: 0.40 ms behind a filter that takes 0.18,
// 0.82 by a table.
TEST(NearRows, AskAFilterInAFirstCache) {
  const PlanRequest request = [] {
    PlanRequest made = request_of(5'567'065, 59'941'263, 0);
    made.left.payload_widths = {4, 4};
    return made;
  }();
  // Keys of the build side that match nothing are beyond those of the probe side.
  const auto choice_of = [&](int32_t bits) {
    SampleStatistics sample = near_sample(0.041, {37, 11'134'128, true}, bits);
    sample.probe_range = {0, 5'567'064, true};
    sample.build_within = 0.04;
    sample.varying_key_bits = 24;
    return choose_plan(request, sample, h200(), 0);
  };
  const auto filter_of = [&](int32_t bits) {
    return stage_seconds(choice_of(bits), Filter::kKeyBits, Gather::kCarried, "filter");
  };
  EXPECT_LT(filter_of(13), 0.6 * filter_of(kAnywhere));
  const PlanChoice choice = choice_of(13);
  EXPECT_EQ(cheapest(choice).plan.filter, Filter::kKeyBits);
}

// H200, 7*10^5 x 9*10^7 rows of which 1.5 % match, 0.84 ms: their columns are fetched when the
// match has found them, and a filter moves none. Where most match nobody weighs that.
TEST(NearRows, OfFewMatchesAreFetchedBehindAFilter) {
  PlanRequest request = request_of(687'855, 92'383'100, 0, 8);
  request.left.payload_widths = {2, 2};
  request.right.payload_widths = {8};
  const KeyRange keys = {225, 6'878'545, true};
  const auto fetched_behind_filter = [&](double match_ratio) {
    const PlanChoice choice =
        choose_plan(request, near_sample(match_ratio, keys, kAnywhere), h200(), 0);
    return std::count_if(choice.candidates.begin(), choice.candidates.end(), [](const auto& one) {
      return one.plan.filter != Filter::kNone && one.plan.gather == Gather::kCarriedRows;
    });
  };
  EXPECT_EQ(fetched_behind_filter(0.015), 2);
  EXPECT_EQ(fetched_behind_filter(0.9), 0);
  const PlanChoice choice = choose_plan(request, near_sample(0.015, keys, kAnywhere), h200(), 0);
  EXPECT_LT(stage_seconds(choice, Filter::kKeyBits, Gather::kCarriedRows, "filter"),
            stage_seconds(choice, Filter::kKeyBits, Gather::kCarried, "filter"));
}

// H200, 1.9*10^8 pairs of 2.2*10^5 rows, 19 of a key, three columns of 16 bytes: fetched in 3.04
// ms.
TEST(NearRows, OfKeysWithManyAreFetchedFromAFirstCache) {
  PlanRequest request = request_of(222'346, 9'859'950, 0);
  request.left.payload_widths = {16, 16, 16};
  SampleStatistics sample = near_sample(1, {0, 35'103, true}, kAnywhere);
  const auto fetched = [&](double rows_per_match) {
    sample.rows_per_match = rows_per_match;
    return stage_seconds(choose_plan(request, sample, h200(), 0), Filter::kNone,
                         Gather::kCarriedRows, "materialize") /
           rows_per_match;
  };
  EXPECT_LT(fetched(19), 0.6 * fetched(7));
}

}  // namespace
}  // namespace gpujoin::plan
