#include <gtest/gtest.h>

#include "src/plan/choose_plan.hpp"
#include "tests/plan/requests.hpp"

namespace gpujoin::plan {
namespace {

using testing::chosen;
using testing::dense_sample;
using testing::h200;
using testing::joins_hashed_parts;
using testing::milliseconds_of;
using testing::pairs_request;
using testing::request_of;
using testing::sparse_sample;

constexpr int64_t kRows25 = int64_t{1} << 25;
constexpr int64_t kRows27 = int64_t{1} << 27;

TEST(PartsCost, DenseNarrowRowsBeyondL2GoToParts) {
  const SampleStatistics all = dense_sample(kRows27, kRows27);
  EXPECT_EQ(chosen(request_of(kRows27, kRows27, 1), all), "PDJ-CARRIED");
  EXPECT_EQ(chosen(request_of(kRows27, 2 * kRows27, 1), all), "PDJ-CARRIED");
  EXPECT_EQ(chosen(pairs_request(kRows27, kRows27), all), "PDJ-CARRIED");
  EXPECT_EQ(chosen(request_of(kRows25, kRows27, 1), dense_sample(kRows25, kRows25)), "PDJ-CARRIED");
  // A table in L2 is asked where rows lie.
  EXPECT_NE(chosen(request_of(1 << 20, kRows27, 1), dense_sample(1 << 20, 1 << 20)), "PDJ-CARRIED");
}

TEST(PartsCost, WhatDoesNotFitGoesInPartitions) {
  const SampleStatistics all = dense_sample(kRows27, kRows27);
  // Five words, columns of 16 bytes, and three words of columns of 1 byte.
  EXPECT_EQ(milliseconds_of("PDJ-CARRIED", request_of(kRows27, kRows27, 5), all), -1);
  EXPECT_EQ(milliseconds_of("PDJ-CARRIED", request_of(kRows27, kRows27, 1, 4, 16), all), -1);
  EXPECT_EQ(milliseconds_of("PDJ-CARRIED", request_of(kRows27, kRows27, 9, 4, 1), all), -1);
  EXPECT_EQ(chosen(request_of(kRows27, kRows27, 1), sparse_sample(1)), "PHJ-CARRIED");
  // Shared memory of 99 KiB a block holds no part small enough to be moved to.
  base::DeviceFacts small = h200();
  small.shared_bytes_per_block = 99 << 10;
  EXPECT_EQ(chosen(request_of(kRows27, kRows27, 1), all, small), "PHJ-CARRIED");
}

TEST(PartsCost, WhatABlockDoesNotHoldIsHeldByACluster) {
  const SampleStatistics all = dense_sample(kRows27, kRows27);
  EXPECT_EQ(chosen(request_of(kRows27, kRows27, 2), all), "PDJ-CARRIED");
  EXPECT_EQ(chosen(request_of(kRows27, kRows27, 4), all), "PDJ-CARRIED");
  EXPECT_EQ(chosen(request_of(kRows27, kRows27, 2, 8, 8), all), "PDJ-CARRIED");
  // Of three words each access to another block takes twice as long.
  EXPECT_EQ(chosen(request_of(kRows27, kRows27, 3), all), "PHJ-CARRIED");
  base::DeviceFacts without_clusters = h200();
  without_clusters.compute_capability = 80;
  EXPECT_EQ(chosen(request_of(kRows27, kRows27, 2), all, without_clusters), "PHJ-CARRIED");
  EXPECT_EQ(chosen(request_of(kRows27, kRows27, 1), all, without_clusters), "PDJ-CARRIED");
}

// H200, without the look.
TEST(PartsCost, OfDenseKeysIsAsMeasured) {
  const auto of = [](int64_t build, int64_t probe, int32_t payloads, int32_t key_width = 4,
                     int32_t width = 4) {
    return milliseconds_of("PDJ-CARRIED", request_of(build, probe, payloads, key_width, width),
                           dense_sample(build, build));
  };
  constexpr int64_t kRows = 100'000'000;
  EXPECT_NEAR(of(kRows27, kRows27, 1) / 3.36, 1, 0.1);
  EXPECT_NEAR(of(kRows27, 2 * kRows27, 1) / 5.2, 1, 0.1);
  EXPECT_NEAR(of(kRows27, kRows27, 2) / 5.73, 1, 0.1);
  EXPECT_NEAR(of(kRows27, 2 * kRows27, 2) / 9.0, 1, 0.1);
  EXPECT_NEAR(of(kRows, kRows, 2) / 3.98, 1, 0.1);
  EXPECT_NEAR(of(kRows27, kRows27, 3) / 8.45, 1, 0.1);
  EXPECT_NEAR(of(kRows27, kRows27, 4) / 8.55, 1, 0.1);
  EXPECT_NEAR(of(kRows, kRows, 4) / 6.25, 1, 0.12);
  EXPECT_NEAR(of(kRows25, kRows27, 4) / 5.2, 1, 0.1);
  EXPECT_NEAR(of(1 << 24, 1 << 26, 4) / 2.62, 1, 0.1);
  EXPECT_NEAR(of(kRows27, kRows27, 2, 8, 8) / 9.0, 1, 0.12);
}

TEST(PartsCost, NarrowColumnsArePackedOnTheWay) {
  constexpr int64_t kRows = 100'000'000;
  const SampleStatistics all = dense_sample(kRows, kRows);
  const auto of = [&](int32_t payloads, int32_t width) {
    return milliseconds_of("PDJ-CARRIED", request_of(kRows, kRows, payloads, 4, width), all);
  };
  // H200, without the look.
  EXPECT_NEAR(of(8, 1) / 4.9, 1, 0.1);
  EXPECT_NEAR(of(4, 1) / 2.85, 1, 0.1);
  EXPECT_NEAR(of(1, 1) / 2.7, 1, 0.1);
  EXPECT_NEAR(of(2, 2) / 2.85, 1, 0.1);
  EXPECT_NEAR(of(4, 2) / 4.8, 1, 0.1);
  EXPECT_EQ(chosen(request_of(kRows, kRows, 8, 4, 1), all), "PDJ-CARRIED");
  EXPECT_EQ(chosen(request_of(kRows25, kRows27, 4, 4, 1), dense_sample(kRows25, kRows25)),
            "PDJ-CARRIED");
  // Words and the columns out of them are there at the same time.
  const auto bytes_of = [&](int32_t payloads, int32_t width) {
    const PlanRequest request = request_of(kRows, kRows, payloads, 4, width);
    for (const Candidate& candidate : choose_plan(request, all, h200(), 0).candidates) {
      if (algorithm_name(candidate.plan) == "PDJ-CARRIED") return candidate.memory_bytes;
    }
    return uint64_t{0};
  };
  EXPECT_EQ(bytes_of(4, 1), bytes_of(1, 4) + 2 * 4 * static_cast<uint64_t>(kRows));
  // A validity is none of them.
  PlanRequest nullable = request_of(kRows, kRows, 1);
  nullable.left.payload_widths.push_back(1);
  nullable.left.validities = 1;
  EXPECT_NE(chosen(nullable, all), "PDJ-CARRIED");
}

// Rows with a NULL key are left out on the way, not before it.
TEST(PartsCost, NullKeysCostNothingMore) {
  constexpr int64_t kRows = 100'000'000;
  SampleStatistics sample = dense_sample(kRows, kRows);
  PlanRequest request = request_of(kRows, kRows, 2);
  const double without = milliseconds_of("PDJ-CARRIED", request, sample);
  request.left.key_nullable = request.right.key_nullable = true;
  sample.build_keyed = sample.probe_keyed = 0.9;
  EXPECT_LE(milliseconds_of("PDJ-CARRIED", request, sample), without);
  EXPECT_EQ(chosen(request, sample), "PDJ-CARRIED");
}

// H200, without the look.
TEST(PartsCost, OfHashedKeysIsAsMeasured) {
  const auto milliseconds = [](const PlanRequest& request, const SampleStatistics& sample) {
    for (const Candidate& candidate : choose_plan(request, sample, h200(), 0).candidates) {
      if (joins_hashed_parts(candidate.plan)) return candidate.seconds * 1e3;
    }
    return -1.0;
  };
  const SampleStatistics all = sparse_sample(1);
  EXPECT_NEAR(milliseconds(request_of(1 << 22, kRows27, 1), all) / 2.08, 1, 0.1);
  EXPECT_NEAR(milliseconds(request_of(1 << 24, kRows27, 1), all) / 2.44, 1, 0.1);
  EXPECT_NEAR(milliseconds(request_of(kRows25, kRows27, 1), all) / 2.94, 1, 0.1);
  EXPECT_NEAR(milliseconds(pairs_request(1 << 24, kRows27), all) / 2.26, 1, 0.1);
  EXPECT_NEAR(milliseconds(request_of(1 << 24, kRows27, 2), all) / 3.46, 1, 0.1);
  EXPECT_NEAR(milliseconds(request_of(1 << 22, 1 << 26, 3), all) / 2.04, 1, 0.1);
  EXPECT_NEAR(milliseconds(request_of(10'000'000, 10'000'000, 1), all) / 0.50, 1, 0.1);
  EXPECT_NEAR(milliseconds(request_of(1 << 24, kRows27, 1), sparse_sample(0.3)) / 2.47, 1, 0.15);
  // More build rows than parts hold.
  EXPECT_GT(milliseconds(request_of(kRows27, kRows27, 1), all), 5);
}

TEST(PartsCost, SparseNarrowRowsGoToHashedParts) {
  const SampleStatistics all = sparse_sample(1);
  const auto goes = [](const PlanRequest& request, const SampleStatistics& sample) {
    return joins_hashed_parts(choose_plan(request, sample, h200(), 0).plan());
  };
  for (const int64_t build : {int64_t{1} << 22, int64_t{1} << 24, kRows25}) {
    EXPECT_TRUE(goes(request_of(build, kRows27, 1), all)) << build;
    EXPECT_FALSE(goes(request_of(build, kRows27, 1), {})) << build;
    SampleStatistics repeated = all;
    repeated.rows_per_match = 2;
    EXPECT_FALSE(goes(request_of(build, kRows27, 1), repeated)) << build;
  }
  EXPECT_FALSE(goes(request_of(kRows27, kRows27, 1), all));
  EXPECT_TRUE(goes(request_of(1 << 22, kRows27, 4), all));
  EXPECT_FALSE(goes(request_of(1 << 22, kRows27, 5), all));
  EXPECT_FALSE(goes(request_of(1 << 24, kRows27, 4), all));
  // Keys of 8 bytes within 2^32 of each other have places, others have not.
  SampleStatistics within = dense_sample(100 << 24, 100 << 24);
  within.varying_key_bits = 31;
  EXPECT_TRUE(goes(request_of(1 << 24, kRows27, 1, 8), within));
  within.build_range.high = int64_t{1} << 33;
  within.varying_key_bits = 33;
  EXPECT_FALSE(goes(request_of(1 << 24, kRows27, 1, 8), within));
}

// A foreign key's rows that are fewer than those of its primary key, as a count of matches tells.
TEST(PartsCost, OfTheLargerSideWhereTheSmallerOnesKeysRepeat) {
  constexpr int64_t kFewer = 50'000'000;
  SampleStatistics sample = dense_sample(kFewer, kRows27);
  sample.build_range.high = kRows27 - 1;
  sample.probe_range.exact = true;
  // Pairs are as many as the smaller side's rows: each of these meets one of the other side.
  sample.rows_per_match = 1.3;
  sample.match_ratio = kFewer / 1.3 / kRows27;
  const PlanRequest request = request_of(kRows27, kFewer, 1);
  const JoinPlan plan = choose_plan(request, sample, h200(), 0).plan();
  EXPECT_EQ(algorithm_name(plan), "PDJ-CARRIED");
  EXPECT_EQ(plan.build_side, Side::kLeft);
  sample.counted = false;
  EXPECT_NE(chosen(request, sample), "PDJ-CARRIED");
}

TEST(PartsCost, RowsInOrderStay) {
  SampleStatistics sample = dense_sample(kRows27, kRows27);
  sample.lies_in_order = true;
  sample.next_bits = 1;
  sample.neighbour_bits = 17;
  EXPECT_NE(chosen(request_of(kRows27, kRows27, 1), sample), "PDJ-CARRIED");
}

}  // namespace
}  // namespace gpujoin::plan
