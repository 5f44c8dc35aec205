// Keys of two to five columns on the CPU: against a reference, with NULLs, and with keys that share
// their hash.
#include <gtest/gtest.h>

#include <chrono>
#include <functional>
#include <map>
#include <set>

#include "src/base/status.hpp"
#include "src/cpu/key_columns.hpp"
#include "src/keys/column_hash.hpp"
#include "src/plan/sample_rule.hpp"
#include "tests/cpu/join_tables.hpp"

namespace gpujoin::test {
namespace {

using Numbers = std::vector<int32_t>;

Numbers first_columns(size_t count) {
  Numbers numbers;
  for (size_t i = 0; i < count; ++i) numbers.push_back(static_cast<int32_t>(i));
  return numbers;
}

// The key columns, of few values each, and two payloads.
TestTable table_of(const Numbers& key_widths, size_t rows, uint64_t distinct, uint64_t seed) {
  TestTable table;
  table.rows = rows;
  std::mt19937_64 random(seed);
  for (int32_t const width : key_widths) {
    std::vector<uint64_t> keys(rows);
    for (uint64_t& key : keys) key = random() % distinct << (width == 8 ? 40 : 0);
    table.columns.push_back(TestColumn::of_keys(width, keys));
  }
  table.columns.push_back(TestColumn::of_random(8, rows, seed + 1));
  table.columns.push_back(TestColumn::of_random(2, rows, seed + 2).with_nulls(rows, 3, 5, seed));
  return table;
}

// The bytes of the row's key; empty when one of its columns is NULL.
std::string key_of(const TestTable& table, const Numbers& keys, size_t row) {
  std::string key;
  for (int32_t const number : keys) {
    TestColumn const& column = table.columns[static_cast<size_t>(number)];
    if (column.is_null(row)) return "";
    key += column.value(row);
  }
  return key;
}

Pairs pairs_on(const TestTable& left, const Numbers& left_keys, const TestTable& right,
               const Numbers& right_keys) {
  std::multimap<std::string, uint32_t> rows_of_key;
  for (uint32_t row = 0; row < left.rows; ++row) {
    std::string const key = key_of(left, left_keys, row);
    if (!key.empty()) rows_of_key.emplace(key, row);
  }
  Pairs pairs;
  for (uint32_t row = 0; row < right.rows; ++row) {
    auto const [first, last] = rows_of_key.equal_range(key_of(right, right_keys, row));
    for (auto match = first; match != last; ++match) pairs.emplace_back(match->second, row);
  }
  std::sort(pairs.begin(), pairs.end());
  return pairs;
}

void expect_right_by(const TestTable& left, const Numbers& left_keys, const TestTable& right,
                     const Numbers& right_keys, int32_t radix_bits, uint64_t hash_ones) {
  Pairs const expected = pairs_on(left, left_keys, right, right_keys);
  auto const queue = cpu_queue();
  queue->context.hash_ones = hash_ones;
  for (auto const side : {plan::Side::kLeft, plan::Side::kRight}) {
    for (bool const pairs : {false, true}) {
      for (bool const materialize : {false, true}) {
        SCOPED_TRACE(testing::Message() << plan::to_text(side) << " pairs=" << pairs
                                        << " materialize=" << materialize);
        auto join =
            planned(queue, left, right, cpu_plan(plan::Gather::kUntransformed, side, radix_bits),
                    pairs, materialize);
        join.spec.left_keys = left_keys;
        join.spec.right_keys = right_keys;
        columns::JoinResult result;
        execute::on_cpu(queue, join, result);
        ASSERT_EQ(result.rows, static_cast<int64_t>(expected.size()));
        std::vector<std::string> rows = rows_of(result);
        if (pairs) {
          Pairs found = pairs_of(result);
          for (size_t i = 0; materialize && i < rows.size(); ++i) {
            ASSERT_EQ(rows[i], row_of_pair(left, right, found[i])) << "row " << i;
          }
          std::sort(found.begin(), found.end());
          ASSERT_EQ(found, expected);
        } else if (materialize) {
          std::vector<std::string> wanted;
          for (auto const& pair : expected) wanted.push_back(row_of_pair(left, right, pair));
          std::sort(wanted.begin(), wanted.end());
          std::sort(rows.begin(), rows.end());
          ASSERT_EQ(rows, wanted);
        }
        for (auto const& column : result.columns) {
          ASSERT_EQ(column.null_count, nulls_in(column, result.rows));
        }
      }
    }
  }
  EXPECT_EQ(queue->host_pool->in_use_bytes(), 0U);
}

// By no number of partitions that is named, and so of small sides none, and by one that is.
void expect_right_on(const TestTable& left, const Numbers& left_keys, const TestTable& right,
                     const Numbers& right_keys, int32_t radix_bits = 3, uint64_t hash_ones = 0) {
  for (int32_t const bits : {0, radix_bits}) {
    expect_right_by(left, left_keys, right, right_keys, bits, hash_ones);
    if (testing::Test::HasFatalFailure()) return;
  }
}

TEST(CpuSeveralKeys, AreComparedColumnByColumn) {
  std::vector<Numbers> const all = {{4, 4},       {8, 4},          {8, 8},         {4, 8, 4},
                                    {4, 4, 8, 8}, {4, 4, 4, 4, 4}, {8, 4, 8, 4, 8}};
  for (Numbers const& widths : all) {
    Numbers const keys = first_columns(widths.size());
    uint64_t const distinct = widths.size() == 2 ? 40 : widths.size() == 3 ? 12 : 5;
    for (size_t const rows : {0, 1, 33, 1024, 1025, 4000}) {
      SCOPED_TRACE(testing::Message() << widths.size() << " keys, " << rows << " rows");
      TestTable const left = table_of(widths, rows, distinct, 1);
      TestTable const right = table_of(widths, rows + rows / 2, distinct, 2);
      expect_right_on(left, keys, right, keys);
      if (HasFatalFailure()) return;
    }
  }
}

TEST(CpuSeveralKeys, TakeAnyColumnsInAnyOrder) {
  TestTable const left = table_of({4, 8, 4}, 3000, 20, 3);
  TestTable const right = table_of({8, 4, 4}, 2000, 20, 4);
  expect_right_on(left, {1, 0}, right, {0, 2});
  expect_right_on(left, {0, 1, 2}, right, {1, 0, 1});  // a column twice
  expect_right_on(left, {2, 1}, right, {2, 0}, 3);
}

TEST(CpuSeveralKeys, ANullInAnyOfThemMatchesNothing) {
  for (size_t const nullable : {0, 1, 2}) {
    TestTable left = table_of({4, 8, 4}, 70000, 40, 5);
    TestTable right = table_of({4, 8, 4}, 3000, 40, 6);
    left.columns[nullable].with_nulls(left.rows, 4, 3, 7);
    right.columns[2 - nullable].with_nulls(right.rows, 3, 9, 8);
    expect_right_on(left, {0, 1, 2}, right, {0, 1, 2});
    if (HasFatalFailure()) return;
  }
  TestTable left = table_of({4, 4}, 100, 2, 9);
  left.columns[1].with_nulls(left.rows, 1, 0, 1);  // all
  expect_right_on(left, {0, 1}, left, {0, 1});
}

TEST(CpuSeveralKeys, AreVerifiedWhereTheyShareTheirHash) {
  // Eight hashes, and one.
  for (uint64_t const ones : {~uint64_t{7}, ~uint64_t{7} << 61 | ~uint64_t{0} >> 3, ~uint64_t{0}}) {
    TestTable const left = table_of({8, 4}, 2000, 60, 20);
    TestTable const right = table_of({8, 4}, 1500, 60, 21);
    expect_right_on(left, {0, 1}, right, {0, 1}, 0, ones);
    if (HasFatalFailure()) return;
  }
}

constexpr size_t kChosenKeys = size_t{1} << 14;

// Keys (a, b(a)) for a = 0, 1, 2 ...
TestTable chosen_keys(const std::function<uint64_t(uint64_t)>& second) {
  std::vector<uint64_t> a(kChosenKeys);
  std::vector<uint64_t> b(kChosenKeys);
  for (size_t i = 0; i < kChosenKeys; ++i) {
    a[i] = i;
    b[i] = second(i);
  }
  TestTable table;
  table.rows = kChosenKeys;
  table.columns = {TestColumn::of_keys(8, a), TestColumn::of_keys(8, b)};
  return table;
}

// The least of three times that the join takes.
double seconds_of_join(base::Queue& queue, const TestTable& table) {
  double least = 1e9;
  for (int i = 0; i < 3; ++i) {
    auto join = planned(queue, table, table, cpu_plan(plan::Gather::kUntransformed), true, false);
    join.spec.left_keys = join.spec.right_keys = {0, 1};
    columns::JoinResult result;
    auto const begin = std::chrono::steady_clock::now();
    execute::on_cpu(queue, join, result);
    std::chrono::duration<double> const took = std::chrono::steady_clock::now() - begin;
    least = std::min(least, took.count());
    EXPECT_EQ(result.rows, static_cast<int64_t>(kChosenKeys));
    Pairs const pairs = pairs_of(result);
    EXPECT_TRUE(std::all_of(pairs.begin(), pairs.end(),
                            [](auto const& pair) { return pair.first == pair.second; }));
  }
  return least;
}

// By a hash that is known, the first of these make one hash of all keys: 2^28 matches to verify.
TEST(CpuSeveralKeys, AreNotChosenToShareTheirHash) {
  std::vector<std::pair<std::string, std::function<uint64_t(uint64_t)>>> const seconds = {
      {"mix64(a)", [](uint64_t a) { return plan::mix64(a); }},
      {"a", [](uint64_t a) { return a; }},
      {"-a", [](uint64_t a) { return 0 - a; }},
      {"a times an odd number", [](uint64_t a) { return a * 0x9e3779b97f4a7c15ULL; }},
      {"a in the upper bits", [](uint64_t a) { return a << 50; }},
      {"one number", [](uint64_t) { return uint64_t{7}; }},
  };
  for (auto const& [name, second] : seconds) {
    TestTable const table = chosen_keys(second);
    for (int seed = 0; seed < 6; ++seed) {
      SCOPED_TRACE(testing::Message() << name << ", seed " << seed);
      auto const queue = cpu_queue();
      if (seed != 0) queue->context.hash_seed = static_cast<uint64_t>(seed - 1);
      // A machine that is busy takes 5 ms, all keys of one hash 1.4 s.
      EXPECT_LT(seconds_of_join(queue, table), 0.25);
      auto const relation = table.relation(queue);
      cpu::Workers workers(*queue);
      Numbers const keys = {0, 1};
      cpu::HashedKeys const hashed = cpu::hash_keys(*queue, workers, *relation, keys);
      auto const* const hashes = static_cast<const uint64_t*>(hashed.view.data);
      EXPECT_EQ(std::set<uint64_t>(hashes, hashes + kChosenKeys).size(), kChosenKeys);
      // Any 14 bits of them take 0.632 of their values, 6 standard deviations either way.
      for (int const shift : {0, 14, 32, 50}) {
        std::set<uint64_t> values;
        for (size_t i = 0; i < kChosenKeys; ++i) {
          values.insert(hashes[i] >> shift & (kChosenKeys - 1));
        }
        EXPECT_NEAR(static_cast<double>(values.size()), 0.632 * kChosenKeys, 300) << shift;
      }
    }
  }
}

TEST(CpuSeveralKeys, AreHashedByASeedOfTheirContext) {
  EXPECT_NE(cpu_queue()->context.hash_seed, cpu_queue()->context.hash_seed);
  auto const hash_by = [](uint64_t seed) {
    kernels::ColumnHash const hash = gpujoin::keys::column_hash(seed, 0);
    kernels::HashSum sum = hash.start;
    hash.add(&sum, 0, uint32_t{5});
    hash.add(&sum, 1, uint64_t{6});
    return hash.of(sum);
  };
  EXPECT_EQ(hash_by(1), hash_by(1));
  EXPECT_NE(hash_by(1), hash_by(2));
}

TEST(CpuSeveralKeys, AreHashedInPieces) {
  // Beyond one task's 2^16 rows, with NULLs on either side of its end.
  TestTable table = table_of({4, 8}, (size_t{1} << 16) + 100, 1000, 10);
  table.columns[0].with_nulls(table.rows, 5, 0, 11);
  table.columns[1].with_nulls(table.rows, 5, 6, 12);
  auto const queue = cpu_queue();
  auto const relation = table.relation(queue);
  cpu::Workers workers(*queue);
  Numbers const keys = {0, 1};
  cpu::HashedKeys const hashed = cpu::hash_keys(*queue, workers, *relation, keys);
  kernels::ColumnHash const factors = gpujoin::keys::column_hash(queue->context);
  for (size_t row = 0; row < table.rows; ++row) {
    bool const valid = (hashed.view.validity[row / 8] >> (row % 8) & 1) != 0;
    ASSERT_EQ(valid, !table.columns[0].is_null(row) && !table.columns[1].is_null(row)) << row;
    if (!valid) continue;
    kernels::HashSum sum = factors.start;
    factors.add(&sum, 0, table.columns[0].key(row));
    factors.add(&sum, 1, table.columns[1].key(row));
    uint64_t const hash = plan::mix64(factors.of(sum));
    ASSERT_EQ(static_cast<const uint64_t*>(hashed.view.data)[row], hash) << row;
  }
}

TEST(CpuSeveralKeys, MemoryLimitIsAnErrorAndGivesEverythingBack) {
  TestTable const left = table_of({4, 8}, 40000, 200, 13);
  TestTable const right = table_of({4, 8}, 40000, 200, 14);
  int failures = 0;
  for (uint64_t limit = 1 << 14; limit <= uint64_t{1} << 25; limit *= 2) {
    auto const queue = cpu_queue(4, limit);
    auto join = planned(queue, left, right, cpu_plan(plan::Gather::kUntransformed), true, true);
    join.spec.left_keys = join.spec.right_keys = {0, 1};
    try {
      columns::JoinResult result;
      execute::on_cpu(queue, join, result);
    } catch (const base::Error& error) {
      EXPECT_EQ(error.status(), GPUJOIN_ERROR_MEMORY_LIMIT) << "limit " << limit;
      ++failures;
    }
    EXPECT_EQ(queue->host_pool->in_use_bytes(), 0U) << "limit " << limit;
  }
  EXPECT_GE(failures, 4);
  EXPECT_LE(failures, 11);
}

// Where rows are partitioned, of what they are and how many match.
TEST(CpuSeveralKeys, TravelWithTheirHash) {
  auto const are_carried = [](const Numbers& widths, int64_t expected_rows, uint64_t limit) {
    TestTable const left = table_of(widths, 4000, 100, 16);
    TestTable const right = table_of(widths, 4000, 100, 17);
    auto const queue = cpu_queue(2, limit);
    plan::JoinPlan plan = cpu_plan(plan::Gather::kUntransformed, plan::Side::kLeft, 3);
    plan.expected_rows = expected_rows;
    auto join = planned(queue, left, right, plan, false, true);
    join.spec.left_keys = join.spec.right_keys = first_columns(widths.size());
    columns::JoinResult result;
    execute::on_cpu(queue, join, result);
    Numbers const keys = first_columns(widths.size());
    EXPECT_EQ(result.rows, static_cast<int64_t>(pairs_on(left, keys, right, keys).size()));
    auto const& technique = result.statistics.stages[0].technique;
    return technique.find("keys carried") != std::string::npos;
  };
  EXPECT_TRUE(are_carried({4, 4}, 0, 0));
  EXPECT_TRUE(are_carried({8, 8, 8}, 4000, 0));
  EXPECT_FALSE(are_carried({8, 8, 8}, 400, 0));
  EXPECT_TRUE(are_carried({8, 8, 8, 8, 8}, 0, 0));
  EXPECT_FALSE(are_carried({8, 8, 8, 8, 8, 8, 8}, 0, 0));
  EXPECT_TRUE(are_carried({4, 8}, 0, uint64_t{4} << 20));
  EXPECT_FALSE(are_carried({4, 8}, 0, uint64_t{1} << 20));
}

TEST(CpuSeveralKeys, ShowInThePlanAndInTheStages) {
  TestTable const left = table_of({4, 8}, 1000, 20, 15);
  auto const queue = cpu_queue();
  auto const relation = left.relation(queue);
  columns::JoinSpec spec;
  spec.left_keys = spec.right_keys = {0, 1};
  spec.pairs = true;
  auto const join = execute::make_plan(queue, relation, relation, spec, GPUJOIN_PLAN_OPTIONS_INIT);
  EXPECT_EQ(join.choice.plan().gather, plan::Gather::kUntransformed);
  auto const text = plan::explain(join.choice, join.request, queue->context.facts);
  EXPECT_NE(text.find("key of 2 columns 12 B"), std::string::npos) << text;
  auto const result = execute::execute(queue, join);
  ASSERT_EQ(result->statistics.stages.size(), 3U);
  EXPECT_EQ(result->statistics.stages[0].technique, "hash of 2 keys, build rows packed");
  EXPECT_EQ(result->statistics.stages[1].technique,
            "verified co_partitions, grown, probe rows in place");

  gpujoin_plan_options options = GPUJOIN_PLAN_OPTIONS_INIT;
  options.gather = GPUJOIN_GATHER_TRANSFORMED;
  try {
    execute::make_plan(queue, relation, relation, spec, options);
    ADD_FAILURE() << "payloads cannot move with a hash";
  } catch (const base::Error& error) {
    EXPECT_EQ(error.status(), GPUJOIN_ERROR_ILLEGAL_PLAN);
    EXPECT_NE(std::string(error.what()).find("gather=transformed"), std::string::npos);
  }
}

}  // namespace
}  // namespace gpujoin::test
