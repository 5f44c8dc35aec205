// probe_tables_test.cpp: probe rows in their own order against the tables of all partitions, where
// text of them is fetched later.
#include <gtest/gtest.h>

#include <numeric>
#include <string>

#include "src/base/status.hpp"
#include "tests/cpu/join_tables.hpp"

namespace gpujoin::test {
namespace {

using Keys = std::vector<uint64_t>;

constexpr size_t kBuildRows = 70000;  // more than one table is for
constexpr size_t kProbeRows = 90000;

Keys dense(size_t rows, uint64_t first = 0) {
  Keys keys(rows);
  std::iota(keys.begin(), keys.end(), first);
  return keys;
}
// But for one that comes twice, out of order: neither a merge nor bits are for it.
Keys nearly_dense(size_t rows) {
  Keys keys = dense(rows);
  keys[10] = keys[5];
  return keys;
}
Keys drawn(size_t rows, uint64_t distinct, uint64_t seed) {
  std::mt19937_64 random(seed);
  Keys keys(rows);
  for (uint64_t& key : keys) key = random() % distinct * 0x9e3779b97f4a7c15ULL;
  return keys;
}

TestTable table_of(int32_t width, const Keys& keys, uint64_t nulls_each, uint64_t seed) {
  TestTable table;
  table.rows = keys.size();
  table.columns.push_back(TestColumn::of_keys(width, keys));
  if (nulls_each != 0) table.columns[0].with_nulls(table.rows, nulls_each, 3, seed);
  table.columns.push_back(TestColumn::of_random(8, table.rows, seed + 1));
  return table;
}

// The join, of which a text column of the probe side is fetched afterwards.
execute::PlannedJoin with_text(base::Queue& queue, const TestTable& left, const TestTable& right,
                               plan::Side build) {
  bool const is_left_probed = build == plan::Side::kRight;
  auto join = planned(queue, left, right, cpu_plan(plan::Gather::kTransformed, build), true, true);
  auto& side = is_left_probed ? join.left : join.right;
  auto relation = std::make_shared<columns::Relation>(*side);
  columns::ColumnView text;
  text.type = GPUJOIN_TYPE_UTF8;
  text.layout = columns::Layout::kText;
  relation->columns.push_back(std::move(text));
  join.late = join.spec;
  auto& wanted = is_left_probed ? join.late->left_columns : join.late->right_columns;
  wanted.push_back(static_cast<int32_t>(relation->columns.size()) - 1);
  side = std::move(relation);
  return join;
}

void expect_right(const TestTable& build, const TestTable& probe, uint64_t limit = 0) {
  for (plan::Side const side : {plan::Side::kLeft, plan::Side::kRight}) {
    TestTable const& left = side == plan::Side::kLeft ? build : probe;
    TestTable const& right = side == plan::Side::kLeft ? probe : build;
    auto const queue = cpu_queue(4, limit);
    auto const join = with_text(queue, left, right, side);
    columns::JoinResult result;
    execute::on_cpu(queue, join, result);
    auto const& stages = result.statistics.stages;
    ASSERT_GE(stages.size(), 3U);
    EXPECT_NE(stages[1].technique.find(", probe rows in place"), std::string::npos);
    EXPECT_EQ(stages[2].technique, "untransformed");
    Pairs found = pairs_of(result);
    std::vector<std::string> const rows = rows_of(result);
    for (size_t i = 0; i < rows.size(); i += 97) {
      ASSERT_EQ(rows[i], row_of_pair(left, right, found[i])) << "row " << i;
    }
    // In the order of the probe side but for where tasks meet, and keys with several rows.
    size_t descents = 0;
    for (size_t i = 1; i < found.size(); ++i) {
      descents += side == plan::Side::kLeft ? found[i].second < found[i - 1].second
                                            : found[i].first < found[i - 1].first;
    }
    EXPECT_LE(descents, (found.size() + kProbeRows) / 64);
    std::sort(found.begin(), found.end());
    ASSERT_EQ(found, reference_pairs(left, right));
  }
}

TEST(ProbeTables, OfDenseKeys) {
  expect_right(table_of(4, nearly_dense(kBuildRows), 0, 1),
               table_of(4, dense(kProbeRows, 500), 0, 2));
  expect_right(table_of(8, nearly_dense(kBuildRows), 9, 3),
               table_of(8, dense(kProbeRows, 500), 7, 4));
}

TEST(ProbeTables, OfKeysThatShareBuckets) {
  for (int32_t const width : {4, 8}) {
    TestTable const build = table_of(width, drawn(kBuildRows, 1 << 20, 5), 11, 6);
    expect_right(build, table_of(width, drawn(kProbeRows, 1 << 20, 7), 13, 8));
  }
}

TEST(ProbeTables, OfKeysWithSeveralRows) {
  expect_right(table_of(4, drawn(kBuildRows, 30000, 9), 0, 10),
               table_of(4, drawn(kProbeRows, 40000, 11), 0, 12));
}

// Most partitions have no rows, and one key has more rows than a batch.
TEST(ProbeTables, OfPartitionsWithoutRowsAndLongRuns) {
  Keys build(kBuildRows, 77);
  std::iota(build.begin(), build.begin() + 5, 1000);
  Keys probe = dense(kProbeRows, 1000);
  probe[40000] = 77;
  expect_right(table_of(4, build, 0, 13), table_of(4, probe, 0, 14));
}

TEST(ProbeTables, OfSidesOfWhichNothingMatches) {
  expect_right(table_of(8, nearly_dense(kBuildRows), 0, 15),
               table_of(8, dense(kProbeRows, 80000), 0, 16));
}

// Where the tables do not fit, partitions are joined one by one, in as much memory but for what a
// thread holds of a batch, 128 KiB: how many threads hold one at a time differs from run to run.
TEST(ProbeTables, NeedNoMoreMemoryThanPartitions) {
  TestTable const left = table_of(4, nearly_dense(kBuildRows), 0, 17);
  TestTable const right = table_of(4, dense(kProbeRows, 30000), 0, 18);
  auto const status_of = [](base::Queue& queue, const execute::PlannedJoin& join, bool* in_vain) {
    columns::JoinResult result;
    try {
      execute::on_cpu(queue, join, result);
    } catch (const base::Error& error) {
      EXPECT_EQ(error.status(), GPUJOIN_ERROR_MEMORY_LIMIT);
      return false;
    }
    EXPECT_EQ(result.rows, 40000);
    auto const& first = result.statistics.stages[1].technique;
    *in_vain = *in_vain || first.find("in vain") != std::string::npos;
    return true;
  };
  bool in_vain = false;
  bool is_in_vain_without = false;
  bool fits_in_less = false;
  for (uint64_t limit = uint64_t{1} << 20; limit <= uint64_t{8} << 20; limit += 1 << 18) {
    auto const queue = cpu_queue(2, limit);
    auto const plain = planned(queue, left, right, cpu_plan(), true, true);
    bool const fits = status_of(queue, plain, &is_in_vain_without);
    auto const other_queue = cpu_queue(2, limit);
    auto const ordered = with_text(other_queue, left, right, plan::Side::kLeft);
    bool const fits_too = status_of(other_queue, ordered, &in_vain);
    EXPECT_TRUE(!fits_in_less || fits_too) << "limit " << limit;
    fits_in_less = fits;
    EXPECT_EQ(other_queue->host_pool->in_use_bytes(), 0U);
  }
  EXPECT_TRUE(in_vain);
  EXPECT_FALSE(is_in_vain_without);
}

// A key's text is the same on both sides: it is read from the one whose rows come in order, and is
// the other one's column all the same.
TEST(ProbeTables, TakeTheTextOfAKeyFromTheProbeSide) {
  struct Text {
    std::string bytes;
    std::vector<int32_t> offsets = {0};
    std::shared_ptr<columns::ColumnParts> parts = std::make_shared<columns::ColumnParts>();
    columns::ColumnView view(const char* name) {
      columns::ColumnView view;
      view.type = GPUJOIN_TYPE_UTF8;
      view.layout = columns::Layout::kText;
      view.arrow_format = "u";
      view.name = name;
      view.data = bytes.data();
      parts->offsets = offsets.data();
      parts->offset_width = 4;
      view.parts = parts;
      return view;
    }
    void add(const std::string& value) {
      bytes += value;
      offsets.push_back(static_cast<int32_t>(bytes.size()));
    }
  };
  auto const name_of = [](size_t number) { return std::to_string(number) + " is its name"; };
  auto const relation_of = [](base::Queue& queue, Text& text, const char* name) {
    auto relation = std::make_shared<columns::Relation>();
    relation->context = queue.context.shared_from_this();
    relation->rows = static_cast<int64_t>(text.offsets.size()) - 1;
    relation->columns.push_back(text.view(name));
    return relation;
  };
  Text small;
  Text large;
  for (size_t i = 0; i < kBuildRows; ++i) small.add(name_of(i));
  for (size_t i = 0; i < kProbeRows; ++i) large.add(name_of(i * 7919 % kProbeRows));
  auto const queue = cpu_queue(1);
  for (bool const is_left_small : {true, false}) {
    auto left = relation_of(queue, is_left_small ? small : large, "left");
    auto right = relation_of(queue, is_left_small ? large : small, "right");
    columns::JoinSpec spec;
    spec.materialize = true;
    (is_left_small ? spec.left_columns : spec.right_columns) = {0};
    auto const join = execute::make_plan(queue, left, right, spec, GPUJOIN_PLAN_OPTIONS_INIT);
    ASSERT_EQ(join.late_twins.size(), 1U);
    auto const result = execute::execute(queue, join);
    ASSERT_EQ(result->rows, static_cast<int64_t>(kBuildRows));
    ASSERT_EQ(result->columns.size(), 1U);
    columns::ResultColumn const& column = result->columns[0];
    EXPECT_EQ(column.name, is_left_small ? "left" : "right");
    auto const* offsets = static_cast<const int32_t*>(column.offsets.get());
    auto const* bytes = static_cast<const char*>(column.data.get());
    int64_t row = 0;
    for (size_t i = 0; i < kProbeRows; ++i) {
      size_t const number = i * 7919 % kProbeRows;
      if (number >= kBuildRows) continue;
      ASSERT_EQ(std::string(bytes + offsets[row], bytes + offsets[row + 1]), name_of(number));
      ++row;
    }
    EXPECT_NE(result->statistics.stages[1].technique.find("in place"), std::string::npos);
  }
}

TEST(ProbeTables, StopWhenAskedTo) {
  TestTable const left = table_of(4, nearly_dense(kBuildRows), 0, 19);
  auto const queue = cpu_queue(4);
  auto const join = with_text(queue, left, left, plan::Side::kLeft);
  queue->context.cancels.fetch_add(1);
  columns::JoinResult result;
  try {
    execute::on_cpu(queue, join, result);
    FAIL() << "went on";
  } catch (const base::Error& error) {
    EXPECT_EQ(error.status(), GPUJOIN_ERROR_CANCELLED);
  }
  EXPECT_EQ(queue->host_pool->in_use_bytes(), 0U);
}

}  // namespace
}  // namespace gpujoin::test
