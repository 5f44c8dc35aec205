// of_papers_test.cpp: techniques of the papers are taken for those who name them, and refused where
// the library was built without them.
#include <gtest/gtest.h>

#include <algorithm>

#include "src/base/status.hpp"
#include "tests/plan/requests.hpp"

namespace gpujoin::plan {
namespace {

using testing::h200;
using testing::pairs_request;
using testing::request_of;

bool has_technique_of_papers(const JoinPlan& plan) {
  return is_of_papers(plan.transfer) || is_of_papers(plan.transform) || is_of_papers(plan.skew) ||
         is_of_papers(plan.match) || is_of_papers(plan.output, plan.gather);
}

std::vector<SampleStatistics> samples(int64_t left_rows, int64_t right_rows) {
  std::vector<SampleStatistics> all = {SampleStatistics()};
  for (const double match_ratio : {1.0, 0.1, 0.001}) {
    all.push_back(testing::dense_sample(left_rows, right_rows, match_ratio));
    all.push_back(testing::sparse_sample(match_ratio));
    SampleStatistics many = testing::sparse_sample(match_ratio);
    many.rows_per_match = 8;
    many.heaviest_build_key = 0.01;
    many.heaviest_probe_key = 0.1;
    all.push_back(many);
  }
  return all;
}

TEST(OfPapers, NoneIsTakenUnlessItIsNamed) {
  base::DeviceFacts small;
  small.is_cuda = true;
  small.compute_capability = 80;
  small.sm_count = 108;
  small.l2_bytes = 40'000'000;
  small.shared_bytes_per_block = 163 << 10;
  base::builtin_rates(small);
  for (const base::DeviceFacts& facts : {h200(), small}) {
    for (const int64_t left : {int64_t{1000}, int64_t{1} << 20, int64_t{1} << 27}) {
      for (const int64_t right : {int64_t{1000}, int64_t{1} << 23, int64_t{1} << 28}) {
        for (const int32_t width : {4, 8}) {
          for (PlanRequest request :
               {request_of(left, right, 1, width), request_of(left, right, 4, width, 8),
                pairs_request(left, right, width)}) {
            for (const int32_t keys : {1, 2}) {
              request.key_count = keys;
              for (const SampleStatistics& sample : samples(left, right)) {
                const PlanChoice choice = choose_plan(request, sample, facts, 0);
                ASSERT_FALSE(has_technique_of_papers(choice.plan())) << to_text(choice.plan());
              }
            }
          }
        }
      }
    }
  }
}

// One plan for each, which is legal in a library that has it.
std::vector<JoinPlan> plans_of_papers() {
  std::vector<JoinPlan> plans;
  JoinPlan phj;
  phj.device = Device::kCuda;
  phj.transform = Transform::kRadixOnesweep;
  phj.skew = Skew::kWorkUnits;
  phj.match = Match::kCoPartitions;
  const auto with = [&](JoinPlan plan, auto JoinPlan::*field, auto technique) {
    plan.*field = technique;
    plans.push_back(plan);
  };
  for (const Transfer technique :
       {Transfer::kManaged, Transfer::kManagedPrefetch, Transfer::kZeroCopy}) {
    with(phj, &JoinPlan::transfer, technique);
  }
  for (const Transform technique :
       {Transform::kHistogramThread, Transform::kHistogramWarp, Transform::kHistogramBlock}) {
    with(phj, &JoinPlan::transform, technique);
  }
  with(phj, &JoinPlan::skew, Skew::kRedistributedBlocks);
  with(phj, &JoinPlan::match, Match::kNestedLoop);
  for (const Output technique :
       {Output::kThreadPages, Output::kBlockChunks, Output::kTwoPasses, Output::kEstimatedGroups}) {
    with(phj, &JoinPlan::output, technique);
  }
  JoinPlan children = phj;
  children.output = Output::kTwoPasses;
  with(children, &JoinPlan::skew, Skew::kChildKernels);
  JoinPlan smj;
  smj.device = Device::kCuda;
  smj.transform = Transform::kRadixSort;
  smj.match = Match::kMergePath;
  smj.output = Output::kCounted;
  with(smj, &JoinPlan::transform, Transform::kMergeSort);
  with(smj, &JoinPlan::match, Match::kMergeTwoBounds);
  with(smj, &JoinPlan::match, Match::kMergeOneBound);
  return plans;
}

TEST(OfPapers, EachIsLegalWhereTheLibraryHasIt) {
  for (const JoinPlan& plan : plans_of_papers()) {
    const auto why = why_illegal(plan);
    EXPECT_TRUE(has_technique_of_papers(plan)) << to_text(plan);
    EXPECT_EQ(why.has_value(), !has_papers()) << to_text(plan) << why.value_or("");
    if (why) {
      EXPECT_NE(why->find("which this library was built without"), std::string::npos) << *why;
    }
  }
}

TEST(OfPapers, LegalPlansHaveThemOrHaveNone) {
  const std::vector<JoinPlan> plans = legal_plans(Device::kCuda);
  EXPECT_EQ(std::any_of(plans.begin(), plans.end(), has_technique_of_papers), has_papers());
}

// Naming one says why there is no such plan, whatever else is named.
TEST(OfPapers, NamingOneThatIsMissingIsAnIllegalPlan) {
  PlanRequest request = request_of(1 << 20, 1 << 22, 1);
  request.options.output = GPUJOIN_OUTPUT_TWO_PASSES;
  if (has_papers()) {
    const JoinPlan plan = choose_plan(request, SampleStatistics(), h200(), 0).plan();
    EXPECT_EQ(plan.output, Output::kTwoPasses);
    return;
  }
  try {
    choose_plan(request, SampleStatistics(), h200(), 0);
    ADD_FAILURE() << "a plan was found";
  } catch (const base::Error& error) {
    EXPECT_EQ(error.status(), GPUJOIN_ERROR_ILLEGAL_PLAN);
    EXPECT_EQ(std::string(error.what()),
              "output=two_passes is one of the papers' techniques, which this library was built "
              "without");
  }
}

}  // namespace
}  // namespace gpujoin::plan
