// pack_values_test.cpp: short byte strings as integers, which are equal exactly where they are.
#include "src/cpu/pack_values.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "src/base/status.hpp"
#include "tests/cpu/join_tables.hpp"
#include "tests/keys/byte_values.hpp"

namespace gpujoin::test {
namespace {

using tests::byte_column;
using tests::ByteColumn;
using tests::BytesLayout;
using tests::Values;

std::vector<uint64_t> numbers_of(const base::Buffer& made, const ByteColumn& column) {
  if (!made) return {};
  auto const* const first = made.as<uint64_t>();
  return {first, first + column.values.size()};
}

// Of the column beside itself.
std::vector<uint64_t> packed(base::Queue& queue, const ByteColumn& column,
                             bool may_fill_words = true) {
  cpu::Workers workers(queue);
  auto const made =
      cpu::pack_values(queue, workers, column.side(), column.side(), may_fill_words, true);
  EXPECT_EQ(numbers_of(made.of_left, column), numbers_of(made.of_right, column));
  return numbers_of(made.of_left, column);
}

Values short_values(size_t rows) {
  std::mt19937_64 random(7);
  Values values;
  for (size_t i = 0; i < rows; ++i) {
    // Few letters, of which one is 0: many that differ in their lengths alone. Of 8 the first is
    // the lowest that no length is, or another.
    std::string value(random() % 9, '\0');
    for (char& letter : value) letter = static_cast<char>(random() % 2 * 255);
    if (value.size() == 8) value.front() = static_cast<char>(random() % 2 * 100 + 8);
    if (random() % 9 == 0) {
      values.emplace_back(std::nullopt);
    } else {
      values.emplace_back(std::move(value));
    }
  }
  return values;
}

TEST(PackValues, AreEqualExactlyWhereTheValuesAre) {
  auto const queue = cpu_queue();
  for (BytesLayout const layout : tests::layouts_of_any_length()) {
    for (size_t const rows : {1, 63, 5000, 200000}) {
      Values const values = short_values(rows);
      std::vector<uint64_t> const found = packed(queue, byte_column(layout, values, 5));
      ASSERT_EQ(found.size(), rows);
      std::map<std::string, uint64_t> of_value;
      std::map<uint64_t, std::string> value_of;
      for (size_t i = 0; i < rows; ++i) {
        if (!values[i]) {
          ASSERT_EQ(found[i], 0U);
          continue;
        }
        ASSERT_EQ(of_value.try_emplace(*values[i], found[i]).first->second, found[i]);
        ASSERT_EQ(value_of.try_emplace(found[i], *values[i]).first->second, *values[i]);
      }
    }
  }
}

TEST(PackValues, AreNotMadeOfLongerOnes) {
  auto const queue = cpu_queue();
  for (BytesLayout const layout : tests::layouts_of_any_length()) {
    for (size_t const long_row : {size_t{0}, size_t{4096}, size_t{199999}}) {
      Values values = short_values(200000);
      for (char const* const value : {"nine byte", "\7 or more"}) {
        values[long_row] = value;
        EXPECT_TRUE(packed(queue, byte_column(layout, values)).empty()) << long_row << value;
      }
    }
  }
  ByteColumn const eight = byte_column(BytesLayout::kOffsets32, {"seven b", "eight by"});
  EXPECT_EQ(packed(queue, eight).size(), 2U);
  EXPECT_TRUE(packed(queue, eight, false).empty());
  EXPECT_EQ(queue->host_pool->in_use_bytes(), 0U);
  EXPECT_EQ(packed(queue, byte_column(BytesLayout::kFixed, {"seven b", "bytes  "})).size(), 2U);
}

// What all values begin with is no part of their numbers, on whichever side it ends.
TEST(PackValues, LeaveOutWhatAllBeginWith) {
  auto const queue = cpu_queue();
  cpu::Workers workers(*queue);
  for (BytesLayout const layout : tests::layouts_of_any_length()) {
    for (size_t const shared : {1, 7, 8, 20, 60}) {
      std::string const begin(shared, 'c');
      Values left;
      Values right;
      for (size_t row = 0; row < 5000; ++row) {
        left.emplace_back(begin + std::to_string(10'000'000 + row * 7));
        right.emplace_back(begin + std::to_string(row));
      }
      left[17] = std::nullopt;
      ByteColumn const of_left = byte_column(layout, left);
      ByteColumn const of_right = byte_column(layout, right);
      auto const made =
          cpu::pack_values(*queue, workers, of_left.side(), of_right.side(), true, true);
      auto const lefts = numbers_of(made.of_left, of_left);
      auto const rights = numbers_of(made.of_right, of_right);
      ASSERT_EQ(lefts.size(), left.size());
      std::map<uint64_t, std::string> value_of;
      for (size_t row = 0; row < left.size(); ++row) {
        if (left[row]) {
          ASSERT_TRUE(value_of.try_emplace(lefts[row], *left[row]).second);
        }
        ASSERT_EQ(value_of.try_emplace(rights[row], *right[row]).first->second, *right[row]);
      }
      // One that begins otherwise, where no draw sees it, or is too long, or too short.
      for (std::string const& other :
           {"d" + begin.substr(1) + "1", begin.substr(1), begin + "123456789"}) {
        if (other.size() <= 8) continue;
        Values values = right;
        values[4999] = other;
        ByteColumn const of_other = byte_column(layout, values);
        EXPECT_FALSE(
            cpu::pack_values(*queue, workers, of_left.side(), of_other.side(), true, true).of_left)
            << other;
        EXPECT_FALSE(
            cpu::pack_values(*queue, workers, of_other.side(), of_left.side(), true, true).of_right)
            << other;
      }
    }
  }
  EXPECT_EQ(queue->host_pool->in_use_bytes(), 0U);
}

TEST(PackValues, KeepTheOrderOfValuesOfOneLength) {
  auto const queue = cpu_queue();
  for (Values const& values : {Values{"aab", "aba", "abb", "b\xff\1"},
                               Values{"20261127", "20261128", "20270101", "30000000"}}) {
    auto const found = packed(queue, byte_column(BytesLayout::kOffsets32, values));
    ASSERT_EQ(found.size(), 4U);
    EXPECT_TRUE(std::is_sorted(found.begin(), found.end()));
  }
  EXPECT_LT(packed(queue, byte_column(BytesLayout::kOffsets32, {"AB-10", "AB-99"}))[1] -
                packed(queue, byte_column(BytesLayout::kOffsets32, {"AB-10", "AB-99"}))[0],
            uint64_t{1} << 16);
}

TEST(PackValues, KeepTheMemoryLimitAndStopWhenAskedTo) {
  ByteColumn const column = byte_column(BytesLayout::kOffsets32, short_values(100000));
  auto const status_of = [&](base::Queue& queue) {
    cpu::Workers workers(queue);
    try {
      cpu::pack_values(queue, workers, column.side(), column.side(), true, true);
    } catch (const base::Error& error) {
      return error.status();
    }
    return GPUJOIN_OK;
  };
  auto const limited = cpu_queue(2, 500000);
  EXPECT_EQ(status_of(limited), GPUJOIN_ERROR_MEMORY_LIMIT);
  auto const cancelled = cpu_queue(2);
  cancelled->context.cancels.fetch_add(1);
  EXPECT_EQ(status_of(cancelled), GPUJOIN_ERROR_CANCELLED);
  EXPECT_EQ(cancelled->host_pool->in_use_bytes(), 0U);
}

}  // namespace
}  // namespace gpujoin::test
