// kinds_test.cpp: every kind of join of random tables against nested loops that spell out what SQL
// says; row numbers and columns, with NULL keys, repeated keys and empty sides.
#include <algorithm>
#include <map>
#include <numeric>
#include <random>
#include <set>

#include "tests/abi/fixture.hpp"

using namespace gpujoin_test;

namespace {

using Key = std::optional<int64_t>;
using Keys = std::vector<Key>;  // of one row

enum class Truth { kFalse, kUnknown, kTrue };

Truth equal(const Keys& left, const Keys& right) {
  Truth all = Truth::kTrue;
  for (size_t i = 0; i < left.size(); ++i) {
    if (left[i] && right[i] && *left[i] != *right[i]) return Truth::kFalse;
    if (!left[i] || !right[i]) all = Truth::kUnknown;
  }
  return all;
}

struct Side {
  std::vector<Keys> rows;
  Table table;
};

constexpr int64_t kNone = GPUJOIN_NO_ROW_INT64;
// Left row, right row, mark: -1 where there is none, or it is NULL.
using OutputRow = std::tuple<int64_t, int64_t, int>;

Side side_of(std::vector<Keys> keys_of_rows, size_t key_count) {
  Side side;
  side.rows = std::move(keys_of_rows);
  auto const rows = static_cast<int64_t>(side.rows.size());
  for (size_t i = 0; i < key_count; ++i) {
    std::vector<std::optional<int64_t>> column;
    for (Keys const& keys : side.rows) column.push_back(keys[i]);
    side.table.emplace_back("k", GPUJOIN_TYPE_INT64, column);
  }
  // A payload that says its row, and one with NULLs.
  std::vector<std::optional<int64_t>> numbers;
  std::vector<std::optional<int16_t>> some;
  for (int64_t row = 0; row < rows; ++row) {
    numbers.emplace_back(row * 7);
    some.push_back(row % 3 == 0 ? std::optional<int16_t>() : static_cast<int16_t>(row % 1000));
  }
  side.table.emplace_back("n", GPUJOIN_TYPE_INT64, numbers);
  side.table.emplace_back("s", GPUJOIN_TYPE_INT16, some);
  return side;
}

Side random_side(std::mt19937& random, int64_t rows, size_t key_count, int64_t values,
                 int null_percent) {
  std::vector<Keys> keys_of_rows(static_cast<size_t>(rows));
  for (Keys& keys : keys_of_rows) {
    for (size_t i = 0; i < key_count; ++i) {
      bool const is_null = static_cast<int>(random() % 100) < null_percent;
      int64_t const value = static_cast<int64_t>(random() % static_cast<uint64_t>(values)) - 3;
      keys.push_back(is_null ? Key() : Key(value * 0x100000001));
    }
  }
  return side_of(std::move(keys_of_rows), key_count);
}

// Of `values` keys side by side each once at most.
Side dense_side(std::mt19937& random, int64_t rows, int64_t values, int null_percent) {
  std::vector<int64_t> drawn(static_cast<size_t>(values));
  std::iota(drawn.begin(), drawn.end(), int64_t{-3});
  std::shuffle(drawn.begin(), drawn.end(), random);
  std::vector<Keys> keys_of_rows;
  for (int64_t row = 0; row < rows; ++row) {
    bool const is_null = static_cast<int>(random() % 100) < null_percent;
    keys_of_rows.push_back({is_null ? Key() : Key(drawn[static_cast<size_t>(row)])});
  }
  return side_of(std::move(keys_of_rows), 1);
}

std::vector<OutputRow> pairs(const Side& left, const Side& right) {
  std::vector<OutputRow> rows;
  for (size_t i = 0; i < left.rows.size(); ++i) {
    for (size_t j = 0; j < right.rows.size(); ++j) {
      if (equal(left.rows[i], right.rows[j]) == Truth::kTrue) rows.emplace_back(i, j, -1);
    }
  }
  return rows;
}

// IN of each row of a side, in three values.
std::vector<Truth> marks(const Side& side, const Side& other) {
  std::vector<Truth> found;
  for (Keys const& keys : side.rows) {
    Truth best = Truth::kFalse;
    for (Keys const& others : other.rows) best = std::max(best, equal(keys, others));
    found.push_back(best);
  }
  return found;
}

std::vector<OutputRow> expected_rows(gpujoin_join_kind kind, const Side& left, const Side& right) {
  std::vector<OutputRow> rows;
  auto const is = [&](std::initializer_list<gpujoin_join_kind> kinds) {
    return std::find(kinds.begin(), kinds.end(), kind) != kinds.end();
  };
  if (kind == GPUJOIN_JOIN_CROSS) {
    for (size_t i = 0; i < left.rows.size(); ++i) {
      for (size_t j = 0; j < right.rows.size(); ++j) rows.emplace_back(i, j, -1);
    }
    return rows;
  }
  bool const of_left = is({GPUJOIN_JOIN_LEFT_SEMI, GPUJOIN_JOIN_LEFT_ANTI, GPUJOIN_JOIN_LEFT_MARK,
                           GPUJOIN_JOIN_LEFT_NOT_IN});
  bool const of_right = is({GPUJOIN_JOIN_RIGHT_SEMI, GPUJOIN_JOIN_RIGHT_ANTI,
                            GPUJOIN_JOIN_RIGHT_MARK, GPUJOIN_JOIN_RIGHT_NOT_IN});
  std::vector<Truth> const left_marks = marks(left, right);
  std::vector<Truth> const right_marks = marks(right, left);
  if (of_left || of_right) {
    auto const& found = of_left ? left_marks : right_marks;
    for (size_t i = 0; i < found.size(); ++i) {
      bool const all = is({GPUJOIN_JOIN_LEFT_MARK, GPUJOIN_JOIN_RIGHT_MARK});
      bool const semi = is({GPUJOIN_JOIN_LEFT_SEMI, GPUJOIN_JOIN_RIGHT_SEMI});
      bool const not_in = is({GPUJOIN_JOIN_LEFT_NOT_IN, GPUJOIN_JOIN_RIGHT_NOT_IN});
      bool const comes = all || (semi && found[i] == Truth::kTrue) ||
                         (not_in && found[i] == Truth::kFalse) ||
                         (!semi && !not_in && found[i] != Truth::kTrue);
      int const mark = !all || found[i] == Truth::kUnknown ? -1 : found[i] == Truth::kTrue;
      auto const row = static_cast<int64_t>(i);
      if (comes) rows.emplace_back(of_left ? row : kNone, of_left ? kNone : row, mark);
    }
    return rows;
  }
  rows = pairs(left, right);
  if (is({GPUJOIN_JOIN_LEFT, GPUJOIN_JOIN_FULL, GPUJOIN_JOIN_LEFT_SINGLE})) {
    for (size_t i = 0; i < left_marks.size(); ++i) {
      if (left_marks[i] != Truth::kTrue) rows.emplace_back(i, kNone, -1);
    }
  }
  if (is({GPUJOIN_JOIN_RIGHT, GPUJOIN_JOIN_FULL, GPUJOIN_JOIN_RIGHT_SINGLE})) {
    for (size_t i = 0; i < right_marks.size(); ++i) {
      if (right_marks[i] != Truth::kTrue) rows.emplace_back(kNone, i, -1);
    }
  }
  return rows;
}

bool puts_out(gpujoin_join_kind kind, bool left) {
  if (kind < GPUJOIN_JOIN_LEFT_SEMI || kind > GPUJOIN_JOIN_RIGHT_NOT_IN) return true;
  return (kind % 2 == 1) == left;
}

bool is_mark(gpujoin_join_kind kind) {
  return kind == GPUJOIN_JOIN_LEFT_MARK || kind == GPUJOIN_JOIN_RIGHT_MARK;
}

std::vector<int64_t> row_numbers(const Result& result, int32_t what) {
  std::vector<int64_t> numbers(static_cast<size_t>(rows_of(result)));
  gpujoin_fetch fetch = fetch_of(what, 0, numbers.data(), numbers.size() * sizeof(int64_t));
  EXPECT_OK(call(gpujoin_result_fetch, result.get(), nullptr, &fetch, 1));
  EXPECT_EQ(fetch.null_count, std::count(numbers.begin(), numbers.end(), kNone));
  return numbers;
}

// Bits in pages of an odd number of rows: -1 for NULL.
std::vector<int> mark_column(const Result& result, int32_t column) {
  std::vector<int> marks;
  gpujoin_page page = GPUJOIN_PAGE_INIT;
  for (page.max_rows = 37;;) {
    uint8_t bits[5] = {};
    uint8_t validity[5] = {};
    gpujoin_fetch fetch = fetch_of(GPUJOIN_FETCH_COLUMN, column, bits, sizeof(bits));
    fetch.validity = validity;
    fetch.validity_bytes = sizeof(validity);
    EXPECT_OK(call(gpujoin_result_fetch, result.get(), &page, &fetch, 1));
    if (page.rows == 0) return marks;
    for (int64_t row = 0; row < page.rows; ++row) {
      bool const valid = (validity[row / 8] >> (row % 8) & 1) != 0;
      marks.push_back(valid ? bits[row / 8] >> (row % 8) & 1 : -1);
    }
  }
}

// Of a mark column behind three others, all rows at once.
size_t true_marks(const Result& result, size_t rows) {
  std::vector<uint8_t> bits((rows + 7) / 8);
  std::vector<uint8_t> validity(bits.size());
  gpujoin_fetch fetch = fetch_of(GPUJOIN_FETCH_COLUMN, 3, bits.data(), bits.size());
  fetch.validity = validity.data();
  fetch.validity_bytes = validity.size();
  EXPECT_OK(call(gpujoin_result_fetch, result.get(), nullptr, &fetch, 1));
  size_t count = 0;
  for (size_t row = 0; row < rows; ++row) {
    count += static_cast<size_t>((bits[row / 8] & validity[row / 8]) >> row % 8 & 1);
  }
  return count;
}

// The columns of a side say the same as its row numbers.
void check_columns(const Result& result, const Side& side, const std::vector<int64_t>& numbers,
                   int32_t first) {
  auto const ids = column_of<int64_t>(result, first);
  auto const some = column_of<int16_t>(result, first + 1);
  auto const keys = column_of<int64_t>(result, first + 2);
  for (size_t i = 0; i < numbers.size(); ++i) {
    ASSERT_EQ(ids[i].has_value(), numbers[i] != kNone);
    if (numbers[i] == kNone) {
      ASSERT_FALSE(some[i].has_value() || keys[i].has_value());
      continue;
    }
    ASSERT_EQ(*ids[i], numbers[i] * 7);
    ASSERT_EQ(some[i].has_value(), numbers[i] % 3 != 0);
    ASSERT_EQ(keys[i], side.rows[static_cast<size_t>(numbers[i])][0]);
  }
}

Spec spec_of(gpujoin_join_kind kind, size_t key_count, bool with_pairs) {
  Spec spec;
  spec.kind = kind;
  spec.left_keys.clear();
  for (size_t i = 0; i < key_count; ++i) spec.left_keys.push_back(static_cast<int32_t>(i));
  if (kind == GPUJOIN_JOIN_CROSS) spec.left_keys.clear();
  spec.right_keys = spec.left_keys;
  auto const payload = static_cast<int32_t>(key_count);
  std::vector<int32_t> const columns = {payload, payload + 1, 0};
  if (puts_out(kind, true)) spec.left_columns = columns;
  if (puts_out(kind, false)) spec.right_columns = columns;
  spec.output = GPUJOIN_OUTPUT_COLUMNS | (with_pairs ? GPUJOIN_OUTPUT_PAIRS : 0);
  return spec;
}

class Kinds : public DeviceTest {
 protected:
  void SetUp() override {
    DeviceTest::SetUp();
    if (!IsSkipped()) context_ = make_context(options());
  }

  void expect_kind(gpujoin_join_kind kind, const Side& left, const Side& right,
                   const gpujoin_plan_options& options) {
    SCOPED_TRACE("kind " + std::to_string(kind));
    size_t const key_count = left.table.size() - 2;
    Relation const of_left = make_relation(context_, left.table);
    Relation const of_right = make_relation(context_, right.table);
    Result const result =
        join(context_, of_left, of_right, spec_of(kind, key_count, true), &options);
    ASSERT_NE(result, nullptr);
    auto const rows = static_cast<size_t>(rows_of(result));
    std::vector<int64_t> left_rows(rows, kNone);
    std::vector<int64_t> right_rows(rows, kNone);
    std::vector<int> found_marks(rows, -1);
    int32_t column = 0;
    if (puts_out(kind, true)) {
      left_rows = row_numbers(result, GPUJOIN_FETCH_LEFT_INDEX);
      check_columns(result, left, left_rows, column);
      column += 3;
    }
    if (puts_out(kind, false)) {
      right_rows = row_numbers(result, GPUJOIN_FETCH_RIGHT_INDEX);
      check_columns(result, right, right_rows, column);
      column += 3;
    }
    if (is_mark(kind)) found_marks = mark_column(result, column);
    std::vector<OutputRow> found;
    for (size_t i = 0; i < rows; ++i) {
      found.emplace_back(left_rows[i], right_rows[i], found_marks[i]);
    }
    std::vector<OutputRow> expected = expected_rows(kind, left, right);
    std::sort(found.begin(), found.end());
    std::sort(expected.begin(), expected.end());
    EXPECT_EQ(found, expected);
    // Without row numbers, as many rows.
    Result const columns =
        join(context_, of_left, of_right, spec_of(kind, key_count, false), &options);
    EXPECT_EQ(rows_of(columns), static_cast<int64_t>(expected.size()));
  }

  void expect_all_kinds(const Side& left, const Side& right,
                        const gpujoin_plan_options& options = GPUJOIN_PLAN_OPTIONS_INIT) {
    for (gpujoin_join_kind kind = GPUJOIN_JOIN_INNER; kind <= GPUJOIN_JOIN_CROSS; ++kind) {
      // Their rows would be errors.
      if (kind == GPUJOIN_JOIN_LEFT_SINGLE || kind == GPUJOIN_JOIN_RIGHT_SINGLE) continue;
      bool const names_technique =
          options.algorithm != 0 || options.transfer != 0 || options.transform != 0;
      if (kind == GPUJOIN_JOIN_CROSS && names_technique) continue;
      expect_kind(kind, left, right, options);
    }
  }

  Context context_;
};
INSTANTIATE_TEST_SUITE_P(On, Kinds, testing::Values(GPUJOIN_DEVICE_CPU, GPUJOIN_DEVICE_CUDA),
                         device_name);

}  // namespace

TEST_P(Kinds, OfOneKey) {
  std::mt19937 random(1);
  for (int const nulls : {0, 10}) {
    expect_all_kinds(random_side(random, 700, 1, 400, nulls),
                     random_side(random, 500, 1, 400, nulls));
  }
  // NULLs on one side alone.
  expect_all_kinds(random_side(random, 300, 1, 200, 20), random_side(random, 200, 1, 300, 0));
  expect_all_kinds(random_side(random, 200, 1, 300, 0), random_side(random, 300, 1, 200, 20));
}

TEST_P(Kinds, OfSeveralKeys) {
  std::mt19937 random(2);
  for (int const nulls : {0, 8, 60}) {
    expect_all_kinds(random_side(random, 300, 2, 15, nulls),
                     random_side(random, 250, 2, 15, nulls));
    expect_all_kinds(random_side(random, 250, 3, 5, nulls), random_side(random, 200, 3, 5, nulls));
  }
}

TEST_P(Kinds, OfEmptySides) {
  std::mt19937 random(3);
  for (size_t const keys : {size_t{1}, size_t{2}}) {
    Side const none = random_side(random, 0, keys, 5, 0);
    Side const some = random_side(random, 50, keys, 5, 30);
    Side const only_nulls = random_side(random, 40, keys, 5, 100);
    for (Side const* left : {&none, &some, &only_nulls}) {
      for (Side const* right : {&none, &some, &only_nulls}) expect_all_kinds(*left, *right);
    }
  }
}

TEST_P(Kinds, OfEveryAlgorithm) {
  std::mt19937 random(4);
  Side const left = random_side(random, 400, 1, 300, 10);
  Side const right = random_side(random, 300, 1, 250, 5);
  for (gpujoin_algorithm algorithm = GPUJOIN_ALGORITHM_NOP;
       algorithm <= GPUJOIN_ALGORITHM_PDJ_CARRIED; ++algorithm) {
    bool const of_cpu = algorithm == GPUJOIN_ALGORITHM_CPU_RADIX;
    if (of_cpu != (device() == GPUJOIN_DEVICE_CPU)) continue;
    SCOPED_TRACE("algorithm " + std::to_string(algorithm));
    gpujoin_plan_options options = GPUJOIN_PLAN_OPTIONS_INIT;
    options.algorithm = algorithm;
    expect_all_kinds(left, right, options);
  }
}

TEST_P(Kinds, OfPartsOfATable) {
  if (device() == GPUJOIN_DEVICE_CPU) GTEST_SKIP() << "the CPU has no parts of tables";
  std::mt19937 random(6);
  Side const left = dense_side(random, 400, 500, 10);
  Side const right = dense_side(random, 300, 450, 5);
  gpujoin_plan_options options = GPUJOIN_PLAN_OPTIONS_INIT;
  options.transform = GPUJOIN_TRANSFORM_WRITE_COMBINED;
  for (gpujoin_match const match : {GPUJOIN_MATCH_DIRECT_TABLE, GPUJOIN_MATCH_GLOBAL_TABLE}) {
    options.match = match;
    for (gpujoin_side const side : {GPUJOIN_SIDE_LEFT, GPUJOIN_SIDE_RIGHT}) {
      SCOPED_TRACE("match " + std::to_string(match) + ", side " + std::to_string(side));
      options.build_side = side;
      expect_all_kinds(left, right, options);
      Relation const of_left = make_relation(context_, left.table);
      Relation const of_right = make_relation(context_, right.table);
      Result const result =
          join(context_, of_left, of_right, spec_of(GPUJOIN_JOIN_LEFT, 1, true), &options);
      gpujoin_statistics statistics = GPUJOIN_STATISTICS_INIT;
      ASSERT_OK(call(gpujoin_result_get_statistics, result.get(), &statistics));
      EXPECT_NE(std::string(statistics.plan).find("write_combined"), std::string::npos)
          << statistics.plan;
    }
  }
}

// More rows than one launch joins, by a table of either side, whose keys repeat.
TEST_P(Kinds, AskATableOfKeysThatRepeat) {
  if (device() == GPUJOIN_DEVICE_CPU) GTEST_SKIP() << "the CPU has no such tables";
  std::mt19937 random(7);
  for (int const nulls : {0, 5}) {
    auto const drawn_side = [&](size_t rows, uint32_t values) {
      std::vector<Keys> keys_of_rows;
      for (size_t row = 0; row < rows; ++row) {
        bool const is_null = static_cast<int>(random() % 100) < nulls;
        keys_of_rows.push_back(
            {is_null ? Key() : Key(static_cast<int64_t>(random() % values) * 4 - 1000)});
      }
      return side_of(std::move(keys_of_rows), 1);
    };
    Side const asks = drawn_side(1'300'000, 500'000);
    Side const asked = drawn_side(900'000, 400'000);
    std::set<Key> keys;
    for (Keys const& row : asked.rows) keys.insert(row.front());
    std::vector<int64_t> matched;
    std::vector<int64_t> others;
    for (size_t row = 0; row < asks.rows.size(); ++row) {
      Key const& key = asks.rows[row].front();
      (key && keys.contains(key) ? matched : others).push_back(static_cast<int64_t>(row));
    }
    std::vector<int64_t> all(asks.rows.size());
    std::iota(all.begin(), all.end(), int64_t{0});
    Relation const left = make_relation(context_, asks.table);
    Relation const right = make_relation(context_, asked.table);
    for (gpujoin_match const match : {GPUJOIN_MATCH_DIRECT_TABLE, GPUJOIN_MATCH_GLOBAL_TABLE}) {
      gpujoin_plan_options options = GPUJOIN_PLAN_OPTIONS_INIT;
      options.match = match;
      options.transform = GPUJOIN_TRANSFORM_NONE;
      options.gather = GPUJOIN_GATHER_CARRIED;
      options.filter = GPUJOIN_FILTER_NONE;
      for (auto const& [kind, side, rows] :
           {std::tuple{GPUJOIN_JOIN_LEFT_SEMI, GPUJOIN_SIDE_RIGHT, &matched},
            {GPUJOIN_JOIN_LEFT_SEMI, GPUJOIN_SIDE_LEFT, &matched},
            {GPUJOIN_JOIN_LEFT_ANTI, GPUJOIN_SIDE_RIGHT, &others},
            {GPUJOIN_JOIN_LEFT_ANTI, GPUJOIN_SIDE_LEFT, &others},
            {GPUJOIN_JOIN_LEFT_MARK, GPUJOIN_SIDE_RIGHT, &all},
            {GPUJOIN_JOIN_LEFT_MARK, GPUJOIN_SIDE_LEFT, &all},
            {GPUJOIN_JOIN_LEFT_NOT_IN, GPUJOIN_SIDE_RIGHT, &others},
            {GPUJOIN_JOIN_LEFT_NOT_IN, GPUJOIN_SIDE_LEFT, &others}}) {
        SCOPED_TRACE("kind " + std::to_string(kind) + ", match " + std::to_string(match) +
                     ", side " + std::to_string(side) + ", " + std::to_string(nulls) + " % NULLs");
        options.build_side = side;
        Result const result = join(context_, left, right, spec_of(kind, 1, true), &options);
        std::vector<int64_t> found = row_numbers(result, GPUJOIN_FETCH_LEFT_INDEX);
        check_columns(result, asks, found, 0);
        if (is_mark(kind)) {
          EXPECT_EQ(true_marks(result, found.size()), matched.size());
        }
        std::sort(found.begin(), found.end());
        // NOT IN what may be anything is unknown.
        bool const is_unknown = kind == GPUJOIN_JOIN_LEFT_NOT_IN && nulls != 0;
        EXPECT_TRUE(found == (is_unknown ? std::vector<int64_t>() : *rows));
        Result const columns = join(context_, left, right, spec_of(kind, 1, false), &options);
        EXPECT_EQ(rows_of(columns), static_cast<int64_t>(found.size()));
      }
    }
  }
}

TEST_P(Kinds, OfProbeSidesInChunks) {
  if (device() == GPUJOIN_DEVICE_CPU) GTEST_SKIP() << "the CPU has no chunks";
  std::mt19937 random(5);
  Side const left = random_side(random, 900, 1, 300, 10);
  Side const right = random_side(random, 300, 1, 250, 5);
  gpujoin_plan_options options = GPUJOIN_PLAN_OPTIONS_INIT;
  options.transfer = GPUJOIN_TRANSFER_PROBE_CHUNKS;
  options.probe_chunk_rows = 100;
  for (gpujoin_side const side : {GPUJOIN_SIDE_LEFT, GPUJOIN_SIDE_RIGHT}) {
    options.build_side = side;
    expect_all_kinds(left, right, options);
  }
}

// Three keys of 30000 rows have 3e8 pairs: 2.4 GB, which no row number of a side takes.
TEST_P(Kinds, ThatNeedNoPairsMakeNone) {
  Side side;
  std::vector<int64_t> keys;
  std::vector<int64_t> numbers;
  for (int64_t row = 0; row < 30000; ++row) {
    keys.push_back(row % 3);
    numbers.push_back(row);
  }
  side.table.emplace_back("k", GPUJOIN_TYPE_INT64, keys);
  side.table.emplace_back("n", GPUJOIN_TYPE_INT64, numbers);
  gpujoin_context_options wishes = options();
  wishes.memory_limit_bytes = uint64_t{192} << 20;
  Context const context = make_context(wishes);
  Relation const left = make_relation(context, side.table);
  Relation const right = make_relation(context, side.table);
  for (gpujoin_join_kind kind = GPUJOIN_JOIN_LEFT_SEMI; kind <= GPUJOIN_JOIN_RIGHT_NOT_IN; ++kind) {
    SCOPED_TRACE("kind " + std::to_string(kind));
    Spec spec;
    spec.kind = kind;
    if (puts_out(kind, true)) spec.left_columns = {1};
    if (puts_out(kind, false)) spec.right_columns = {1};
    Result const result = join(context, left, right, spec);
    ASSERT_NE(result, nullptr);
    bool const has_all = kind <= GPUJOIN_JOIN_RIGHT_SEMI || is_mark(kind);
    EXPECT_EQ(rows_of(result), has_all ? 30000 : 0);
  }
}

// The same of comparisons that are unknown in one of two key columns.
TEST_P(Kinds, WithUnknownComparisonsMakeNoPairsEither) {
  std::vector<std::optional<int64_t>> keys;
  std::vector<std::optional<int64_t>> zeros;
  std::vector<std::optional<int64_t>> nulls;
  for (int64_t row = 0; row < 30000; ++row) {
    keys.emplace_back(row % 3);
    zeros.emplace_back(0);
    nulls.emplace_back();
  }
  Table left_table;
  left_table.emplace_back("a", GPUJOIN_TYPE_INT64, keys);
  left_table.emplace_back("b", GPUJOIN_TYPE_INT64, nulls);
  Table right_table;
  right_table.emplace_back("a", GPUJOIN_TYPE_INT64, keys);
  right_table.emplace_back("b", GPUJOIN_TYPE_INT64, zeros);
  gpujoin_context_options wishes = options();
  wishes.memory_limit_bytes = uint64_t{192} << 20;
  Context const context = make_context(wishes);
  Relation const left = make_relation(context, left_table);
  Relation const right = make_relation(context, right_table);
  for (gpujoin_join_kind kind = GPUJOIN_JOIN_LEFT_MARK; kind <= GPUJOIN_JOIN_RIGHT_NOT_IN; ++kind) {
    SCOPED_TRACE("kind " + std::to_string(kind));
    Spec spec;
    spec.kind = kind;
    spec.left_keys = spec.right_keys = {0, 1};
    Result const result = join(context, left, right, spec);
    ASSERT_NE(result, nullptr);
    EXPECT_EQ(rows_of(result), is_mark(kind) ? 30000 : 0);
  }
}

TEST_P(Kinds, SingleNamesTheRowWithTwoMatches) {
  std::mt19937 random(6);
  // Left keys 0 to 9 and one NULL; right ones once each, but for 7.
  auto const side_of = [](std::vector<Key> keys) {
    Side side;
    for (Key const& key : keys) side.rows.push_back({key});
    side.table.emplace_back("k", GPUJOIN_TYPE_INT64, keys);
    std::vector<std::optional<int64_t>> numbers;
    std::vector<std::optional<int16_t>> some;
    for (size_t i = 0; i < keys.size(); ++i) {
      numbers.emplace_back(static_cast<int64_t>(i) * 7);
      some.push_back(i % 3 == 0 ? std::optional<int16_t>() : static_cast<int16_t>(i));
    }
    side.table.emplace_back("n", GPUJOIN_TYPE_INT64, numbers);
    side.table.emplace_back("s", GPUJOIN_TYPE_INT16, some);
    return side;
  };
  Side const left = side_of({Key(5), Key(), Key(7), Key(8), Key(7)});
  Side const unique = side_of({Key(8), Key(7), Key(), Key()});
  Side const twice = side_of({Key(8), Key(7), Key(8), Key(1)});
  gpujoin_plan_options const options = GPUJOIN_PLAN_OPTIONS_INIT;
  expect_kind(GPUJOIN_JOIN_LEFT_SINGLE, left, unique, options);
  expect_kind(GPUJOIN_JOIN_RIGHT_SINGLE, unique, left, options);

  Relation const of_left = make_relation(context_, left.table);
  Relation const of_twice = make_relation(context_, twice.table);
  gpujoin_result* result = nullptr;
  gpujoin_join_spec spec = GPUJOIN_JOIN_SPEC_INIT;
  int32_t const key = 0;
  spec.kind = GPUJOIN_JOIN_LEFT_SINGLE;
  spec.key_count = 1;
  spec.left_keys = spec.right_keys = &key;
  EXPECT_NAMES(
      call(gpujoin_join, context_.get(), of_left.get(), of_twice.get(), &spec, nullptr, &result),
      GPUJOIN_ERROR_SEVERAL_MATCHES, "left row 3");
  EXPECT_EQ(result, nullptr);
  spec.kind = GPUJOIN_JOIN_RIGHT_SINGLE;
  EXPECT_NAMES(
      call(gpujoin_join, context_.get(), of_twice.get(), of_left.get(), &spec, nullptr, &result),
      GPUJOIN_ERROR_SEVERAL_MATCHES, "right row 3");
}

TEST_P(Kinds, PutOutRowsOfTheirSideAlone) {
  std::mt19937 random(7);
  Side const left = random_side(random, 20, 1, 10, 0);
  Side const right = random_side(random, 20, 1, 10, 0);
  Relation const of_left = make_relation(context_, left.table);
  Relation const of_right = make_relation(context_, right.table);
  Spec spec;
  spec.kind = GPUJOIN_JOIN_LEFT_ANTI;
  Result const result = join(context_, of_left, of_right, spec);
  int64_t number = 0;
  gpujoin_fetch fetch = fetch_of(GPUJOIN_FETCH_RIGHT_INDEX, 0, &number, sizeof(number));
  EXPECT_NAMES(call(gpujoin_result_fetch, result.get(), nullptr, &fetch, 1),
               GPUJOIN_ERROR_INVALID_ARGUMENT, "fetches[0].what");
  spec.right_columns = {1};
  gpujoin_join_spec const plain = spec.get();
  gpujoin_result* none = nullptr;
  EXPECT_NAMES(
      call(gpujoin_join, context_.get(), of_left.get(), of_right.get(), &plain, nullptr, &none),
      GPUJOIN_ERROR_INVALID_ARGUMENT, "spec.right_column_count");
}

TEST_P(Kinds, ExportMissingRowsAndMarksAsArrow) {
  std::mt19937 random(8);
  Side const left = random_side(random, 61, 1, 40, 10);
  Side const right = random_side(random, 47, 1, 40, 10);
  Relation const of_left = make_relation(context_, left.table);
  Relation const of_right = make_relation(context_, right.table);
  auto const exported = [&](gpujoin_join_kind kind, int64_t first_row, auto check) {
    Result const result = join(context_, of_left, of_right, spec_of(kind, 1, true));
    ArrowSchema schema{};
    ArrowArray array{};
    gpujoin_page page = GPUJOIN_PAGE_INIT;
    page.first_row = first_row;
    ASSERT_OK(call(gpujoin_result_export, result.get(), &page, &schema, &array));
    check(result, schema, array);
    schema.release(&schema);
    array.release(&array);
  };
  auto const bit = [](const void* bits, int64_t at) {
    return (static_cast<const uint8_t*>(bits)[at / 8] >> (at % 8) & 1) != 0;
  };
  for (int64_t const first : {0, 13}) {
    exported(GPUJOIN_JOIN_FULL, first, [&](const Result& result, auto& schema, auto& array) {
      auto const numbers = row_numbers(result, GPUJOIN_FETCH_RIGHT_INDEX);
      ASSERT_EQ(schema.n_children, 8);
      EXPECT_STREQ(schema.children[1]->name, "right_row");
      EXPECT_NE(schema.children[1]->flags & ARROW_FLAG_NULLABLE, 0);
      ArrowArray const& rows = *array.children[1];
      for (int64_t i = 0; i < rows.length; ++i) {
        int64_t const number = numbers[static_cast<size_t>(first + i)];
        bool const valid = rows.buffers[0] == nullptr || bit(rows.buffers[0], rows.offset + i);
        ASSERT_EQ(valid, number != kNone);
        if (valid) {
          ASSERT_EQ(static_cast<const uint32_t*>(rows.buffers[1])[rows.offset + i], number);
        }
      }
    });
    exported(GPUJOIN_JOIN_LEFT_MARK, first, [&](const Result& result, auto& schema, auto& array) {
      auto const marks = mark_column(result, 3);
      ASSERT_EQ(schema.n_children, 5);
      EXPECT_STREQ(schema.children[0]->name, "left_row");
      EXPECT_STREQ(schema.children[4]->name, "mark");
      EXPECT_STREQ(schema.children[4]->format, "b");
      ArrowArray const& column = *array.children[4];
      for (int64_t i = 0; i < column.length; ++i) {
        int const mark = marks[static_cast<size_t>(first + i)];
        bool const valid =
            column.buffers[0] == nullptr || bit(column.buffers[0], column.offset + i);
        ASSERT_EQ(valid, mark >= 0);
        if (valid) {
          ASSERT_EQ(bit(column.buffers[1], column.offset + i), mark == 1);
        }
      }
    });
  }
}

TEST_P(Kinds, ACrossJoinHasNoKeysAndNoTechnique) {
  std::mt19937 random(9);
  Side const side = random_side(random, 20, 1, 10, 0);
  Relation const relation = make_relation(context_, side.table);
  int32_t const key = 0;
  gpujoin_join_spec spec = GPUJOIN_JOIN_SPEC_INIT;
  spec.kind = GPUJOIN_JOIN_CROSS;
  spec.key_count = 1;
  spec.left_keys = spec.right_keys = &key;
  gpujoin_result* none = nullptr;
  auto const answer = [&](const gpujoin_plan_options* options) {
    return call(gpujoin_join, context_.get(), relation.get(), relation.get(), &spec, options,
                &none);
  };
  EXPECT_NAMES(answer(nullptr), GPUJOIN_ERROR_INVALID_ARGUMENT, "spec.key_count");
  spec.key_count = 0;
  gpujoin_plan_options options = GPUJOIN_PLAN_OPTIONS_INIT;
  options.radix_bits = 4;
  EXPECT_STATUS(answer(&options), GPUJOIN_ERROR_ILLEGAL_PLAN);
}

TEST_P(Kinds, ExplainNamesTheKind) {
  std::mt19937 random(10);
  Side const side = random_side(random, 20, 1, 10, 0);
  Relation const relation = make_relation(context_, side.table);
  for (gpujoin_join_kind const kind : {GPUJOIN_JOIN_LEFT_SEMI, GPUJOIN_JOIN_CROSS}) {
    Plan const plan = make_plan(context_, relation, relation, spec_of(kind, 1, false));
    std::vector<char> text(1 << 14);
    size_t length = text.size();
    ASSERT_OK(call(gpujoin_plan_explain, plan.get(), text.data(), &length));
    EXPECT_EQ(std::string(text.data()).find(kind == GPUJOIN_JOIN_CROSS ? "cross" : "left_semi"),
              0u);
  }
}
