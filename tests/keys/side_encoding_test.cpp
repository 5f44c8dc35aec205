// side_encoding_test.cpp: codes by the ranges of one side: of that side's rows and any others they
// are equal exactly where the keys are.
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/keys/coded_rows.hpp"

namespace gpujoin::tests {
namespace {

TEST(SideEncoding, OfOthersNoneIsThatOfARowOfTheSide) {
  std::mt19937_64 random(7);
  int others = 0;
  for (int trial = 0; trial < 2000; ++trial) {
    Widths widths;
    std::vector<int32_t> bits;
    Row base;
    for (size_t c = 0; c < 2 + random() % 2; ++c) {
      widths.push_back(random() % 2 == 0 ? 4 : 8);
      bits.push_back(static_cast<int32_t>(random() % 20));
      // Now and then at an end of the type.
      base.push_back(random() % 4 == 0 ? uint64_t{1} << (8 * widths[c] - 1) : random());
    }
    std::vector<Row> side;
    for (int i = 0; i < 20; ++i) side.push_back(random_row(widths, bits, base, random));
    auto const encoding = keys::pack_side(widths, ranges_of(side, widths));
    ASSERT_TRUE(encoding && encoding->exact && !encoding->is_plain() && !encoding->assumed);
    Codes const codes(*encoding, widths);
    bool any = false;
    std::vector<uint64_t> of_side;
    for (Row const& row : side) {
      of_side.push_back(codes.of(row, &any));
      EXPECT_EQ(codes.back(of_side.back()), row);
    }
    EXPECT_FALSE(any);
    for (int32_t& count : bits) count += 2;
    for (int i = 0; i < 60; ++i) {
      Row row = random_row(widths, bits, base, random);
      // One more than the highest, or less than the lowest.
      if (i % 3 == 0) row[random() % row.size()] += i % 2 == 0 ? 1 : kMinusOne;
      for (size_t c = 0; c < row.size(); ++c) row[c] &= low_bits(8 * widths[c]);
      uint64_t const code = codes.of(row, &any);
      for (size_t k = 0; k < side.size(); ++k) {
        EXPECT_EQ(code == of_side[k], row == side[k]) << "trial " << trial;
      }
      others += std::find(side.begin(), side.end(), row) == side.end() ? 1 : 0;
    }
    if (::testing::Test::HasFailure()) return;
  }
  EXPECT_GT(others, 1000);
}

TEST(SideEncoding, TakesACodeMoreThanTheSideHasUnlessItHasAll) {
  auto const of_bits = [](const Widths& widths, const std::vector<int32_t>& bits) {
    std::vector<ColumnRange> ranges;
    for (int32_t const count : bits) ranges.push_back({0, low_bits(count)});
    return keys::pack_side(widths, ranges);
  };
  EXPECT_EQ(of_bits({4, 4}, {15, 15})->width, 4);
  EXPECT_EQ(of_bits({4, 4}, {16, 15})->width, 8);
  EXPECT_EQ(of_bits({4, 4}, {32, 32})->bits(), 64);
  EXPECT_EQ(of_bits({8, 4}, {31, 31})->bits(), 64);
  EXPECT_FALSE(of_bits({8, 4}, {32, 31}));
  EXPECT_EQ(keys::pack_side(Widths{4, 4}, std::vector<ColumnRange>{{8, 14}, {0, 0}})->bits(), 4);
}

}  // namespace
}  // namespace gpujoin::tests
