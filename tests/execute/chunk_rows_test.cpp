// chunk_rows_test.cpp: the size of a chunk that the plan leaves open.
#include "src/execute/chunk_rows.hpp"

#include <gtest/gtest.h>

namespace gpujoin::execute {
namespace {

constexpr uint64_t kMuch = uint64_t{1} << 40;

TEST(ChunkRows, ALargeSideHasSeveralChunks) {
  EXPECT_EQ(chunk_rows_for(int64_t{1} << 28, 100, kMuch), int64_t{1} << 25);
  EXPECT_EQ(chunk_rows_for(int64_t{1} << 30, 100, kMuch), int64_t{1} << 26);
}

TEST(ChunkRows, ASmallSideIsOneChunk) {
  EXPECT_EQ(chunk_rows_for(1000, 100, kMuch), 1000);
  EXPECT_EQ(chunk_rows_for(int64_t{1} << 22, 100, kMuch), int64_t{1} << 22);
  EXPECT_EQ(chunk_rows_for(0, 100, kMuch), 1);
}

TEST(ChunkRows, FitsTheRoomButIsNeverTiny) {
  EXPECT_EQ(chunk_rows_for(int64_t{1} << 30, 100, 100'000'000), 1'000'000);
  EXPECT_EQ(chunk_rows_for(int64_t{1} << 30, 100, 1000), kLeastChunkRows);
  EXPECT_EQ(chunk_rows_for(10, 100, 0), 10);
}

TEST(ChunkRows, WiderRowsTakeMore) {
  plan::PlanRequest narrow;
  narrow.left.rows = 1000;
  narrow.right.rows = 100000;
  plan::JoinPlan plan;
  plan.device = plan::Device::kCuda;
  plan.transfer = plan::Transfer::kProbeChunks;
  plan::PlanRequest wide = narrow;
  wide.right.payload_widths = {8, 8};
  EXPECT_GT(chunk_row_bytes(plan, wide), chunk_row_bytes(plan, narrow));
  plan::JoinPlan many = plan;
  many.expected_rows = 1000000;
  EXPECT_GT(chunk_row_bytes(many, narrow), chunk_row_bytes(plan, narrow));
  plan.transform = plan::Transform::kRadixOnesweep;
  plan.match = plan::Match::kCoPartitions;
  EXPECT_GT(chunk_row_bytes(plan, narrow), 4U);
}

}  // namespace
}  // namespace gpujoin::execute
