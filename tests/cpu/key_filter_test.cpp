// key_filter_test.cpp: rows without a match that are told before they are moved, and joins that
// move no others.
#include "src/cpu/key_filter.hpp"

#include <gtest/gtest.h>

#include <set>
#include <string>
#include <vector>

#include "tests/cpu/join_tables.hpp"

namespace gpujoin::test {
namespace {

// Of which one row of `each` has a key below `distinct`.
TestTable table_of(int32_t width, size_t rows, uint64_t distinct, uint64_t each, bool nullable,
                   uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<uint64_t> keys(rows);
  for (uint64_t& key : keys) {
    key = random() % distinct + (random() % each == 0 ? 0 : distinct);
    key *= width == 4 ? 0x9e3779b1U : 0x9e3779b97f4a7c15U;
  }
  TestTable table;
  table.rows = rows;
  table.columns.push_back(TestColumn::of_keys(width, keys));
  if (nullable) table.columns.back().with_nulls(rows, 4, 3, seed);
  table.columns.push_back(TestColumn::of_random(8, rows, seed + 1));
  return table;
}

base::Buffer filtered(base::Queue& queue, const TestTable& table, const TestTable& others) {
  cpu::Workers workers(queue);
  auto const of_table = table.relation(queue);
  auto const of_others = others.relation(queue);
  return cpu::rows_that_may_match(queue, workers, of_table->columns[0], table.rows,
                                  of_others->columns[0], others.rows);
}

TEST(KeyFilter, LetsRowsWithAMatchPassAndFewOthers) {
  auto const queue = cpu_queue();
  for (int32_t const width : {4, 8}) {
    for (bool const nullable : {false, true}) {
      for (size_t const rows : {1, 63, 64, 200'001}) {
        TestTable const table = table_of(width, rows, 3000, 20, nullable, 7);
        TestTable const others = table_of(width, 4000, 3000, 1, nullable, 9);
        base::Buffer const bits = filtered(queue, table, others);
        if (!bits) {
          EXPECT_LT(rows, 100U);
          continue;
        }
        std::set<uint64_t> keys;
        for (size_t row = 0; row < others.rows; ++row) {
          if (!others.columns[0].is_null(row)) keys.insert(others.columns[0].key(row));
        }
        size_t in_vain = 0;
        for (size_t row = 0; row < rows; ++row) {
          bool const is_null = table.columns[0].is_null(row);
          bool const has_match = !is_null && keys.count(table.columns[0].key(row)) != 0;
          bool const passes = (bits.as<uint64_t>()[row / 64] >> (row % 64) & 1) != 0;
          ASSERT_TRUE(passes || !has_match) << row;
          ASSERT_FALSE(passes && is_null) << row;
          in_vain += passes && !has_match ? 1 : 0;
        }
        EXPECT_LE(in_vain, rows / 8 + 1);
      }
    }
  }
}

TEST(KeyFilter, IsLeftWhereMostRowsPass) {
  auto const queue = cpu_queue();
  TestTable const table = table_of(4, 10'000, 3000, 1, false, 7);
  EXPECT_FALSE(filtered(queue, table, table_of(4, 20'000, 3000, 1, false, 9)));
  EXPECT_EQ(queue->host_pool->in_use_bytes(), 0U);
}

// The larger side on either, built on or not.
void expect_pairs(const TestTable& left, const TestTable& right, plan::Side build) {
  auto const queue = cpu_queue();
  for (auto const gather : {plan::Gather::kTransformed, plan::Gather::kUntransformed}) {
    plan::JoinPlan plan = cpu_plan(gather, build, 3);
    Pairs const wanted = reference_pairs(left, right);
    plan.expected_rows = static_cast<int64_t>(wanted.size());
    auto const join = planned(queue, left, right, plan, true, true);
    columns::JoinResult result;
    execute::on_cpu(queue, join, result);
    std::string const said = result.statistics.stages[0].technique;
    EXPECT_NE(said.find("rows filtered"), std::string::npos) << said;
    Pairs found = pairs_of(result);
    std::vector<std::string> const rows = rows_of(result);
    for (size_t i = 0; i < found.size(); ++i) {
      ASSERT_EQ(rows[i], row_of_pair(left, right, found[i]));
    }
    std::sort(found.begin(), found.end());
    ASSERT_EQ(found, wanted);
  }
}

TEST(KeyFilter, ChangesNoPairs) {
  for (int32_t const width : {4, 8}) {
    for (bool const nullable : {false, true}) {
      TestTable const less = table_of(width, 4000, 3000, 1, nullable, 9);
      TestTable const more = table_of(width, 100'001, 3000, 20, nullable, 7);
      for (plan::Side const build : {plan::Side::kLeft, plan::Side::kRight}) {
        expect_pairs(less, more, build);
        expect_pairs(more, less, build);
        if (testing::Test::HasFatalFailure()) return;
      }
    }
  }
}

TEST(KeyFilter, ChangesNoSets) {
  using columns::JoinKind;
  for (bool const of_more : {false, true}) {
    TestTable const less = table_of(4, 4000, 3000, 1, true, 9);
    TestTable const more = table_of(4, 100'001, 3000, 20, true, 7);
    TestTable const& left = of_more ? more : less;
    TestTable const& right = of_more ? less : more;
    std::set<uint32_t> matched;
    for (auto const& [row, other] : reference_pairs(left, right)) matched.insert(row);
    for (JoinKind const kind : {JoinKind::kLeftSemi, JoinKind::kLeftAnti}) {
      auto const queue = cpu_queue();
      plan::JoinPlan plan = cpu_plan(plan::Gather::kUntransformed, plan::Side::kRight, 3);
      plan.expected_rows = 6000;
      auto join = planned(queue, left, right, plan, true, false);
      join.spec.kind = kind;
      columns::JoinResult result;
      execute::on_cpu(queue, join, result);
      ASSERT_TRUE(result.left_alone.has_value());
      auto const* const numbers = static_cast<const uint32_t*>(result.left_alone->numbers.get());
      std::set<uint32_t> const found(numbers, numbers + result.left_alone->rows);
      if (result.left_alone->with_match) {
        EXPECT_EQ(found, matched);
      } else {
        EXPECT_EQ(found.size(), left.rows - matched.size());
        for (uint32_t const row : found) ASSERT_EQ(matched.count(row), 0U);
      }
    }
  }
}

}  // namespace
}  // namespace gpujoin::test
