#include <gtest/gtest.h>

#include <cmath>

#include "src/plan/choose_plan.hpp"
#include "tests/plan/requests.hpp"

namespace gpujoin::plan {
namespace {

using testing::h200;
using testing::milliseconds_of;
using testing::pairs_request;
using testing::request_of;
using testing::sample_of;

constexpr int64_t kRows27 = int64_t{1} << 27;

JoinPlan plan_named(const std::string& algorithm, Side build_side = Side::kLeft) {
  for (const JoinPlan& plan : legal_plans(Device::kCuda)) {
    if (algorithm_name(plan) == algorithm && plan.build_side == build_side) return plan;
  }
  return JoinPlan();
}

uint64_t stage_bytes(const Candidate& candidate, const std::string& stage) {
  for (const StageCost& cost : candidate.stages) {
    if (cost.stage == stage) return cost.bytes;
  }
  return 0;
}

TEST(RadixBits, KeepAPartitionWithinTheSharedTable) {
  for (const int32_t key_width : {4, 8}) {
    const int64_t room = 3072;
    for (int64_t rows = 1; rows <= kRows27 / 2; rows *= 2) {
      const int32_t bits = radix_bits_for(rows, key_width);
      EXPECT_GE(bits, 1);
      EXPECT_LE(rows >> bits, room);
      // And no smaller than they need to be: partitions cost too.
      if (bits > 1) {
        EXPECT_GT(rows >> (bits - 1), room);
      }
    }
  }
  EXPECT_EQ(radix_bits_for(0, 4), 1);
  EXPECT_EQ(radix_bits_for(kRows27, 4), 16);
  EXPECT_EQ(radix_bits_for(int64_t{1} << 31, 8), 16);
}

TEST(CostOf, BytesAreThoseOfTheTrafficFunctions) {
  JoinPlan plan = plan_named("PHJ-OM");
  plan.radix_bits = 16;
  const PlanRequest request = request_of(kRows27, kRows27, 2);
  const Candidate candidate = cost_of(plan, request, sample_of(1), h200());
  const uint64_t rows = uint64_t{1} << 27;
  // Each side mixes its keys (8 B a row), moves the first payload with them (36 B) and looks for
  // the partitions' offsets (4 B).
  EXPECT_EQ(stage_bytes(candidate, "transform"), 2 * rows * (8 + 36 + 4));
  EXPECT_EQ(stage_bytes(candidate, "match"), 2 * rows * 4 + rows * 8);
  // Each side's second payload is moved; key and four payloads are gathered, each an index and a
  // value read and a value written.
  EXPECT_EQ(stage_bytes(candidate, "materialize"), 2 * rows * 36 + 5 * rows * 12);
  uint64_t bytes = 0;
  double seconds = 0;
  for (const StageCost& stage : candidate.stages) {
    bytes += stage.bytes;
    seconds += stage.seconds;
  }
  EXPECT_EQ(candidate.bytes, bytes);
  EXPECT_DOUBLE_EQ(candidate.seconds, seconds);
}

TEST(CostOf, SortsOnlyTheBitsThatVary) {
  const PlanRequest request = request_of(kRows27, kRows27, 1, 8);
  const JoinPlan plan = plan_named("SMJ-OM");
  const double all = cost_of(plan, request, sample_of(1, 0), h200()).seconds;
  const double some = cost_of(plan, request, sample_of(1, 27), h200()).seconds;
  EXPECT_LT(some, all * 0.75);
}

TEST(CostOf, PairsOfTransformedRelationsMoveTheRowIds) {
  PlanRequest request = request_of(kRows27, kRows27, 1);
  const JoinPlan plan = plan_named("PHJ-OM");
  const double without = cost_of(plan, request, sample_of(1), h200()).seconds;
  request.pairs = true;
  EXPECT_GT(cost_of(plan, request, sample_of(1), h200()).seconds, without * 1.3);
  // Untransformed pairs are the row ids: asking for them costs nothing more.
  const JoinPlan untransformed = plan_named("PHJ-GFUR");
  const double pairs = cost_of(untransformed, request, sample_of(1), h200()).seconds;
  request.pairs = false;
  EXPECT_DOUBLE_EQ(cost_of(untransformed, request, sample_of(1), h200()).seconds, pairs);
}

TEST(CostOf, PlainPairsHaveNothingToMaterialize) {
  const PlanRequest request = pairs_request(1000, 1000);
  EXPECT_EQ(cost_of(plan_named("NOP"), request, {}, h200()).stages.size(), 1U);
  EXPECT_EQ(cost_of(plan_named("NOP"), request, {}, h200()).stages.back().stage, "match");
}

TEST(CostOf, TurnsTheSampleRoundForTheOtherBuildSide) {
  // 1000 build rows of 10 keys meet 10^6 probe rows, half of which match 100 rows each.
  PlanRequest request = pairs_request(1000, 1'000'000);
  SampleStatistics sample = sample_of(0.5);
  sample.rows_per_match = 100;
  const uint64_t pairs = 50'000'000;
  const Candidate natural = cost_of(plan_named("PHJ-GFUR"), request, sample, h200());
  const Candidate turned = cost_of(plan_named("PHJ-GFUR", Side::kRight), request, sample, h200());
  EXPECT_EQ(stage_bytes(natural, "match"), 1'001'000 * 4 + pairs * 16);
  EXPECT_GE(stage_bytes(turned, "match"), 1'001'000 * 4 + pairs * 16);
}

TEST(CostOf, EmptySidesCostNoMoreThanLaunches) {
  for (const JoinPlan& plan : legal_plans(Device::kCuda)) {
    for (const PlanRequest& request : {request_of(0, 0, 2), request_of(0, 5, 2)}) {
      const Candidate candidate = cost_of(plan, request, {}, h200());
      EXPECT_TRUE(std::isfinite(candidate.seconds));
      EXPECT_LT(candidate.seconds, 1e-3);
    }
  }
}

TEST(CostOf, ACpuPlanOfACudaContextIsCostedAsTheCpu) {
  const JoinPlan plan = legal_plans(Device::kCpu).front();
  const PlanRequest request = request_of(1 << 24, 1 << 26, 1);
  const Candidate on_gpu_context = cost_of(plan, request, {}, h200());
  const Candidate on_cpu_context = cost_of(plan, request, {}, base::cpu_facts(16));
  EXPECT_DOUBLE_EQ(on_gpu_context.seconds, on_cpu_context.seconds);
  EXPECT_GT(on_cpu_context.seconds, 0.1);
  EXPECT_LT(on_cpu_context.seconds, 0.5);
}

// What published implementations of the same algorithms take on an H200, milliseconds.
struct Measured {
  const char* workload;
  PlanRequest request;
  double match_ratio;
  double phj_om;
  double smj_um;  // 0: not measured
  double smj_om;
};

std::vector<Measured> measured() {
  return {
      {"narrow 2^27 x 2^27", request_of(kRows27, kRows27, 1), 1, 10.05, 0, 14.37},
      {"narrow 2^27 x 2^28", request_of(kRows27, 2 * kRows27, 1), 1, 17.33, 0, 22.84},
      {"narrow 2^25 x 2^27", request_of(kRows27 / 4, kRows27, 1), 1, 8.25, 0, 10.74},
      {"narrow 2^22 x 2^27", request_of(kRows27 / 32, kRows27, 1), 1, 7.36, 0, 8.64},
      {"wide 2^27 x 2^27", request_of(kRows27, kRows27, 2), 1, 17.23, 27.43, 24.48},
      {"wide 2^27 x 2^28", request_of(kRows27, 2 * kRows27, 2), 1, 28.95, 47.76, 39.05},
      {"wide 2^23 x 2^27", request_of(kRows27 / 16, kRows27, 2), 1, 11.73, 17.37, 14.88},
      {"wide, match 25 %", request_of(kRows27, kRows27, 2), 0.25, 12.13, 14.39, 20.25},
      {"wide, match 6.25 %", request_of(kRows27, kRows27, 2), 0.0625, 10.85, 11.78, 19.54},
      {"wide 4+4", request_of(kRows27, kRows27, 4), 1, 28.93, 40.23, 43.38},
      {"wide 8 B", request_of(kRows27, kRows27, 2, 8, 8), 1, 26.30, 29.97, 34.25},
      {"wide 8 B payloads", request_of(kRows27, kRows27, 2, 4, 8), 1, 19.91, 27.28, 29.31},
  };
}

TEST(CostOf, IsWithinAQuarterOfWhatWasMeasured) {
  for (const Measured& row : measured()) {
    const SampleStatistics sample = sample_of(row.match_ratio);
    EXPECT_NEAR(milliseconds_of("PHJ-OM", row.request, sample) / row.phj_om, 1, 0.25)
        << row.workload;
    EXPECT_NEAR(milliseconds_of("SMJ-OM", row.request, sample) / row.smj_om, 1, 0.25)
        << row.workload;
    if (row.smj_um > 0) {
      EXPECT_NEAR(milliseconds_of("SMJ-UM", row.request, sample) / row.smj_um, 1, 0.25)
          << row.workload;
    }
  }
}

TEST(CostOf, OrdersTheMeasuredAlgorithmsAsTheyWere) {
  for (const Measured& row : measured()) {
    const SampleStatistics sample = sample_of(row.match_ratio);
    const double phj_om = milliseconds_of("PHJ-OM", row.request, sample);
    const double phj_gfur = milliseconds_of("PHJ-GFUR", row.request, sample);
    EXPECT_LT(phj_om, milliseconds_of("SMJ-OM", row.request, sample)) << row.workload;
    EXPECT_LT(phj_gfur, milliseconds_of("SMJ-UM", row.request, sample)) << row.workload;
    EXPECT_EQ(phj_om < phj_gfur, row.match_ratio == 1) << row.workload;
  }
}

}  // namespace
}  // namespace gpujoin::plan
