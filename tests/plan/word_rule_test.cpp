// word_rule_test.cpp: which narrow columns travel side by side.
#include "src/plan/word_rule.hpp"

#include <gtest/gtest.h>

#include <random>

namespace gpujoin::plan {
namespace {

using Words = std::vector<std::vector<size_t>>;

TEST(WordsOf, HaveAsManyNarrowColumnsAsFit) {
  EXPECT_EQ(words_of({1, 1, 1, 1}), (Words{{0, 1, 2, 3}}));
  EXPECT_EQ(words_of({2, 2}), (Words{{0, 1}}));
  EXPECT_EQ(words_of({1, 2, 1}), (Words{{1, 0, 2}}));
  EXPECT_EQ(words_of({1, 1, 2, 2, 1, 1}), (Words{{2, 3}, {0, 1, 4, 5}}));
  EXPECT_EQ(words_of({2, 1}), (Words{{0, 1}}));
}

TEST(WordsOf, HaveNoOtherColumns) {
  EXPECT_EQ(words_of({4, 8, 16}), Words{});
  EXPECT_EQ(words_of({8, 1, 4, 1, 16}), (Words{{1, 3}}));
  EXPECT_EQ(words_of({}), Words{});
}

TEST(WordsOf, HaveNoColumnByItself) {
  EXPECT_EQ(words_of({1}), Words{});
  EXPECT_EQ(words_of({4, 2}), Words{});
  EXPECT_EQ(words_of({1, 1, 1, 1, 1}), (Words{{0, 1, 2, 3}}));
  EXPECT_EQ(words_of({2, 2, 1}), (Words{{0, 1}}));
}

TEST(WordsOf, HaveAColumnByItselfWhereItIsPacked) {
  EXPECT_EQ(words_of({1}, AloneInWord::kPacked), (Words{{0}}));
  EXPECT_EQ(words_of({4, 2}, AloneInWord::kPacked), (Words{{1}}));
  EXPECT_EQ(words_of({1, 1, 1, 1, 1}, AloneInWord::kPacked), (Words{{0, 1, 2, 3}, {4}}));
}

TEST(PackedBytes, AreThoseOfTheWords) {
  std::mt19937 random(1);
  constexpr int32_t kWidths[] = {1, 2, 4, 8, 16};
  for (int round = 0; round < 2000; ++round) {
    std::vector<int32_t> widths(random() % 24);
    for (int32_t& width : widths) width = kWidths[random() % 5 * (random() % 2)];
    for (AloneInWord const alone : {AloneInWord::kAsItIs, AloneInWord::kPacked}) {
      int32_t words = 0;
      int32_t columns = 0;
      for (std::vector<size_t> const& word : words_of(widths, alone)) {
        words += 4;
        for (size_t const column : word) columns += widths[column];
      }
      EXPECT_EQ(packed_bytes(widths, alone).words, words);
      EXPECT_EQ(packed_bytes(widths, alone).columns, columns);
    }
  }
}

}  // namespace
}  // namespace gpujoin::plan
