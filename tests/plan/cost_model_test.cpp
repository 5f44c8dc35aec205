#include <gtest/gtest.h>

#include <cmath>

#include "src/plan/choose_plan.hpp"
#include "tests/plan/requests.hpp"

namespace gpujoin::plan {
namespace {

using testing::dense_sample;
using testing::h200;
using testing::milliseconds_of;
using testing::pairs_request;
using testing::request_of;
using testing::sample_of;
using testing::sparse_sample;

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

TEST(CostOf, CarriedRowsAreReadOnceByEachPassAndByTheMatch) {
  JoinPlan plan = plan_named("PHJ-CARRIED");
  plan.passes = 0;
  for (const auto& [bits, passes] : {std::pair{9, 1U}, std::pair{16, 2U}}) {
    plan.radix_bits = bits;
    const uint64_t rows = uint64_t{1} << (bits + 11);  // 2048 a partition: none is cut
    const auto side_rows = static_cast<int64_t>(rows);
    const PlanRequest request = request_of(side_rows, side_rows, 2);
    const Candidate candidate = cost_of(plan, request, sample_of(1), h200());
    // A row of either side is its key and two payloads; keys are counted first.
    EXPECT_EQ(stage_bytes(candidate, "transform"), 2 * rows * (4 + passes * 2 * 12));
    EXPECT_EQ(stage_bytes(candidate, "match"), 2 * rows * 12 + rows * 20);
    EXPECT_EQ(stage_bytes(candidate, "materialize"), 0U);
  }
}

TEST(CostOf, CarriedPairsAreOneColumnMoreASide) {
  JoinPlan plan = plan_named("PHJ-CARRIED");
  PlanRequest request = request_of(kRows27, kRows27, 1);
  const uint64_t rows = uint64_t{1} << 27;
  const uint64_t without = stage_bytes(cost_of(plan, request, sample_of(1), h200()), "match");
  EXPECT_EQ(without, 2 * rows * 8 + rows * 12);
  request.pairs = true;
  EXPECT_EQ(stage_bytes(cost_of(plan, request, sample_of(1), h200()), "match"),
            without + 2 * rows * 4 + rows * 8);
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
  // Untransformed pairs are the row ids: asking for them costs nothing more, but for a lone payload
  // in their place.
  request = request_of(kRows27, kRows27, 2);
  request.pairs = true;
  const JoinPlan untransformed = plan_named("PHJ-GFUR");
  const double pairs = cost_of(untransformed, request, sample_of(1), h200()).seconds;
  request.pairs = false;
  EXPECT_DOUBLE_EQ(cost_of(untransformed, request, sample_of(1), h200()).seconds, pairs);
}

TEST(CostOf, PlainPairsHaveNothingToMaterialize) {
  const PlanRequest request = pairs_request(1000, 1000);
  EXPECT_EQ(cost_of(plan_named("NOP"), request, {}, h200()).stages.size(), 1U);
  EXPECT_STREQ(cost_of(plan_named("NOP"), request, {}, h200()).stages.back().stage, "match");
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

// What gpujoin_bench measured on an H200, milliseconds.
constexpr const char* kNames[] = {"NOP", "PHJ-OM", "PHJ-GFUR", "SMJ-OM", "SMJ-UM", "PHJ-UM"};
struct Measured {
  const char* cell;
  PlanRequest request;
  double match_ratio;
  double milliseconds[6];  // of kNames
};

std::vector<Measured> measured() {
  return {
      {"narrow-27x27", request_of(kRows27, kRows27, 1), 1, {19.3, 8.4, 8.2, 11.7, 11.6, 8.3}},
      {"narrow-27x28",
       request_of(kRows27, 2 * kRows27, 1),
       1,
       {28.0, 13.5, 13.1, 19.0, 18.9, 13.0}},
      {"narrow-25x27", request_of(kRows27 / 4, kRows27, 1), 1, {10.4, 6.1, 5.9, 8.5, 8.5, 5.5}},
      {"narrow-22x27", request_of(kRows27 / 32, kRows27, 1), 1, {4.8, 5.5, 5.2, 6.6, 6.6, 4.9}},
      {"wide2-27x27", request_of(kRows27, kRows27, 2), 1, {23.5, 13.4, 21.1, 20.1, 24.3, 20.6}},
      {"wide2-27x28", request_of(kRows27, 2 * kRows27, 2), 1, {36.2, 21.5, 39.0, 32.0, 41.5, 37.8}},
      {"wide2-23x27", request_of(kRows27 / 16, kRows27, 2), 1, {9.3, 8.6, 15.6, 10.8, 15.5, 14.8}},
      {"wide2-match25",
       request_of(kRows27, kRows27, 2),
       0.25,
       {17.5, 11.3, 10.5, 17.9, 13.6, 10.2}},
      {"wide2-match6", request_of(kRows27, kRows27, 2), 0.0625, {15.8, 10.6, 7.7, 17.1, 10.8, 7.2}},
      {"wide4-27x27", request_of(kRows27, kRows27, 4), 1, {31.8, 23.3, 33.9, 36.9, 36.7, 33.4}},
      {"wide2-8B8B",
       request_of(kRows27, kRows27, 2, 8, 8),
       1,
       {28.2, 20.7, 24.3, 31.6, 28.2, 23.2}},
      {"wide2-4B8B",
       request_of(kRows27, kRows27, 2, 4, 8),
       1,
       {24.1, 16.8, 21.6, 26.2, 24.8, 21.1}},
  };
}

TEST(CostOf, IsWithinAQuarterOfWhatWasMeasured) {
  for (const Measured& row : measured()) {
    const SampleStatistics sample = sample_of(row.match_ratio);
    for (size_t i = 0; i < std::size(kNames); ++i) {
      EXPECT_NEAR(milliseconds_of(kNames[i], row.request, sample) / row.milliseconds[i], 1, 0.25)
          << row.cell << " " << kNames[i] << ", measured " << row.milliseconds[i];
    }
  }
}

TEST(CostOf, OfCarriedPlansToo) {
  for (const auto& [payloads, measured_ms] :
       {std::pair{1, 4.7}, std::pair{2, 6.2}, std::pair{4, 10.1}}) {
    const PlanRequest request = request_of(kRows27, kRows27, payloads);
    EXPECT_NEAR(milliseconds_of("PHJ-CARRIED", request, sample_of(1)) / measured_ms, 1, 0.25)
        << payloads << " payloads a side, measured " << measured_ms;
  }
}

// Unique dense keys, 2^27 probe rows. Tables of 4 bytes a place and more: of 4, 16, 64, 8, 8 and 64
// MiB.
TEST(CostOf, OfTablesWhoseProbeWritesColumnsToo) {
  struct Row {
    int32_t build_bits;
    int32_t payloads;
    int32_t width;
    double milliseconds;
  };
  for (const Row& row : {Row{20, 1, 4, 1.28}, Row{22, 1, 4, 1.38}, Row{24, 1, 4, 2.21},
                         Row{20, 2, 4, 1.6}, Row{20, 1, 8, 1.9}, Row{23, 2, 4, 2.88}}) {
    const int64_t build = int64_t{1} << row.build_bits;
    const PlanRequest request = request_of(build, kRows27, row.payloads, row.width, row.width);
    EXPECT_NEAR(
        milliseconds_of("DIRECT-CARRIED", request, dense_sample(build, build)) / row.milliseconds,
        1, 0.25)
        << "2^" << row.build_bits << " build rows, " << row.payloads << " payloads of " << row.width
        << " bytes a side, measured " << row.milliseconds;
  }
  for (const Row& row :
       {Row{16, 1, 4, 1.22}, Row{20, 1, 4, 1.53}, Row{21, 1, 4, 1.90}, Row{22, 1, 4, 2.75},
        Row{16, 2, 4, 2.13}, Row{19, 2, 4, 2.32}, Row{20, 2, 4, 2.75}, Row{21, 2, 4, 4.56},
        Row{16, 1, 8, 2.05}, Row{19, 1, 8, 2.45}, Row{20, 1, 8, 2.91}}) {
    const PlanRequest request =
        request_of(int64_t{1} << row.build_bits, kRows27, row.payloads, row.width, row.width);
    EXPECT_NEAR(milliseconds_of("NOP-CARRIED", request, sparse_sample(1)) / row.milliseconds, 1,
                0.25)
        << "2^" << row.build_bits << " build rows, " << row.payloads << " payloads of " << row.width
        << " bytes a side, measured " << row.milliseconds;
  }
}

// A table of a power of two of slices is not one slice more.
TEST(CostOf, ATableInSlicesCostsASweepOfTheProbeSideEach) {
  const auto milliseconds = [](int64_t build) {
    return milliseconds_of("DIRECT-CARRIED", request_of(build, kRows27, 1),
                           dense_sample(build, build));
  };
  // 32 MiB, a little more, and 64 MiB.
  const double one = milliseconds(1 << 23);
  const double more = milliseconds((1 << 23) + 64);
  EXPECT_NEAR(more - one, 0.35, 0.02);
  EXPECT_LT(milliseconds(1 << 24) - more, 1);
}

// wide2 of 2^27 x 2^27 rows, whose build keys lie in twice the range of the probe side's.
TEST(CostOf, OfAFilterToo) {
  const PlanRequest request = request_of(kRows27, kRows27, 2);
  for (const auto& [ratio, measured_ms] : {std::pair{0.5, 7.08}, std::pair{0.25, 4.51},
                                           std::pair{0.0625, 2.62}, std::pair{0.01, 1.9}}) {
    JoinPlan plan = plan_named("PHJ-CARRIED");
    plan.passes = 0;
    plan.filter = Filter::kKeyBits;
    SampleStatistics sample = dense_sample(2 * kRows27, kRows27, ratio);
    sample.build_within = ratio;
    EXPECT_NEAR(cost_of(plan, request, sample, h200()).seconds * 1e3 / measured_ms, 1, 0.25)
        << ratio << ", measured " << measured_ms;
  }
}

Candidate filtered(const SampleStatistics& sample, JoinPlan plan = plan_named("PHJ-CARRIED")) {
  plan.passes = 0;
  plan.filter = Filter::kKeyBits;
  return cost_of(plan, request_of(kRows27, kRows27, 2), sample, h200());
}

double stage_ms(const Candidate& candidate, const std::string& stage) {
  for (const StageCost& cost : candidate.stages) {
    if (cost.stage == stage) return cost.seconds * 1e3;
  }
  return -1;
}

TEST(CostOf, AFilterNeedsRoomForKeysAndRowNumbersOfAllRows) {
  JoinPlan plan = plan_named("PHJ-CARRIED");
  plan.passes = 0;
  plan.radix_bits = 15;
  const SampleStatistics sample = dense_sample(kRows27, kRows27);
  const uint64_t rows = uint64_t{1} << 27;
  const uint64_t without =
      cost_of(plan, request_of(kRows27, kRows27, 2), sample, h200()).memory_bytes;
  EXPECT_EQ(filtered(sample, plan).memory_bytes, without + 2 * rows * (4 + 4));
  // What is left needs less beside it.
  SampleStatistics few = dense_sample(2 * kRows27, kRows27, 0.1);
  few.build_within = 0.1;
  EXPECT_LT(filtered(few, plan).memory_bytes, without);
}

TEST(CostOf, AFilterOfKeysTooFarApartIsALookInVain) {
  JoinPlan plan = plan_named("PHJ-CARRIED");
  plan.passes = 0;
  plan.radix_bits = 15;
  const PlanRequest request = request_of(kRows27, kRows27, 2);
  const double without = cost_of(plan, request, sparse_sample(0.1), h200()).seconds * 1e3;
  const Candidate in_vain = filtered(sparse_sample(0.1), plan);
  EXPECT_NEAR(in_vain.seconds * 1e3, without + stage_ms(in_vain, "filter"), 1e-9);
  // Keys of both sides are read once, or twice.
  EXPECT_LT(stage_ms(in_vain, "filter"), 0.8);
  // 64 MiB of bits, and one key more.
  constexpr int64_t kMost = int64_t{1} << 29;
  const double all = stage_ms(in_vain, "transform");
  const auto transform_ms = [&](int64_t keys, int64_t step) {
    SampleStatistics sample = dense_sample(step * (keys - 1) + 1, step * (keys - 1) + 1, 0.1);
    sample.varying_key_bits = keys > kMost ? 30 : 29;
    return stage_ms(filtered(sample, plan), "transform");
  };
  EXPECT_LT(transform_ms(kMost, 1), 0.6 * all);
  EXPECT_EQ(transform_ms(kMost + 1, 1), all);
  // Every fourth number is a key.
  EXPECT_EQ(transform_ms(kMost, 4), transform_ms(kMost, 1));
  EXPECT_EQ(transform_ms(kMost + 1, 4), all);
}

// Ranges that hardly meet, and those that do not meet at all, leave hardly a row.
TEST(CostOf, AFilterOfRangesThatDoNotMeetLeavesNothing) {
  SampleStatistics sample = dense_sample(kRows27, kRows27, 0);
  sample.probe_range = {kRows27, 2 * kRows27, true};
  sample.build_within = 0;
  const Candidate candidate = filtered(sample);
  EXPECT_LT(stage_ms(candidate, "transform"), 0.1);
  EXPECT_LT(stage_ms(candidate, "match"), 0.1);
  EXPECT_GT(stage_ms(candidate, "filter"), 0.2);
}

TEST(CostOf, TheSampleOfTheOtherBuildSideSaysNothingToAFilter) {
  // How many build rows are within the range is known of the sampled roles only.
  SampleStatistics sample = dense_sample(2 * kRows27, kRows27, 0.1);
  sample.build_within = 0.1;
  EXPECT_LT(filtered(sample).seconds,
            0.7 * filtered(sample, plan_named("PHJ-CARRIED", Side::kRight)).seconds);
}

// Measured on an H200, pairs, the host included.
TEST(CostOf, FewRowsInATableAreAsFastAsMeasured) {
  constexpr int64_t kMany = 1'000'000;
  const SampleStatistics dense = dense_sample(kMany, kMany);
  for (const int32_t width : {4, 8}) {
    const PlanRequest many = pairs_request(kMany, kMany, width);
    EXPECT_NEAR(milliseconds_of("DIRECT-CARRIED", many, dense), 0.044, 0.005) << width;
    EXPECT_NEAR(milliseconds_of("NOP-CARRIED", many, sparse_sample(1)), 0.064, 0.006) << width;
    EXPECT_NEAR(milliseconds_of("DIRECT-CARRIED", many, sparse_sample(1)), 0.070, 0.007) << width;
  }
  const PlanRequest few = pairs_request(1000, 1000);
  EXPECT_NEAR(milliseconds_of("DIRECT-CARRIED", few, dense_sample(1000, 1000)), 0.013, 0.003);
  EXPECT_NEAR(milliseconds_of("NOP-CARRIED", few, {}), 0.018, 0.003);
}

TEST(CostOf, FewRowsInATableAreOneLaunch) {
  const PlanRequest small = request_of(1 << 20, 1 << 20, 1);
  const PlanRequest larger = request_of(1 << 20, (1 << 20) + 1, 1);
  for (const char* name : {"NOP-CARRIED", "DIRECT-CARRIED"}) {
    const SampleStatistics dense = dense_sample(1 << 20, 1 << 20);
    EXPECT_LT(milliseconds_of(name, small, dense), milliseconds_of(name, larger, dense)) << name;
    EXPECT_LT(milliseconds_of(name, request_of(1000, 1000, 1), {}),
              milliseconds_of("NOP", request_of(1000, 1000, 1), {}))
        << name;
  }
}

TEST(CostOf, OrdersTheMeasuredAlgorithmsAsTheyWere) {
  for (const Measured& row : measured()) {
    const SampleStatistics sample = sample_of(row.match_ratio);
    const double phj_om = milliseconds_of("PHJ-OM", row.request, sample);
    const double phj_gfur = milliseconds_of("PHJ-GFUR", row.request, sample);
    EXPECT_LT(phj_om, milliseconds_of("SMJ-OM", row.request, sample)) << row.cell;
    EXPECT_LT(phj_gfur, milliseconds_of("SMJ-UM", row.request, sample)) << row.cell;
    if (row.request.left.payload_widths.size() == 1) continue;  // both do the same
    EXPECT_EQ(phj_om < phj_gfur, row.match_ratio == 1) << row.cell;
  }
}

}  // namespace
}  // namespace gpujoin::plan
