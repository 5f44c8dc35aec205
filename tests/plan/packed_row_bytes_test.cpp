#include "src/base/packed_row_bytes.hpp"

#include <gtest/gtest.h>

namespace gpujoin::base::traffic {
namespace {

// Each is at a multiple of its width, and narrow ones fill the gap behind a key of 4 bytes.
TEST(PackedRowBytes, AreThoseThatARowFits) {
  EXPECT_EQ(packed_row_bytes(4, {.fours = 1, .eights = 0}), 8U);
  EXPECT_EQ(packed_row_bytes(4, {.fours = 1, .eights = 1}), 16U);
  EXPECT_EQ(packed_row_bytes(4, {.fours = 0, .eights = 1}), 16U);
  EXPECT_EQ(packed_row_bytes(4, {.fours = 2, .eights = 1}), 0U);
  EXPECT_EQ(packed_row_bytes(8, {.fours = 2, .eights = 0}), 16U);
  EXPECT_EQ(packed_row_bytes(0, {.fours = 1, .eights = 1}), 16U);
  EXPECT_EQ(packed_row_bytes(0, {.fours = 2, .eights = 0}), 8U);
  EXPECT_EQ(packed_row_bytes(0, {.ones = 3}), 4U);
  EXPECT_EQ(packed_row_bytes(0, {.twos = 2, .fours = 1}), 8U);
  EXPECT_EQ(packed_row_bytes(0, {.ones = 1, .eights = 1}), 16U);
  EXPECT_EQ(packed_row_bytes(4, {.ones = 3, .eights = 1}), 16U);
  EXPECT_EQ(packed_row_bytes(4, {.ones = 5, .eights = 1}), 0U);
  EXPECT_EQ(packed_row_bytes(4, {.ones = 1, .twos = 1, .fours = 2}), 16U);
}

TEST(PackedRowBytes, AreOfNarrowColumnsOfManyRows) {
  EXPECT_TRUE(packs_build_row(false, 100));
  EXPECT_FALSE(packs_build_row(true, 100'000));
  EXPECT_TRUE(packs_build_row(true, 1'000'000));
}

}  // namespace
}  // namespace gpujoin::base::traffic
