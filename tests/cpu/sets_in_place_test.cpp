// sets_in_place_test.cpp: rows with a match and rows without one, of sides of which one is small or
// has dense keys, and of partitions of the same sides.
#include <gtest/gtest.h>

#include <set>
#include <string>
#include <vector>

#include "tests/cpu/join_tables.hpp"

namespace gpujoin::test {
namespace {

using Keys = std::vector<uint64_t>;
using Numbers = std::vector<int32_t>;

constexpr uint64_t kSparse = 0x9e3779b97f4a7c15ULL;

Keys drawn(size_t rows, uint64_t distinct, uint64_t factor, uint64_t seed) {
  std::mt19937_64 random(seed);
  Keys keys(rows);
  for (uint64_t& key : keys) key = random() % distinct * factor;
  return keys;
}

// Key columns, and two payloads.
TestTable table_of(const Numbers& widths, size_t rows, uint64_t distinct, uint64_t factor,
                   uint64_t nulls_each, uint64_t seed) {
  TestTable table;
  table.rows = rows;
  for (int32_t const width : widths) {
    table.columns.push_back(TestColumn::of_keys(width, drawn(rows, distinct, factor, ++seed)));
    if (nulls_each != 0) table.columns.back().with_nulls(rows, nulls_each, 3, seed);
  }
  table.columns.push_back(TestColumn::of_random(8, rows, seed + 10));
  table.columns.push_back(TestColumn::of_random(2, rows, seed + 20).with_nulls(rows, 3, 5, seed));
  return table;
}

// The bytes of the row's key; empty when one of its columns is NULL.
std::string key_of(const TestTable& table, size_t keys, size_t row) {
  std::string key;
  for (size_t i = 0; i < keys; ++i) {
    if (table.columns[i].is_null(row)) return "";
    key += table.columns[i].value(row);
  }
  return key;
}

std::string row_of(const TestTable& table, size_t row) {
  std::string text;
  for (TestColumn const& column : table.columns) text += column.value(row) + "|";
  return text;
}

struct Sides {
  const TestTable& side;  // whose rows come out
  const TestTable& other;
  size_t keys = 1;
  uint64_t hash_ones = 0;  // of hashes of several keys
};

void expect_rows(const Sides& sides, bool left, bool with_match, bool numbers, plan::Side build,
                 int32_t radix_bits, const std::string& how) {
  SCOPED_TRACE(testing::Message() << "left=" << left << " with_match=" << with_match
                                  << " numbers=" << numbers << " build=" << plan::to_text(build)
                                  << " bits=" << radix_bits);
  auto const queue = cpu_queue();
  queue->context.hash_ones = sides.hash_ones;
  auto join = planned(queue, left ? sides.side : sides.other, left ? sides.other : sides.side,
                      cpu_plan(plan::Gather::kUntransformed, build, radix_bits), true, true);
  using columns::JoinKind;
  join.spec.kind = with_match ? (left ? JoinKind::kLeftSemi : JoinKind::kRightSemi)
                              : (left ? JoinKind::kLeftAnti : JoinKind::kRightAnti);
  join.spec.pairs_for_marks = !numbers;
  join.spec.left_keys.clear();
  for (size_t i = 0; i < sides.keys; ++i) join.spec.left_keys.push_back(static_cast<int32_t>(i));
  join.spec.right_keys = join.spec.left_keys;
  (left ? join.spec.right_columns : join.spec.left_columns).clear();
  columns::JoinResult result;
  execute::on_cpu(queue, join, result);

  std::string const said = result.statistics.stages[1].technique;
  EXPECT_EQ(said.substr(std::min(said.size(), said.find(" match") + 6)), how) << said;
  auto const& alone = left ? result.left_alone : result.right_alone;
  ASSERT_TRUE(alone.has_value());
  std::set<std::string> others;
  for (size_t row = 0; row < sides.other.rows; ++row) {
    others.insert(key_of(sides.other, sides.keys, row));
  }
  std::vector<std::string> wanted;
  for (size_t row = 0; row < sides.side.rows; ++row) {
    std::string const key = key_of(sides.side, sides.keys, row);
    bool const has_match = !key.empty() && others.count(key) != 0;
    if (has_match == alone->with_match) wanted.push_back(row_of(sides.side, row));
  }
  columns::JoinResult found;
  found.rows = alone->rows;
  found.columns = alone->columns;
  std::vector<std::string> rows = rows_of(found);
  if (alone->numbers != nullptr) {
    auto const* const of_rows = static_cast<const uint32_t*>(alone->numbers.get());
    for (size_t i = 0; i < rows.size(); ++i) ASSERT_EQ(rows[i], row_of(sides.side, of_rows[i]));
  } else {
    EXPECT_TRUE(!numbers || rows.empty());
  }
  std::sort(rows.begin(), rows.end());
  std::sort(wanted.begin(), wanted.end());
  ASSERT_EQ(rows, wanted);
}

// how: what is said of the match, where no number of partitions is named.
void expect_sets(const Sides& sides, const std::string& how) {
  for (bool const left : {true, false}) {
    for (bool const with_match : {true, false}) {
      for (plan::Side const build : {plan::Side::kLeft, plan::Side::kRight}) {
        expect_rows(sides, left, with_match, left == with_match, build, 0, how);
        if (testing::Test::HasFatalFailure()) return;
      }
      expect_rows(sides, left, with_match, true, plan::Side::kLeft, 3, "");
      expect_rows(sides, left, with_match, false, plan::Side::kLeft, 3, "");
      if (testing::Test::HasFatalFailure()) return;
    }
  }
}

TEST(SetsInPlace, OfATableOfTheOtherSide) {
  for (int32_t const width : {4, 8}) {
    for (uint64_t const nulls_each : {0, 7}) {
      // Keys of one row mostly, and of several.
      for (uint64_t const distinct : {1 << 20, 900}) {
        TestTable const side = table_of({width}, 9000, 2000, kSparse, nulls_each, 1);
        TestTable const other = table_of({width}, 3000, distinct, kSparse, nulls_each, 2);
        expect_sets({side, other}, ", rows in place");
      }
    }
  }
}

TEST(SetsInPlace, OfATableOfTheirOwn) {
  for (int32_t const width : {4, 8}) {
    for (uint64_t const nulls_each : {0, 7}) {
      for (uint64_t const distinct : {1 << 20, 900}) {
        TestTable const side = table_of({width}, 3000, distinct, kSparse, nulls_each, 3);
        TestTable const other = table_of({width}, 9000, 600, kSparse, nulls_each, 4);
        expect_sets({side, other}, ", by marks");
      }
    }
  }
}

TEST(SetsInPlace, OfBitsOfTheOtherSide) {
  for (int32_t const width : {4, 8}) {
    for (uint64_t const nulls_each : {0, 7}) {
      TestTable const side = table_of({width}, 20000, 24000, 1, nulls_each, 5);
      // Nearly all keys come again; many times each.
      for (uint64_t const distinct : {9000, 100}) {
        TestTable const other = table_of({width}, 18000, distinct, 1, nulls_each, 6);
        expect_sets({side, other}, ", rows in place");
      }
    }
  }
}

TEST(SetsInPlace, OfSeveralKeysAndHashesThatCollide) {
  for (uint64_t const nulls_each : {0, 7}) {
    for (uint64_t const hash_ones : {uint64_t{0}, ~uint64_t{7}, ~uint64_t{0}}) {
      TestTable const large = table_of({4, 8}, 4000, 60, kSparse, nulls_each, 7);
      // Of one row's table each key has a place.
      for (size_t const rows : {1, 600}) {
        TestTable const few = table_of({4, 8}, rows, 60, kSparse, nulls_each, 8);
        expect_sets({large, few, 2, hash_ones}, ", rows in place");
        expect_sets({few, large, 2, hash_ones}, ", by marks");
      }
    }
  }
}

TEST(SetsInPlace, OfEmptySides) {
  TestTable const some = table_of({4}, 5000, 100, kSparse, 0, 9);
  TestTable const nulls = table_of({4}, 100, 100, kSparse, 1, 10);
  TestTable const none = table_of({4}, 0, 100, kSparse, 0, 11);
  expect_sets({some, none}, ", rows in place");
  expect_sets({none, some}, ", by marks");
  expect_sets({some, nulls}, ", rows in place");
  expect_sets({nulls, some}, ", by marks");
}

}  // namespace
}  // namespace gpujoin::test
