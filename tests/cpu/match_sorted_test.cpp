// match_sorted_test.cpp: sides in the order of their keys against a map, and rows out of order.
#include "src/cpu/match_sorted.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <numeric>

#include "src/base/status.hpp"
#include "tests/cpu/join_tables.hpp"

namespace gpujoin::test {
namespace {

using Keys = std::vector<uint64_t>;

Keys dense(size_t rows, uint64_t first = 0) {
  Keys keys(rows);
  std::iota(keys.begin(), keys.end(), first);
  return keys;
}

TestTable table_of(int32_t width, const Keys& keys, uint64_t seed) {
  TestTable table;
  table.rows = keys.size();
  table.columns.push_back(TestColumn::of_keys(width, keys));
  table.columns.push_back(TestColumn::of_random(width == 4 ? 8 : 4, table.rows, seed));
  table.columns.push_back(TestColumn::of_random(2, table.rows, seed + 1));
  table.columns[2].with_nulls(table.rows, 4, 3, seed + 2);
  return table;
}

bool is_merged(const columns::JoinResult& result) {
  return result.statistics.stages.at(1).technique.find("both sides in order") != std::string::npos;
}

// Rows of pairs and of columns; merged_wanted: whether the rows may stay where they are.
void expect_right(const TestTable& left, const TestTable& right, bool merged_wanted = true,
                  int32_t threads = 4) {
  Pairs const expected = reference_pairs(left, right);
  for (plan::Side const build : {plan::Side::kLeft, plan::Side::kRight}) {
    SCOPED_TRACE(build == plan::Side::kLeft ? "builds left" : "builds right");
    auto const queue = cpu_queue(threads);
    columns::JoinResult result;
    auto const plan = cpu_plan(plan::Gather::kTransformed, build);
    execute::on_cpu(queue, planned(queue, left, right, plan, true, true), result);
    ASSERT_EQ(is_merged(result), merged_wanted);
    ASSERT_EQ(result.rows, static_cast<int64_t>(expected.size()));
    Pairs found = pairs_of(result);
    std::vector<std::string> const rows = rows_of(result);
    for (size_t i = 0; i < rows.size(); ++i) {
      ASSERT_EQ(rows[i], row_of_pair(left, right, found[i])) << "row " << i;
    }
    std::sort(found.begin(), found.end());
    ASSERT_EQ(found, expected);
    for (auto const& column : result.columns) {
      ASSERT_EQ(column.null_count, nulls_in(column, result.rows));
    }
  }
}

void expect_right(int32_t width, const Keys& left, const Keys& right, bool merged_wanted = true) {
  expect_right(table_of(width, left, 10), table_of(width, right, 20), merged_wanted);
}

// Ascending as signed or as unsigned numbers of the width. Bits above the width are 0.
void put_in_order(Keys& keys, int32_t width, bool is_signed) {
  uint64_t const flipped = is_signed ? uint64_t{1} << (8 * width - 1) : 0;
  std::sort(keys.begin(), keys.end(),
            [&](uint64_t a, uint64_t b) { return (a ^ flipped) < (b ^ flipped); });
}

TEST(MatchSorted, IsRightAroundBlocksBatchesAndTasks) {
  for (size_t const left : {1, 2, 63, 64, 65, 128, 4095, 4097, 10000}) {
    for (size_t const right : {1, 63, 64, 65, 129, 4096, 4161, 70000}) {
      if (std::max(left, right) > 16 * std::min(left, right)) continue;
      SCOPED_TRACE(testing::Message() << left << " x " << right);
      expect_right(4, dense(left), dense(right));
      expect_right(8, dense(left, 50), dense(right));
      if (HasFatalFailure()) return;
    }
  }
}

TEST(MatchSorted, KeysThatComeTwiceMeetAllTheirRows) {
  Keys thrice;
  for (uint64_t key = 0; key < 5000; ++key) thrice.insert(thrice.end(), 1 + key % 3, key);
  expect_right(4, thrice, dense(5000));
  expect_right(4, thrice, thrice);
  expect_right(8, dense(5000), thrice);
  // One key that blocks of both ends have: behind stretches of the same keys, too.
  Keys tail = dense(128);
  tail.insert(tail.end(), 300, 127);
  expect_right(4, dense(128), tail);
  expect_right(4, tail, dense(128));
}

TEST(MatchSorted, OneKeyIsSharedByAllWorkers) {
  // Every task's rows have one key, of few matches.
  expect_right(4, Keys(200000, 7), dense(15000));
  // 5 million pairs of one key, among others.
  auto const with_heavy = [](size_t rows) {
    Keys keys = dense(1000);
    keys.insert(keys.end(), rows, 1000);
    keys.insert(keys.end(), {1001, 1002, 1004});
    return table_of(4, keys, rows);
  };
  TestTable const left = with_heavy(17000);
  TestTable const right = with_heavy(300);
  auto const queue = cpu_queue();
  columns::JoinResult result;
  execute::on_cpu(queue, planned(queue, left, right, cpu_plan(), true, false), result);
  ASSERT_TRUE(is_merged(result));
  Pairs found = pairs_of(result);
  std::sort(found.begin(), found.end());
  ASSERT_TRUE(found == reference_pairs(left, right));
}

TEST(MatchSorted, FindsBothOrders) {
  Keys const low_half = {0, 5, 0x7fffffff};
  Keys const around_0 = {0x80000000, 0xfffffffe, 0xffffffff, 0, 1, 0x7fffffff};
  Keys const high_half = {1, 0x7fffffff, 0x80000000, 0xffffffff};
  expect_right(4, around_0, around_0);
  expect_right(4, high_half, high_half);
  expect_right(4, around_0, low_half);
  expect_right(4, high_half, low_half);
  expect_right(4, around_0, high_half, false);  // of no order both are
  auto const top = std::numeric_limits<uint64_t>::max();
  expect_right(8, {top - 1, top, 0, 1}, {top, 0, 7});
  expect_right(8, {0, 1, top - 1, top}, {1, 7, top});
}

TEST(MatchSorted, OneRowOutOfOrderAnywhereIsSeen) {
  size_t const rows = 140000;
  for (size_t const row : {size_t{1}, size_t{4095}, size_t{4096}, size_t{65536}, rows - 2}) {
    SCOPED_TRACE(row);
    Keys swapped = dense(rows);
    std::swap(swapped[row], swapped[row - 1]);
    expect_right(4, swapped, dense(rows), false);
    expect_right(8, dense(10000), swapped, false);
    if (HasFatalFailure()) return;
  }
}

TEST(MatchSorted, KeysThatMayBeNullAreNotMerged) {
  TestTable left = table_of(4, dense(3000), 1);
  left.columns[0].with_nulls(left.rows, 10, 5, 3);
  expect_right(left, table_of(4, dense(3000), 2), false);
}

TEST(MatchSorted, DrawnSidesAreRight) {
  for (uint64_t seed = 0; seed < 300; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    std::mt19937_64 random(seed);
    int32_t const width = random() % 2 == 0 ? 4 : 8;
    bool const is_signed = random() % 2 == 0;
    uint64_t const distinct = 1 + random() % 3000;
    uint64_t const stride = random() % 3 == 0 ? 0x9e3779b97f4a7c15ULL | 1 : 1 + random() % 3;
    uint64_t const mask = width == 4 ? 0xffffffffU : ~uint64_t{0};
    uint64_t const first = random() % 2 == 0 ? uint64_t{0} - random() % 1000 : random() % 1000;
    auto const draw = [&] {
      Keys keys(1 + random() % 6000);
      bool const is_unique = random() % 2 == 0;
      for (uint64_t& key : keys) key = (first + random() % distinct * stride) & mask;
      put_in_order(keys, width, is_signed);
      if (is_unique) keys.erase(std::unique(keys.begin(), keys.end()), keys.end());
      return table_of(width, keys, random());
    };
    TestTable const left = draw();
    TestTable const right = draw();
    auto const queue = cpu_queue(3);
    columns::JoinResult result;
    auto const plan = cpu_plan();
    execute::on_cpu(queue, planned(queue, left, right, plan, true, true), result);
    ASSERT_EQ(is_merged(result), right.rows <= 16 * left.rows);
    Pairs found = pairs_of(result);
    std::vector<std::string> const rows = rows_of(result);
    for (size_t i = 0; i < rows.size(); ++i) {
      ASSERT_EQ(rows[i], row_of_pair(left, right, found[i]));
    }
    std::sort(found.begin(), found.end());
    ASSERT_EQ(found, reference_pairs(left, right));
  }
}

TEST(MatchSorted, ALimitForNoEstimateIsEnough) {
  TestTable const left = table_of(4, dense(1 << 15), 1);
  TestTable const right = table_of(4, dense(1 << 18), 2);
  auto const queue = cpu_queue(2, uint64_t{3} << 20);
  columns::JoinResult result;
  execute::on_cpu(queue, planned(queue, left, right, cpu_plan(), true, true), result);
  EXPECT_EQ(result.rows, 1 << 15);
  EXPECT_EQ(result.statistics.stages[1].technique, "co_partitions, counted, both sides in order");
}

TEST(MatchSorted, IsCancelledWithinOneKey) {
  TestTable const left = table_of(4, Keys(12000, 7), 1);
  TestTable const right = table_of(4, Keys(12000, 7), 2);
  auto const queue = cpu_queue(2);
  int calls = 0;
  queue->context.progress_user = &calls;
  queue->context.progress_function = [](const char*, int64_t, int64_t, void* user) {
    return ++*static_cast<int*>(user) > 50 ? 1 : 0;
  };
  columns::JoinResult result;
  try {
    execute::on_cpu(queue, planned(queue, left, right, cpu_plan(), true, false), result);
    FAIL() << "was not cancelled";
  } catch (const base::Error& error) {
    EXPECT_EQ(error.status(), GPUJOIN_ERROR_CANCELLED);
  }
}

}  // namespace
}  // namespace gpujoin::test
