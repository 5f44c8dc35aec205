// key_spans_test.cpp: spans of keys that are in order, in blocks, in no order, and NULL.
#include "src/cpu/key_spans.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <random>
#include <vector>

#include "tests/cpu/key_view.hpp"

namespace gpujoin::test {
namespace {

template <typename Key>
void expect_spans() {
  constexpr size_t kRows = 1 << 20;
  constexpr size_t kBlock = 1 << 16;
  std::mt19937_64 random(1);
  std::vector<Key> keys(kRows);
  std::iota(keys.begin(), keys.end(), Key{-5000});
  auto const window = [&] { return cpu::usual_window_span(view_of(keys, nullptr), kRows); };
  EXPECT_LE(window(), 1U << 14);
  EXPECT_GT(window(), 15U << 10);
  EXPECT_LE(cpu::drawn_span(view_of(keys, nullptr), kRows), kRows);
  EXPECT_GT(cpu::drawn_span(view_of(keys, nullptr), kRows), kRows / 10 * 9);
  for (size_t first = 0; first < kRows; first += kBlock) {
    std::shuffle(keys.begin() + static_cast<int64_t>(first),
                 keys.begin() + static_cast<int64_t>(first + kBlock), random);
  }
  EXPECT_LE(window(), kBlock);
  EXPECT_GT(window(), kBlock / 10 * 9);
  std::shuffle(keys.begin(), keys.end(), random);
  EXPECT_LE(window(), kRows);
  EXPECT_GT(window(), kRows / 10 * 9);
}

TEST(KeySpans, FollowTheOrderOfRows) {
  expect_spans<int32_t>();
  expect_spans<int64_t>();
}

TEST(KeySpans, OfFewRowsAndOfExtremeKeys) {
  std::vector<int64_t> const keys = {INT64_MAX, INT64_MIN, 0};
  EXPECT_EQ(cpu::drawn_span(view_of(keys, nullptr), 3), UINT64_MAX);
  EXPECT_EQ(cpu::usual_window_span(view_of(keys, nullptr), 3), UINT64_MAX);
  EXPECT_EQ(cpu::drawn_span(view_of(keys, nullptr), 1), 1U);
  EXPECT_EQ(cpu::drawn_span(view_of(keys, nullptr), 0), 0U);
  EXPECT_EQ(cpu::usual_window_span(view_of(keys, nullptr), 0), 0U);
  std::vector<uint8_t> const last_alone = {0b100};
  EXPECT_EQ(cpu::drawn_span(view_of(keys, &last_alone), 3), 1U);
  std::vector<uint8_t> const none = {0};
  EXPECT_EQ(cpu::drawn_span(view_of(keys, &none), 3), 0U);
}

}  // namespace
}  // namespace gpujoin::test
