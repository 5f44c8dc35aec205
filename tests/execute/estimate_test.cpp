// estimate_test.cpp: what joins are said to cost from numbers alone, held against what they took.
#include "src/execute/estimate.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <string>
#include <vector>

#include "src/execute/late_columns.hpp"
#include "tests/plan/requests.hpp"

namespace gpujoin::tests {
namespace {

using columns::ColumnView;
using columns::JoinKind;
using columns::Layout;
using execute::ExpectedJoin;
using execute::ExpectedSide;

struct TestColumn {
  gpujoin_type type;
  double text_bytes = 0;
  bool is_nullable = false;
};

// Keys first, then payloads; all of them are put out.
ExpectedSide side_of(int64_t rows, const std::vector<TestColumn>& columns, base::Memory memory) {
  static const uint8_t kSome = 0xff;
  ExpectedSide side;
  side.relation = std::make_shared<columns::Relation>();
  side.relation->rows = rows;
  for (TestColumn const& column : columns) {
    ColumnView view;
    view.type = column.type;
    view.layout = columns::layout_of(column.type);
    view.width = columns::width_of(column.type);
    view.arrow_format = columns::arrow_format_of(column.type);
    view.memory = memory;
    if (column.is_nullable) view.validity = &kSome;
    auto parts = std::make_shared<columns::ColumnParts>();
    if (view.layout == Layout::kText) parts->offset_width = 4;
    view.parts = std::move(parts);
    side.relation->columns.push_back(view);
    side.text_bytes.push_back(column.text_bytes);
  }
  return side;
}

struct TestJoin {
  JoinKind kind = JoinKind::kInner;
  int64_t left_rows = 0;
  int64_t right_rows = 0;
  size_t keys = 1;
  std::vector<TestColumn> left;
  std::vector<TestColumn> right;
  int64_t pairs = 0;
  int64_t left_matched = 0;
  bool row_numbers = false;  // and no columns
  base::Memory memory = base::Memory::kHost;
};

ExpectedJoin expected(const TestJoin& test) {
  ExpectedJoin join;
  join.left = side_of(test.left_rows, test.left, test.memory);
  join.right = side_of(test.right_rows, test.right, test.memory);
  join.left.matched_rows = test.left_matched;
  join.right.matched_rows = std::min(test.right_rows, test.pairs);
  join.pairs = test.pairs;
  join.spec.kind = test.kind;
  join.spec.left_keys.clear();
  for (size_t i = 0; i < test.keys; ++i) join.spec.left_keys.push_back(static_cast<int32_t>(i));
  join.spec.right_keys = join.spec.left_keys;
  join.spec.pairs = test.row_numbers;
  join.spec.materialize = !test.row_numbers;
  if (test.row_numbers) return join;
  // Keys of one side say those of the other.
  for (bool const left : {true, false}) {
    bool const comes = !comes_alone(columns::rows_of(test.kind, !left));
    auto const& of_side = left ? test.left : test.right;
    bool const is_full = test.kind == JoinKind::kFull;
    bool const has_keys =
        left ? test.kind != JoinKind::kRight : test.kind == JoinKind::kRight || is_full;
    for (size_t i = has_keys ? 0 : test.keys; comes && i < of_side.size(); ++i) {
      (left ? join.spec.left_columns : join.spec.right_columns).push_back(static_cast<int32_t>(i));
    }
  }
  return join;
}

struct Measured {
  std::string name;
  TestJoin join;
  double milliseconds;
};

// How many are within these times of what was measured; the others are told.
size_t count_within(const std::vector<Measured>& cells, const base::DeviceFacts& facts,
                    double least, double most) {
  size_t within = 0;
  for (Measured const& cell : cells) {
    execute::JoinEstimate const found = execute::estimate(facts, expected(cell.join));
    double const seconds = facts.is_cuda ? found.cuda->seconds : found.cpu.seconds;
    double const ratio = seconds * 1e3 / cell.milliseconds;
    bool const is_within = ratio >= least && ratio <= most;
    within += is_within ? 1 : 0;
    testing::Test::RecordProperty(cell.name, std::to_string(ratio));
    printf("%s %-28s %8.2f ms, estimated %8.2f: %.2f\n", is_within ? " " : "*", cell.name.c_str(),
           cell.milliseconds, seconds * 1e3, ratio);
  }
  return within;
}

constexpr TestColumn kInt{GPUJOIN_TYPE_INT32};
constexpr TestColumn kLong{GPUJOIN_TYPE_INT64};
constexpr int64_t k20 = 1 << 20;
constexpr int64_t k22 = 1 << 22;
constexpr int64_t k24 = 1 << 24;
constexpr int64_t k27 = 1 << 27;

// bench/results/2026-11-23-1ee09aa-joins-2-threads.json: whole calls.
std::vector<Measured> cpu_cells() {
  std::vector<Measured> cells;
  struct KindCell {
    const char* name;
    JoinKind kind;
    double all;
    double half;
  };
  for (KindCell const& cell : {KindCell{"inner", JoinKind::kInner, 27.7, 32.0},
                               {"left", JoinKind::kLeft, 48.3, 46.5},
                               {"right", JoinKind::kRight, 38.3, 51.6},
                               {"full", JoinKind::kFull, 61.2, 71.6},
                               {"semi", JoinKind::kLeftSemi, 32.3, 38.0},
                               {"anti", JoinKind::kLeftAnti, 33.0, 34.1}}) {
    TestJoin join{cell.kind, k22, k22, 1, {kInt, kInt}, {kInt, kInt}, k22, 2651721};
    cells.push_back({std::string(cell.name) + ", 100 %", join, cell.all});
    join.pairs = 2097403;
    join.left_matched = 1650468;
    cells.push_back({std::string(cell.name) + ", 50 %", join, cell.half});
  }
  auto const add = [&](const char* name, std::vector<TestColumn> left,
                       std::vector<TestColumn> right, size_t keys, double milliseconds,
                       int64_t left_rows = k20, int64_t right_rows = k22, int64_t pairs = k22) {
    cells.push_back({name,
                     {JoinKind::kInner, left_rows, right_rows, keys, std::move(left),
                      std::move(right), pairs, std::min(left_rows, pairs)},
                     milliseconds});
  };
  auto const add_key = [&](const char* name, TestColumn key, double milliseconds) {
    add(name, {key, kInt}, {key, kInt}, 1, milliseconds);
  };
  constexpr TestColumn kText{GPUJOIN_TYPE_UTF8, 20};
  constexpr TestColumn kBool{GPUJOIN_TYPE_BOOL};
  constexpr TestColumn kNulls{GPUJOIN_TYPE_INT32, 0, true};
  add_key("int32", kInt, 21.0);
  add_key("int64 sparse", kLong, 26.7);
  add("2 x int64 sparse", {kLong, kLong, kInt}, {kLong, kLong, kInt}, 2, 83.1);
  add("int32, date32", {kInt, {GPUJOIN_TYPE_DATE32}, kInt}, {kInt, {GPUJOIN_TYPE_DATE32}, kInt}, 2,
      35.0);
  add_key("float64", {GPUJOIN_TYPE_FLOAT64}, 34.4);
  add_key("timestamp[us]", {GPUJOIN_TYPE_TIMESTAMP_US}, 26.1);
  add_key("utf8 of 18", {GPUJOIN_TYPE_UTF8, 18}, 93.6);
  add_key("utf8 of 6", {GPUJOIN_TYPE_UTF8, 6}, 46.6);
  add_key("int32, 10 % NULL", kNulls, 18.8);
  add("payload with NULLs", {kInt, kNulls}, {kInt, kInt}, 1, 21.6);
  add("payload bool", {kInt, kBool}, {kInt, kBool}, 1, 21.9);
  add("small build 2^10", {kInt, kInt}, {kInt, kInt}, 1, 21.6, 1 << 10, k24, k24);
  add("small build 2^16", {kInt, kInt}, {kInt, kInt}, 1, 39.2, 1 << 16, k24, k24);
  add("3 % match", {kInt, kInt, kInt}, {kInt, kInt, kInt}, 1, 70.5, k22, k24, 503643);
  add("3 x int32", {kInt, kInt, kInt, kInt, kInt}, {kInt, kInt, kInt, kInt, kInt}, 3, 61.1);
  add("text payloads", {kInt, kText}, {kInt, kText}, 1, 65.9);
  return cells;
}

// H200: bench/results/2026-11-22-ad81bbc.json, 2026-11-23-943d0aa-kinds.json and
// 2026-11-23-943d0aa-types.json; columns on the device.
std::vector<Measured> h200_cells() {
  std::vector<Measured> cells;
  auto const add = [&](const char* name, JoinKind kind, int64_t left, int64_t right, int payloads,
                       const TestColumn& key, const TestColumn& payload, int64_t pairs,
                       double milliseconds, bool row_numbers = false) {
    TestJoin join{kind, left, right, 1, {key}, {key}, pairs, std::min(left, pairs)};
    for (int i = 0; i < payloads; ++i) {
      join.left.push_back(payload);
      join.right.push_back(payload);
    }
    join.row_numbers = row_numbers;
    join.memory = base::Memory::kDevice;
    // Of as many rows drawn as there are, so many are drawn at all.
    if (left == right && pairs <= left) {
      join.left_matched = static_cast<int64_t>(0.632 * static_cast<double>(left));
      if (pairs < left) join.left_matched = std::min(join.left_matched, pairs * 63 / 100);
    }
    cells.push_back({name, join, milliseconds});
  };
  auto const kInner = JoinKind::kInner;
  add("narrow-27x27", kInner, k27, k27, 1, kInt, kInt, k27, 4.525);
  add("narrow-27x28", kInner, k27, 2 * k27, 1, kInt, kInt, 2 * k27, 6.789);
  add("narrow-25x27", kInner, k27 / 4, k27, 1, kInt, kInt, k27, 3.249);
  add("wide2-27x27", kInner, k27, k27, 2, kInt, kInt, k27, 6.082);
  add("wide2-27x28", kInner, k27, 2 * k27, 2, kInt, kInt, 2 * k27, 9.212);
  add("wide2-match25", kInner, k27, k27, 2, kInt, kInt, k27 / 4, 4.408);
  add("wide2-match6", kInner, k27, k27, 2, kInt, kInt, k27 / 16, 2.557);
  add("wide4-27x27", kInner, k27, k27, 4, kInt, kInt, k27, 9.793);
  add("wide2-8B8B", kInner, k27, k27, 2, kLong, kLong, k27, 10.463);
  add("wide2-4B8B", kInner, k27, k27, 2, kInt, kLong, k27, 9.74);
  add("pairs-27x27", kInner, k27, k27, 0, kInt, kInt, k27, 4.282, true);
  add("pairs-27x28", kInner, k27, 2 * k27, 0, kInt, kInt, 2 * k27, 6.292, true);
  add("pairs-25x27", kInner, k27 / 4, k27, 0, kInt, kInt, k27, 3.043, true);
  add("left, row numbers", JoinKind::kLeft, k27, k27, 1, kInt, kInt, k27, 4.853, true);
  add("full, row numbers", JoinKind::kFull, k27, k27, 1, kInt, kInt, k27, 4.842, true);
  add("left", JoinKind::kLeft, k27, k27, 1, kInt, kInt, k27, 5.911);
  add("right", JoinKind::kRight, k27, k27, 1, kInt, kInt, k27, 4.686);
  add("full", JoinKind::kFull, k27, k27, 1, kInt, kInt, k27, 5.959);
  add("semi", JoinKind::kLeftSemi, k27, k27, 1, kInt, kInt, k27, 3.737);
  add("anti", JoinKind::kLeftAnti, k27, k27, 1, kInt, kInt, k27, 3.696);
  add("mark", JoinKind::kLeftMark, k27, k27, 1, kInt, kInt, k27, 6.955);
  add("left, 50 %", JoinKind::kLeft, k27, k27, 1, kInt, kInt, k27 / 2, 6.046);
  add("full, 50 %", JoinKind::kFull, k27, k27, 1, kInt, kInt, k27 / 2, 7.119);
  add("anti, 50 %", JoinKind::kLeftAnti, k27, k27, 1, kInt, kInt, k27 / 2, 3.785);
  return cells;
}

TEST(Estimate, IsNearToWhatJoinsTookOnTwoThreads) {
  std::vector<Measured> const cells = cpu_cells();
  size_t const within = count_within(cells, base::cpu_facts(2), 0.5, 2);
  EXPECT_GE(100 * within, 85 * cells.size()) << within << " of " << cells.size();
}

TEST(Estimate, IsNearToWhatJoinsTookOnAnH200) {
  std::vector<Measured> const cells = h200_cells();
  size_t const within = count_within(cells, plan::testing::h200(), 0.5, 2);
  EXPECT_GE(100 * within, 85 * cells.size()) << within << " of " << cells.size();
}

double cpu_seconds(const TestJoin& join) {
  return execute::estimate(base::cpu_facts(4), expected(join)).cpu.seconds;
}

TEST(Estimate, GrowsWithRowsAndWidths) {
  for (JoinKind const kind : {JoinKind::kInner, JoinKind::kLeft, JoinKind::kFull,
                              JoinKind::kLeftSemi, JoinKind::kRightAnti, JoinKind::kLeftMark}) {
    double before = 0;
    double memory = 0;
    for (int64_t rows = 1 << 12; rows <= 1 << 28; rows *= 2) {
      TestJoin const join{kind, rows, rows, 1, {kInt, kInt}, {kInt, kInt}, rows, rows / 2};
      auto const found = execute::estimate(base::cpu_facts(4), expected(join));
      EXPECT_GT(found.cpu.seconds, before) << rows;
      EXPECT_GT(static_cast<double>(found.cpu.memory_bytes), memory) << rows;
      before = found.cpu.seconds;
      memory = static_cast<double>(found.cpu.memory_bytes);
    }
    before = 0;
    for (size_t payloads = 1; payloads < 8; ++payloads) {
      TestJoin join{kind, k22, k22, 1, {kInt}, {kInt}, k22, k22 / 2};
      join.left.insert(join.left.end(), payloads, kLong);
      join.right.insert(join.right.end(), payloads, kLong);
      EXPECT_GT(cpu_seconds(join), before) << payloads;
      before = cpu_seconds(join);
    }
  }
  for (double bytes = 8; bytes < 1000; bytes *= 2) {
    auto const of = [](double text) {
      return TestJoin{JoinKind::kInner, k20, k22, 1, {kInt, {GPUJOIN_TYPE_UTF8, text}},
                      {kInt},           k22, k20};
    };
    EXPECT_GE(cpu_seconds(of(2 * bytes)), cpu_seconds(of(bytes)));
  }
}

TEST(Estimate, KnowsHowManyRowsComeOut) {
  auto const rows = [](JoinKind kind) {
    TestJoin const join{kind, 1000, 3000, 1, {kInt, kInt}, {kInt, kInt}, 2000, 600};
    return execute::estimate(base::cpu_facts(1), expected(join)).rows;
  };
  EXPECT_EQ(rows(JoinKind::kInner), 2000);
  EXPECT_EQ(rows(JoinKind::kLeft), 2400);
  EXPECT_EQ(rows(JoinKind::kRight), 3000);
  EXPECT_EQ(rows(JoinKind::kFull), 3400);
  EXPECT_EQ(rows(JoinKind::kLeftSemi), 600);
  EXPECT_EQ(rows(JoinKind::kLeftAnti), 400);
  EXPECT_EQ(rows(JoinKind::kRightNotIn), 1000);
  EXPECT_EQ(rows(JoinKind::kRightMark), 3000);
}

TEST(Estimate, DistinctKeysSayHowManyRowsMatch) {
  ExpectedJoin join = expected({JoinKind::kInner, 1000, 100000, 1, {kInt}, {kInt}, 0, 0});
  join.pairs = join.left.matched_rows = join.right.matched_rows = std::nullopt;
  auto const rows = [&] { return execute::estimate(base::cpu_facts(1), join).rows; };
  EXPECT_EQ(rows(), 100000);  // a foreign key
  join.right.distinct_keys = 4000;
  EXPECT_EQ(rows(), 25000);  // of which the other side has a quarter
  join.left.distinct_keys = 100;
  EXPECT_EQ(rows(), 25000);
  join.right.distinct_keys = 10;
  EXPECT_EQ(rows(), 1000000);
}

TEST(Estimate, TakesMicroseconds) {
  TestJoin const test{JoinKind::kLeft, k22, k24, 1, {kInt, kInt}, {kInt, kInt}, k24, k22};
  ExpectedJoin const join = expected(test);
  auto const begin = std::chrono::steady_clock::now();
  constexpr int kCalls = 200;
  for (int i = 0; i < kCalls; ++i) execute::estimate(base::cpu_facts(2), join);
  double const taken =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count() / kCalls;
  printf("%.1f us an estimate\n", taken * 1e6);
  EXPECT_LT(taken, 1e-3);
}

}  // namespace
}  // namespace gpujoin::tests
