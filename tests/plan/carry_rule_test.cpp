// carry_rule_test.cpp: which columns travel through the joins of a sequence, by a table of cases.
#include "src/plan/carry_rule.hpp"

#include <gtest/gtest.h>

#include "tests/plan/requests.hpp"

namespace gpujoin::plan {
namespace {

using testing::h200;

constexpr int64_t kLarge = int64_t{1} << 25;  // 128 MiB of 4-byte values: more than L2 holds
constexpr int64_t kSmall = int64_t{1} << 20;

bool carries(std::vector<int32_t> widths, int32_t later_joins, int64_t rows = kLarge,
             bool row_numbers_wanted = false) {
  return carries_columns({std::move(widths), rows, later_joins, row_numbers_wanted}, h200());
}

TEST(CarryRule, NothingTravelsAfterTheLastJoin) {
  EXPECT_TRUE(carries({}, 0));
  EXPECT_TRUE(carries({4}, 0));
  EXPECT_TRUE(carries({16, 16, 16, 16}, 0));
  EXPECT_TRUE(carries({16, 16, 16, 16}, 0, kLarge, true));
}

TEST(CarryRule, OneColumnTravelsItself) {
  // Its row numbers would be as wide, and be fetched by in the end.
  for (int32_t const later : {1, 2, 7, 100}) {
    EXPECT_TRUE(carries({4}, later)) << later;
    EXPECT_TRUE(carries({2}, later)) << later;
    EXPECT_TRUE(carries({4}, later, kSmall)) << later;
  }
}

TEST(CarryRule, ManyColumnsThroughManyJoinsAreFetched) {
  EXPECT_TRUE(carries({4, 4, 4, 4}, 1));
  EXPECT_TRUE(carries({4, 4}, 2));
  EXPECT_FALSE(carries({4, 4, 4}, 2));
  EXPECT_FALSE(carries({4, 4}, 3));
  EXPECT_FALSE(carries({16, 16}, 7));
}

TEST(CarryRule, ColumnsInTheCacheAreFetchedSooner) {
  EXPECT_TRUE(carries({4, 4}, 2, kLarge));
  EXPECT_FALSE(carries({4, 4}, 2, kSmall));
}

TEST(CarryRule, RowNumbersThatTravelAnywayAreUsed) {
  EXPECT_TRUE(carries({4}, 1, kLarge, true));
  EXPECT_FALSE(carries({4}, 2, kLarge, true));
}

}  // namespace
}  // namespace gpujoin::plan
