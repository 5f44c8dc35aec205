// Keys of several columns: what plans remain, and what is said of the others.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "src/base/status.hpp"
#include "src/plan/candidates.hpp"
#include "tests/plan/requests.hpp"

namespace gpujoin::plan::testing {
namespace {

PlanRequest request_on(int32_t key_count) {
  PlanRequest request = request_of(int64_t{1} << 24, int64_t{1} << 25, 2, 4 * key_count);
  request.key_count = key_count;
  return request;
}

std::string why_refused(const PlanRequest& request) {
  try {
    choose_plan(request, SampleStatistics(), h200(), 0);
  } catch (const base::Error& error) {
    EXPECT_EQ(error.status(), GPUJOIN_ERROR_ILLEGAL_PLAN);
    return error.what();
  }
  return "";
}

TEST(KeyCount, SeveralColumnsAreJoinedAsTheyAreOrByTheirHash) {
  for (int32_t key_count = 2; key_count <= 5; ++key_count) {
    PlanChoice const choice = choose_plan(request_on(key_count), SampleStatistics(), h200(), 0);
    int as_they_are = 0;
    int hashed = 0;
    for (const Candidate& candidate : choice.candidates) {
      EXPECT_EQ(why_illegal(candidate.plan, key_count), std::nullopt);
      const bool is_hashed = candidate.plan.keys == Keys::kHashed;
      ++(is_hashed ? hashed : as_they_are);
      EXPECT_EQ(candidate.plan.match == Match::kRowMultiset, !is_hashed);
      const bool verified =
          std::any_of(candidate.stages.begin(), candidate.stages.end(),
                      [](const StageCost& cost) { return std::string(cost.stage) == "verify"; });
      EXPECT_EQ(verified, is_hashed);
    }
    EXPECT_EQ(as_they_are, 1);
    EXPECT_GE(hashed, 4);
  }
}

TEST(KeyCount, KeysThatACodeHoldsAreNotHashed) {
  PlanRequest request = request_on(2);
  request.code_width = 8;
  for (const JoinPlan& candidate : candidates_of(request, h200())) {
    EXPECT_NE(candidate.keys, Keys::kHashed);
  }
}

TEST(KeyCount, OtherMatchesCompareOneColumn) {
  int others = 0;
  for (const JoinPlan& plan : legal_plans(Device::kCuda)) {
    EXPECT_EQ(why_illegal(plan, 1), std::nullopt);
    const std::string why = why_illegal(plan, 2).value_or("");
    if (plan.match == Match::kRowMultiset) {
      EXPECT_EQ(why, "");
    } else {
      EXPECT_NE(why.find("compares one key column"), std::string::npos) << why;
      ++others;
    }
  }
  EXPECT_GT(others, 0);
}

TEST(KeyCount, WhatIsNamedJoinsAHashWhereRowNumbersTravel) {
  PlanRequest request = request_on(3);
  request.options.match = GPUJOIN_MATCH_GLOBAL_TABLE;
  EXPECT_EQ(choose_plan(request, SampleStatistics(), h200(), 0).plan().keys, Keys::kHashed);
  request.options = GPUJOIN_PLAN_OPTIONS_INIT;
  request.options.algorithm = GPUJOIN_ALGORITHM_PHJ_OM;
  EXPECT_EQ(why_refused(request),
            "gather=transformed moves payloads before keys=hashed are verified");
  request.options = GPUJOIN_PLAN_OPTIONS_INIT;
  request.options.filter = GPUJOIN_FILTER_KEY_HASHES;
  EXPECT_EQ(why_refused(request), "filter=key_hashes reads keys, and keys=hashed are not");
}

TEST(KeyCount, TheRowMultisetIsAPlanForOneColumnByName) {
  PlanRequest request = request_on(1);
  request.options.match = GPUJOIN_MATCH_ROW_MULTISET;
  EXPECT_EQ(algorithm_name(choose_plan(request, SampleStatistics(), h200(), 0).plan()),
            "ROW-MULTISET");
  // Unnamed it is not weighed.
  for (const JoinPlan& candidate : candidates_of(request_on(1), h200())) {
    EXPECT_NE(candidate.match, Match::kRowMultiset);
  }
  if (!has_papers()) return;
  request.options.output = GPUJOIN_OUTPUT_TWO_PASSES;
  const JoinPlan plan = choose_plan(request, SampleStatistics(), h200(), 0).plan();
  EXPECT_EQ(plan.match, Match::kRowMultiset);
  EXPECT_EQ(plan.output, Output::kTwoPasses);
}

TEST(KeyCount, OnTheCpuSeveralColumnsAreGatheredUntransformed) {
  PlanRequest request = request_on(2);
  request.left.in_host_memory = request.right.in_host_memory = true;
  request.options.device = GPUJOIN_DEVICE_CPU;
  EXPECT_EQ(choose_plan(request, SampleStatistics(), h200(), 0).plan().gather,
            Gather::kUntransformed);
  request.options.gather = GPUJOIN_GATHER_TRANSFORMED;
  EXPECT_NE(why_refused(request).find("gather=untransformed"), std::string::npos);
}

TEST(KeyCount, KeysOfSeveralColumnsAreNotSampled) {
  std::string why_not;
  EXPECT_EQ(sample_effort(request_on(2), h200(), &why_not), SampleEffort::kNone);
  EXPECT_NE(why_not.find("several columns"), std::string::npos);
  EXPECT_NE(sample_effort(request_on(1), h200()), SampleEffort::kNone);
}

}  // namespace
}  // namespace gpujoin::plan::testing
