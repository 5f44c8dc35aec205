#include <gtest/gtest.h>

#include "src/plan/choose_plan.hpp"
#include "tests/plan/requests.hpp"

namespace gpujoin::plan {
namespace {

using testing::chosen;
using testing::dense_sample;
using testing::h200;
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
  // Two words of 2^27 places.
  EXPECT_EQ(chosen(request_of(kRows27, kRows27, 2), all), "PHJ-CARRIED");
  EXPECT_EQ(milliseconds_of("PDJ-CARRIED", request_of(kRows27, kRows27, 4), all), -1);
  EXPECT_EQ(milliseconds_of("PDJ-CARRIED", request_of(kRows27, kRows27, 1, 4, 1), all), -1);
  EXPECT_EQ(chosen(request_of(kRows27, kRows27, 1), sparse_sample(1)), "PHJ-CARRIED");
  // Shared memory of 99 KiB a block holds no part small enough to be moved to.
  base::DeviceFacts small = h200();
  small.shared_bytes_per_block = 99 << 10;
  EXPECT_EQ(chosen(request_of(kRows27, kRows27, 1), all, small), "PHJ-CARRIED");
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
