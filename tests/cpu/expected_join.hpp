// expected_join.hpp: one join by the CPU executor, in all its outputs, against a reference.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "tests/cpu/join_tables.hpp"

namespace gpujoin::test {

using Keys = std::vector<uint64_t>;

inline Keys random_keys(size_t rows, uint64_t distinct, uint64_t seed) {
  std::mt19937_64 random(seed);
  Keys keys(rows);
  for (uint64_t& key : keys) key = random() % distinct;
  return keys;
}

inline TestTable table_of(int32_t key_width, const Keys& keys,
                          const std::vector<int32_t>& payload_widths, uint64_t seed) {
  TestTable table;
  table.rows = keys.size();
  table.columns.push_back(TestColumn::of_keys(key_width, keys));
  for (int32_t const width : payload_widths) {
    table.columns.push_back(TestColumn::of_random(width, table.rows, ++seed));
  }
  return table;
}

inline void expect_right(const TestTable& left, const TestTable& right, const plan::JoinPlan& plan,
                         int32_t threads = 4) {
  SCOPED_TRACE(plan::to_text(plan));
  Pairs const expected = reference_pairs(left, right);
  std::vector<std::string> expected_rows;
  for (auto const& pair : expected) expected_rows.push_back(row_of_pair(left, right, pair));
  std::vector<std::string> sorted_rows = expected_rows;
  std::sort(sorted_rows.begin(), sorted_rows.end());

  auto const queue = cpu_queue(threads);
  for (bool const pairs : {false, true}) {
    for (bool const materialize : {false, true}) {
      SCOPED_TRACE(testing::Message() << "pairs=" << pairs << " materialize=" << materialize);
      columns::JoinResult result;
      execute::on_cpu(queue, planned(queue, left, right, plan, pairs, materialize), result);
      ASSERT_EQ(result.rows, static_cast<int64_t>(expected.size()));
      ASSERT_EQ(result.has_pairs, pairs);
      if (materialize) {
        ASSERT_EQ(result.columns.size(), left.columns.size() + right.columns.size());
        std::vector<std::string> rows = rows_of(result);
        if (pairs) {
          Pairs const found = pairs_of(result);
          for (size_t i = 0; i < rows.size(); ++i) {
            ASSERT_EQ(rows[i], row_of_pair(left, right, found[i])) << "row " << i;
          }
        }
        std::sort(rows.begin(), rows.end());
        ASSERT_EQ(rows, sorted_rows);
        for (auto const& column : result.columns) {
          ASSERT_EQ(column.null_count, nulls_in(column, result.rows));
          ASSERT_EQ(column.validity != nullptr, column.null_count != 0);
        }
      }
      if (pairs) {
        Pairs found = pairs_of(result);
        std::sort(found.begin(), found.end());
        ASSERT_EQ(found, expected);
      }
    }
  }
  EXPECT_EQ(queue->host_pool->in_use_bytes(), 0U);
}

inline std::string first_technique(const TestTable& left, const TestTable& right,
                                   const plan::JoinPlan& plan) {
  columns::JoinResult result;
  auto const queue = cpu_queue();
  execute::on_cpu(queue, planned(queue, left, right, plan, false, true), result);
  return result.statistics.stages[0].technique;
}

}  // namespace gpujoin::test
