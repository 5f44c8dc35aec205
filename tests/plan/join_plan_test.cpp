#include "src/plan/join_plan.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

namespace gpujoin::plan {
namespace {

JoinPlan plan_of(Transform transform, Match match, Output output, Gather gather) {
  JoinPlan plan;
  plan.device = Device::kCuda;
  plan.transform = transform;
  plan.match = match;
  plan.output = output;
  plan.gather = gather;
  plan.skew = joins_partitions(match) ? Skew::kWorkUnits : Skew::kNone;
  return plan;
}

const JoinPlan kPhjOm =
    plan_of(Transform::kRadixOnesweep, Match::kCoPartitions, Output::kGrown, Gather::kTransformed);
const JoinPlan kNop =
    plan_of(Transform::kNone, Match::kGlobalTable, Output::kGrown, Gather::kUntransformed);
const JoinPlan kSmjUm =
    plan_of(Transform::kRadixSort, Match::kMergePath, Output::kCounted, Gather::kUntransformed);

void expect_illegal(const JoinPlan& plan, const std::string& reason) {
  const std::optional<std::string> why = why_illegal(plan);
  ASSERT_TRUE(why.has_value()) << to_text(plan);
  EXPECT_NE(why->find(reason), std::string::npos) << *why;
  EXPECT_EQ(algorithm_name(plan), "");
}

TEST(LegalPlans, CudaHasTheNamedAlgorithmsOnEitherBuildSide) {
  std::map<std::string, int> count;
  for (const JoinPlan& plan : legal_plans(Device::kCuda)) {
    EXPECT_EQ(plan.device, Device::kCuda);
    EXPECT_EQ(plan.radix_bits, 0);
    EXPECT_EQ(plan.expected_rows, 0);
    EXPECT_EQ(plan.transfer, Transfer::kNone);
    if (!algorithm_name(plan).empty()) ++count[algorithm_name(plan)];
  }
  const std::map<std::string, int> expected = {{"NOP", 2},         {"PHJ-OM", 2}, {"PHJ-GFUR", 2},
                                               {"PHJ-UM", 4},      {"SMJ-OM", 2}, {"SMJ-UM", 2},
                                               {"ROW-MULTISET", 2}};
  EXPECT_EQ(count, expected);
}

TEST(LegalPlans, CpuHasOneAlgorithmWithBothGathersOnEitherBuildSide) {
  const std::vector<JoinPlan> plans = legal_plans(Device::kCpu);
  EXPECT_EQ(plans.size(), 4U);
  for (const JoinPlan& plan : plans) EXPECT_EQ(algorithm_name(plan), "CPU-RADIX");
}

TEST(LegalPlans, NoneTwice) {
  const std::vector<JoinPlan> plans = legal_plans(Device::kCuda);
  EXPECT_EQ(std::set<JoinPlan>(plans.begin(), plans.end()).size(), plans.size());
}

TEST(WhyIllegal, GatherTransformedNeedsATransform) {
  JoinPlan plan = kNop;
  plan.gather = Gather::kTransformed;
  expect_illegal(plan, "gather=transformed needs a transform that moves payloads");
}

TEST(WhyIllegal, CoPartitionsNeedPartitions) {
  JoinPlan plan = kPhjOm;
  plan.transform = Transform::kRadixSort;
  expect_illegal(plan, "needs both sides partitioned, and transform=radix_sort does not");
  plan.transform = Transform::kNone;
  plan.gather = Gather::kUntransformed;
  expect_illegal(plan, "needs both sides partitioned, and transform=none does not");
}

TEST(WhyIllegal, MergePathNeedsSortedSides) {
  JoinPlan plan = kSmjUm;
  plan.transform = Transform::kRadixOnesweep;
  expect_illegal(plan, "needs both sides sorted, and transform=radix_onesweep does not");
  plan.transform = Transform::kNone;
  expect_illegal(plan, "needs both sides sorted, and transform=none does not");
}

TEST(WhyIllegal, GlobalTableWastesATransform) {
  JoinPlan plan = kNop;
  plan.transform = Transform::kRadixSort;
  expect_illegal(plan, "transform=radix_sort would be wasted");
}

TEST(WhyIllegal, OutputFollowsTheMatch) {
  JoinPlan plan = kPhjOm;
  plan.output = Output::kCounted;
  expect_illegal(plan, "output=counted needs a match that knows its counts first");
  plan = kSmjUm;
  plan.output = Output::kGrown;
  expect_illegal(plan, "its output is counted, not grown");
}

TEST(WhyIllegal, RadixBitsHaveARangeOnEachDevice) {
  JoinPlan plan = kPhjOm;
  for (const int32_t bits : {0, 1, 16}) {
    plan.radix_bits = bits;
    EXPECT_EQ(why_illegal(plan), std::nullopt) << bits;
  }
  for (const int32_t bits : {-1, 17}) {
    plan.radix_bits = bits;
    expect_illegal(plan, "is out of range: 1 to 16 on CUDA");
  }
  plan.device = Device::kCpu;
  plan.radix_bits = 14;
  EXPECT_EQ(why_illegal(plan), std::nullopt);
  plan.radix_bits = 15;
  expect_illegal(plan, "radix_bits=15 is out of range: 1 to 14 on the CPU");
}

TEST(WhyIllegal, RadixBitsBelongToPartitions) {
  JoinPlan plan = kSmjUm;
  plan.radix_bits = 8;
  expect_illegal(plan, "radix_bits=8 needs a transform that partitions, not radix_sort");
}

TEST(WhyIllegal, CpuHasRadixOnesweepAndNoCopies) {
  JoinPlan plan = kNop;
  plan.device = Device::kCpu;
  expect_illegal(plan, "the CPU executor has transform=radix_onesweep only, not none");
  plan = kPhjOm;
  plan.device = Device::kCpu;
  plan.transfer = Transfer::kExplicitCopies;
  expect_illegal(plan, "the CPU reads host memory where it is");
}

TEST(WhyIllegal, NumbersThatNameNothing) {
  JoinPlan plan = kPhjOm;
  plan.match = static_cast<Match>(9);
  expect_illegal(plan, "a number that names no technique");
  plan = kPhjOm;
  plan.build_side = static_cast<Side>(0);
  expect_illegal(plan, "a number that names no technique");
}

TEST(WhyIllegal, TransfersAreLegalInEveryCudaPlan) {
  for (JoinPlan plan : legal_plans(Device::kCuda)) {
    for (int32_t transfer = GPUJOIN_TRANSFER_EXPLICIT_COPIES;
         transfer <= GPUJOIN_TRANSFER_PROBE_CHUNKS; ++transfer) {
      plan.transfer = static_cast<Transfer>(transfer);
      EXPECT_EQ(why_illegal(plan), std::nullopt) << to_text(plan);
    }
  }
}

TEST(ToText, NamesEachTechnique) {
  JoinPlan plan = kPhjOm;
  plan.radix_bits = 15;
  EXPECT_EQ(to_text(plan),
            "cuda build=left transform=radix_onesweep(15) skew=work_units match=co_partitions "
            "output=grown gather=transformed");
  plan = kSmjUm;
  plan.build_side = Side::kRight;
  plan.transfer = Transfer::kExplicitCopies;
  EXPECT_EQ(to_text(plan),
            "cuda transfer=explicit_copies build=right transform=radix_sort match=merge_path "
            "output=counted gather=untransformed");
}

TEST(ToText, TellsAllLegalPlansApartAndFitsTheStatistics) {
  std::set<std::string> texts;
  for (const Device device : {Device::kCuda, Device::kCpu}) {
    for (JoinPlan plan : legal_plans(device)) {
      if (device == Device::kCuda) plan.transfer = Transfer::kExplicitCopies;
      EXPECT_LT(to_text(plan).size(), sizeof(gpujoin_statistics::plan));
      EXPECT_TRUE(texts.insert(to_text(plan)).second) << to_text(plan);
    }
  }
}

}  // namespace
}  // namespace gpujoin::plan
