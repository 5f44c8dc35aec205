// residual_test.cpp: every kind of join with a condition beside its keys, or in their place,
// against every row looked at with every row.
#include <algorithm>
#include <array>
#include <functional>
#include <random>
#include <vector>

#include "tests/abi/fixture.hpp"

using namespace gpujoin_test;

namespace {

using Value = std::optional<int32_t>;
using Truth = std::optional<bool>;
using Row = std::array<int64_t, 3>;  // left row, right row, mark: 0, 1, 2 of NULL, 3 of none
constexpr int64_t kNoRow = GPUJOIN_NO_ROW_INT64;

constexpr gpujoin_join_kind kLastKind = GPUJOIN_JOIN_RIGHT_SINGLE;

Truth conjunction(Truth a, Truth b) {
  if ((a && !*a) || (b && !*b)) return false;
  if (!a || !b) return std::nullopt;
  return true;
}

struct Rows {
  std::vector<Value> first_key;
  std::vector<Value> second_key;
  std::vector<Value> value;
  size_t count() const { return value.size(); }
  Table table() const {
    return {Column("k", GPUJOIN_TYPE_INT32, first_key), Column("j", GPUJOIN_TYPE_INT32, second_key),
            Column("v", GPUJOIN_TYPE_INT32, value)};
  }
};

Rows random_rows(std::mt19937& random, size_t count, int distinct, int nulls_of_100) {
  auto const draw = [&](int values) {
    if (static_cast<int>(random() % 100) < nulls_of_100) return Value();
    return Value(static_cast<int32_t>(random() % static_cast<unsigned>(values)));
  };
  Rows rows;
  for (size_t i = 0; i < count; ++i) {
    rows.first_key.push_back(draw(distinct));
    rows.second_key.push_back(draw(2));
    rows.value.push_back(draw(100));
  }
  return rows;
}

Truth equal(Value a, Value b) {
  if (!a || !b) return std::nullopt;
  return *a == *b;
}

// left.v < right.v
Truth is_less(Value a, Value b) {
  if (!a || !b) return std::nullopt;
  return *a < *b;
}

struct Joined {
  std::vector<Row> rows;
  bool several = false;  // a row of a single join has a second match
};

Joined expected(gpujoin_join_kind kind, const Rows& left, const Rows& right, int keys) {
  auto const truth_of = [&](size_t l, size_t r) {
    Truth truth = true;
    if (keys > 0) truth = conjunction(truth, equal(left.first_key[l], right.first_key[r]));
    if (keys > 1) truth = conjunction(truth, equal(left.second_key[l], right.second_key[r]));
    return conjunction(truth, is_less(left.value[l], right.value[r]));
  };
  std::vector<uint32_t> left_matches(left.count());
  std::vector<uint32_t> right_matches(right.count());
  std::vector<uint8_t> left_unknown(left.count());
  std::vector<uint8_t> right_unknown(right.count());
  Joined joined;
  for (size_t l = 0; l < left.count(); ++l) {
    for (size_t r = 0; r < right.count(); ++r) {
      Truth const truth = truth_of(l, r);
      if (!truth) left_unknown[l] = right_unknown[r] = 1;
      if (!truth.value_or(false)) continue;
      ++left_matches[l];
      ++right_matches[r];
      joined.rows.push_back({static_cast<int64_t>(l), static_cast<int64_t>(r), 3});
    }
  }
  auto const single = [&](const std::vector<uint32_t>& matches) {
    joined.several = std::any_of(matches.begin(), matches.end(), [](uint32_t n) { return n > 1; });
  };
  auto const add = [&](bool of_left, const std::function<bool(size_t)>& comes, bool marked) {
    auto const& matches = of_left ? left_matches : right_matches;
    auto const& unknown = of_left ? left_unknown : right_unknown;
    for (size_t row = 0; row < matches.size(); ++row) {
      if (!comes(row)) continue;
      auto const number = static_cast<int64_t>(row);
      int64_t const mark = matches[row] != 0 ? 1 : unknown[row] != 0 ? 2 : 0;
      joined.rows.push_back(
          {of_left ? number : kNoRow, of_left ? kNoRow : number, marked ? mark : 3});
    }
  };
  auto const unmatched = [&](bool of_left) {
    auto const& matches = of_left ? left_matches : right_matches;
    add(
        of_left, [&](size_t row) { return matches[row] == 0; }, false);
  };
  auto const alone = [&](bool of_left, const std::function<bool(size_t)>& comes, bool marked) {
    joined.rows.clear();
    add(of_left, comes, marked);
  };
  switch (kind) {
    case GPUJOIN_JOIN_LEFT_SINGLE:
      single(left_matches);
      [[fallthrough]];
    case GPUJOIN_JOIN_LEFT:
      unmatched(true);
      break;
    case GPUJOIN_JOIN_RIGHT_SINGLE:
      single(right_matches);
      [[fallthrough]];
    case GPUJOIN_JOIN_RIGHT:
      unmatched(false);
      break;
    case GPUJOIN_JOIN_FULL:
      unmatched(true);
      unmatched(false);
      break;
    case GPUJOIN_JOIN_LEFT_SEMI:
      alone(
          true, [&](size_t row) { return left_matches[row] != 0; }, false);
      break;
    case GPUJOIN_JOIN_RIGHT_SEMI:
      alone(
          false, [&](size_t row) { return right_matches[row] != 0; }, false);
      break;
    case GPUJOIN_JOIN_LEFT_ANTI:
      alone(
          true, [&](size_t row) { return left_matches[row] == 0; }, false);
      break;
    case GPUJOIN_JOIN_RIGHT_ANTI:
      alone(
          false, [&](size_t row) { return right_matches[row] == 0; }, false);
      break;
    case GPUJOIN_JOIN_LEFT_MARK:
      alone(
          true, [](size_t) { return true; }, true);
      break;
    case GPUJOIN_JOIN_RIGHT_MARK:
      alone(
          false, [](size_t) { return true; }, true);
      break;
    case GPUJOIN_JOIN_LEFT_NOT_IN:
      alone(
          true, [&](size_t r) { return left_matches[r] == 0 && left_unknown[r] == 0; }, false);
      break;
    case GPUJOIN_JOIN_RIGHT_NOT_IN:
      alone(
          false, [&](size_t r) { return right_matches[r] == 0 && right_unknown[r] == 0; }, false);
      break;
    default:
      break;
  }
  std::sort(joined.rows.begin(), joined.rows.end());
  return joined;
}

bool is_of_left(gpujoin_join_kind kind) {
  return kind == GPUJOIN_JOIN_LEFT_SEMI || kind == GPUJOIN_JOIN_LEFT_ANTI ||
         kind == GPUJOIN_JOIN_LEFT_MARK || kind == GPUJOIN_JOIN_LEFT_NOT_IN;
}
bool is_of_right(gpujoin_join_kind kind) {
  return kind == GPUJOIN_JOIN_RIGHT_SEMI || kind == GPUJOIN_JOIN_RIGHT_ANTI ||
         kind == GPUJOIN_JOIN_RIGHT_MARK || kind == GPUJOIN_JOIN_RIGHT_NOT_IN;
}

class Residual : public DeviceTest {
 protected:
  void SetUp() override {
    DeviceTest::SetUp();
    if (!IsSkipped()) context_ = make_context(options());
  }

  // left.column operator right.column
  static std::vector<gpujoin_node> comparison(gpujoin_operator operation, int32_t column) {
    std::vector<gpujoin_node> nodes(3, GPUJOIN_NODE_INIT);
    nodes[0].operation = nodes[1].operation = GPUJOIN_OPERATOR_COLUMN;
    nodes[0].side = GPUJOIN_SIDE_LEFT;
    nodes[1].side = GPUJOIN_SIDE_RIGHT;
    nodes[0].column = nodes[1].column = column;
    nodes[2].operation = operation;
    nodes[2].argument_count = 2;
    return nodes;
  }

  Answer join(gpujoin_join_kind kind, const Relation& left, const Relation& right, int32_t keys,
              const gpujoin_plan_options& options, Result* out) {
    std::vector<gpujoin_node> const nodes = comparison(GPUJOIN_OPERATOR_LESS, 2);
    gpujoin_condition condition = GPUJOIN_CONDITION_INIT;
    condition.node_count = static_cast<int32_t>(nodes.size());
    condition.nodes = nodes.data();
    gpujoin_join_spec spec = GPUJOIN_JOIN_SPEC_INIT;
    int32_t const columns[] = {0, 1};
    int32_t const output[] = {2};
    spec.kind = kind;
    spec.key_count = keys;
    spec.left_keys = spec.right_keys = columns;
    spec.residual = &condition;
    spec.output = GPUJOIN_OUTPUT_PAIRS | GPUJOIN_OUTPUT_COLUMNS;
    if (!is_of_right(kind)) {
      spec.left_columns = output;
      spec.left_column_count = 1;
    }
    if (!is_of_left(kind)) {
      spec.right_columns = output;
      spec.right_column_count = 1;
    }
    gpujoin_result* result = nullptr;
    Answer const answer =
        call(gpujoin_join, context_.get(), left.get(), right.get(), &spec, &options, &result);
    out->reset(result);
    return answer;
  }

  // Row numbers and mark, sorted; columns are held against the rows that they are of.
  static std::vector<Row> rows_of_result(const Result& result, gpujoin_join_kind kind,
                                         const Rows& left, const Rows& right) {
    auto const count = static_cast<size_t>(rows_of(result));
    std::vector<Row> rows(count, Row{kNoRow, kNoRow, 3});
    std::vector<int64_t> numbers(count);
    int32_t column = 0;
    for (bool const of_left : {true, false}) {
      if (of_left ? is_of_right(kind) : is_of_left(kind)) continue;
      gpujoin_fetch fetch = fetch_of(of_left ? GPUJOIN_FETCH_LEFT_INDEX : GPUJOIN_FETCH_RIGHT_INDEX,
                                     0, numbers.data(), count * sizeof(int64_t));
      EXPECT_OK(call(gpujoin_result_fetch, result.get(), nullptr, &fetch, 1));
      auto const values = column_of<int32_t>(result, column++);
      for (size_t i = 0; i < count; ++i) {
        rows[i][of_left ? 0 : 1] = numbers[i];
        auto const row = static_cast<size_t>(numbers[i]);
        EXPECT_EQ(values[i], numbers[i] == kNoRow ? Value()
                             : of_left            ? left.value[row]
                                                  : right.value[row]);
      }
    }
    if (kind == GPUJOIN_JOIN_LEFT_MARK || kind == GPUJOIN_JOIN_RIGHT_MARK) {
      std::vector<uint8_t> bits((count + 7) / 8);
      std::vector<uint8_t> valid((count + 7) / 8);
      gpujoin_fetch fetch = fetch_of(GPUJOIN_FETCH_COLUMN, column, bits.data(), bits.size());
      fetch.validity = valid.data();
      fetch.validity_bytes = valid.size();
      EXPECT_OK(call(gpujoin_result_fetch, result.get(), nullptr, &fetch, 1));
      for (size_t i = 0; i < count; ++i) {
        bool const is_valid = (valid[i / 8] >> i % 8 & 1) != 0;
        rows[i][2] = is_valid ? bits[i / 8] >> i % 8 & 1 : 2;
      }
    }
    std::sort(rows.begin(), rows.end());
    return rows;
  }

  void expect_all_kinds(const Rows& left, const Rows& right, int32_t keys,
                        const gpujoin_plan_options& options) {
    Table const left_table = left.table();
    Table const right_table = right.table();
    Relation const of_left = make_relation(context_, left_table);
    Relation const of_right = make_relation(context_, right_table);
    for (gpujoin_join_kind kind = GPUJOIN_JOIN_INNER; kind <= kLastKind; ++kind) {
      SCOPED_TRACE("kind " + std::to_string(kind) + ", keys " + std::to_string(keys));
      Joined const wanted = expected(kind, left, right, keys);
      Result result;
      Answer const answer = join(kind, of_left, of_right, keys, options, &result);
      if (wanted.several) {
        EXPECT_STATUS(answer, GPUJOIN_ERROR_SEVERAL_MATCHES);
        continue;
      }
      ASSERT_OK(answer);
      EXPECT_EQ(rows_of_result(result, kind, left, right), wanted.rows);
    }
  }

  Context context_;
};
ON_EVERY_DEVICE(Residual);

TEST_P(Residual, HoldsInEveryKind) {
  std::mt19937 random(27);
  gpujoin_plan_options const automatic = GPUJOIN_PLAN_OPTIONS_INIT;
  for (int const nulls : {0, 20}) {
    for (int const distinct : {1, 40, 1000}) {
      Rows const left = random_rows(random, 150, distinct, nulls);
      Rows const right = random_rows(random, 90, distinct, nulls);
      for (int32_t const keys : {0, 1, 2}) {
        expect_all_kinds(left, right, keys, automatic);
        expect_all_kinds(right, left, keys, automatic);
      }
    }
  }
}

TEST_P(Residual, HoldsWithoutAMatchAndWithoutRows) {
  std::mt19937 random(28);
  gpujoin_plan_options const automatic = GPUJOIN_PLAN_OPTIONS_INIT;
  Rows const some = random_rows(random, 40, 5, 20);
  Rows none = random_rows(random, 40, 5, 20);
  for (Value& value : none.value) value = -1;
  Rows const empty = random_rows(random, 0, 1, 0);
  expect_all_kinds(some, none, 1, automatic);
  expect_all_kinds(none, some, 1, automatic);
  expect_all_kinds(some, empty, 1, automatic);
  expect_all_kinds(empty, some, 2, automatic);
  expect_all_kinds(empty, empty, 1, automatic);
}

TEST_P(Residual, HoldsWithEachAlgorithmThatCanTakeIt) {
  std::mt19937 random(29);
  Rows const left = random_rows(random, 700, 60, 10);
  Rows const right = random_rows(random, 400, 60, 10);
  std::vector<gpujoin_algorithm> algorithms = {GPUJOIN_ALGORITHM_CPU_RADIX};
  if (device() == GPUJOIN_DEVICE_CUDA) {
    algorithms = {GPUJOIN_ALGORITHM_NOP, GPUJOIN_ALGORITHM_PHJ_GFUR, GPUJOIN_ALGORITHM_SMJ_UM,
                  GPUJOIN_ALGORITHM_PHJ_UM, GPUJOIN_ALGORITHM_ROW_MULTISET};
  }
  for (gpujoin_algorithm const algorithm : algorithms) {
    SCOPED_TRACE(algorithm);
    for (gpujoin_side const side : {GPUJOIN_SIDE_LEFT, GPUJOIN_SIDE_RIGHT}) {
      gpujoin_plan_options options = GPUJOIN_PLAN_OPTIONS_INIT;
      options.algorithm = algorithm;
      options.build_side = side;
      expect_all_kinds(left, right, 1, options);
    }
  }
}

TEST_P(Residual, SaysWhichPlansCannotTakeIt) {
  if (device() != GPUJOIN_DEVICE_CUDA) GTEST_SKIP() << "the CPU has one family";
  std::mt19937 random(30);
  Rows const rows = random_rows(random, 50, 10, 0);
  Table const table = rows.table();
  Relation const relation = make_relation(context_, table);
  gpujoin_plan_options options = GPUJOIN_PLAN_OPTIONS_INIT;
  options.algorithm = GPUJOIN_ALGORITHM_PHJ_CARRIED;
  Result result;
  EXPECT_NAMES(join(GPUJOIN_JOIN_INNER, relation, relation, 1, options, &result),
               GPUJOIN_ERROR_ILLEGAL_PLAN, "residual");
}

// More candidates than are written before they are filtered.
TEST_P(Residual, LooksAtCandidatesInPieces) {
  size_t const side = device() == GPUJOIN_DEVICE_CUDA ? 12000 : 3000;
  Rows rows;
  for (size_t i = 0; i < side; ++i) {
    rows.first_key.push_back(7);
    rows.second_key.push_back(1);
    rows.value.push_back(static_cast<int32_t>(i));
  }
  Rows few = rows;
  // Every row but the last is below one other alone.
  for (Value& value : few.value) value = -1;
  few.value[5] = 100;
  Table const left_table = rows.table();
  Table const right_table = few.table();
  Relation const left = make_relation(context_, left_table);
  Relation const right = make_relation(context_, right_table);
  gpujoin_plan_options options = GPUJOIN_PLAN_OPTIONS_INIT;
  std::vector<gpujoin_algorithm> algorithms = {GPUJOIN_ALGORITHM_AUTOMATIC};
  if (device() == GPUJOIN_DEVICE_CUDA) {
    algorithms = {GPUJOIN_ALGORITHM_NOP, GPUJOIN_ALGORITHM_PHJ_GFUR, GPUJOIN_ALGORITHM_SMJ_UM,
                  GPUJOIN_ALGORITHM_ROW_MULTISET};
  }
  for (gpujoin_algorithm const algorithm : algorithms) {
    SCOPED_TRACE(algorithm);
    options.algorithm = algorithm;
    Result result;
    ASSERT_OK(join(GPUJOIN_JOIN_INNER, left, right, 1, options, &result));
    EXPECT_EQ(rows_of(result), 100);
    ASSERT_OK(join(GPUJOIN_JOIN_LEFT_ANTI, left, right, 1, options, &result));
    EXPECT_EQ(rows_of(result), static_cast<int64_t>(side) - 100);
  }
}

}  // namespace
