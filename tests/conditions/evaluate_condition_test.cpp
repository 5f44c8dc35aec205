// evaluate_condition_test.cpp: conditions by hand, on the CPU.
#include "src/cpu/evaluate_condition.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <limits>

#include "kernels/conditions/interpret.hpp"
#include "tests/conditions/random_conditions.hpp"

namespace gpujoin::tests {
namespace {

constexpr uint8_t F = cpu::kAnswerFalse;
constexpr uint8_t T = cpu::kAnswerTrue;
constexpr uint8_t N = cpu::kAnswerNull;
using Answers = std::vector<uint8_t>;

// Row i with row i.
Answers evaluated(const columns::Condition& condition, const ArrowTable& left,
                  const ArrowTable& right, size_t rows) {
  auto const left_relation = left.relation(static_cast<int64_t>(rows));
  auto const right_relation = right.relation(static_cast<int64_t>(rows));
  auto const bound = conditions::bind(condition, *left_relation, *right_relation);
  cpu::ConditionEvaluator evaluator(bound, *left_relation, *right_relation);
  std::vector<uint32_t> numbers(rows);
  for (size_t i = 0; i < rows; ++i) numbers[i] = static_cast<uint32_t>(i);
  Answers answers(rows, 7);
  evaluator.evaluate(numbers.data(), numbers.data(), static_cast<uint32_t>(rows), answers.data());
  return answers;
}

std::string message_of(const columns::Condition& condition, const ArrowTable& left,
                       const ArrowTable& right, size_t rows, gpujoin_status status) {
  try {
    evaluated(condition, left, right, rows);
  } catch (const base::Error& error) {
    EXPECT_EQ(error.status(), status) << error.what();
    return error.what();
  }
  return "no error";
}

TEST(EvaluateCondition, ComparesIntegersOfAllWidthsByValue) {
  std::vector<std::string> const formats = {"c", "s", "i", "l", "C", "S", "I", "L"};
  for (std::string const& one : formats) {
    for (std::string const& other : formats) {
      SCOPED_TRACE(one + " " + other);
      ArrowTable const left = {{integers(one, {1, 2, 3, std::nullopt, 100, 7})}};
      ArrowTable const right = {{integers(other, {2, 2, 2, 2, std::nullopt, 7})}};
      auto const by = [&](gpujoin_operator operation) {
        return evaluated(Written().left(0).right(0).of(operation, 2), left, right, 6);
      };
      EXPECT_EQ(by(GPUJOIN_OPERATOR_LESS), (Answers{T, F, F, N, N, F}));
      EXPECT_EQ(by(GPUJOIN_OPERATOR_LESS_EQUAL), (Answers{T, T, F, N, N, T}));
      EXPECT_EQ(by(GPUJOIN_OPERATOR_GREATER), (Answers{F, F, T, N, N, F}));
      EXPECT_EQ(by(GPUJOIN_OPERATOR_GREATER_EQUAL), (Answers{F, T, T, N, N, T}));
      EXPECT_EQ(by(GPUJOIN_OPERATOR_EQUAL), (Answers{F, T, F, N, N, T}));
      EXPECT_EQ(by(GPUJOIN_OPERATOR_NOT_EQUAL), (Answers{T, F, T, N, N, F}));
      EXPECT_EQ(by(GPUJOIN_OPERATOR_DISTINCT), (Answers{T, F, T, T, T, F}));
      EXPECT_EQ(by(GPUJOIN_OPERATOR_NOT_DISTINCT), (Answers{F, T, F, F, F, T}));
    }
  }
}

TEST(EvaluateCondition, AnOverflowNamesItsNodeAndRows) {
  ArrowTable const left = {{integers("i", {1, INT32_MAX, 5})}};
  ArrowTable const right = {{integers("i", {1, 1, 0})}};
  Written sum;
  sum.left(0).right(0).of(GPUJOIN_OPERATOR_ADD, 2);
  sum.constant(integers("i", {10})).of(GPUJOIN_OPERATOR_LESS, 2);
  EXPECT_EQ(message_of(sum, left, right, 3, GPUJOIN_ERROR_EVALUATION),
            "spec.residual.nodes[2]: an overflow of INT32 in left row 1 and right row 1");
  Written quotient;
  quotient.left(0).right(0).of(GPUJOIN_OPERATOR_QUOTIENT, 2);
  quotient.constant(integers("i", {10})).of(GPUJOIN_OPERATOR_LESS, 2);
  EXPECT_EQ(message_of(quotient, left, right, 3, GPUJOIN_ERROR_EVALUATION),
            "spec.residual.nodes[2]: a division by zero in left row 2 and right row 2");
  // False AND no value is false.
  Written guarded;
  guarded.right(0).constant(integers("l", {0})).of(GPUJOIN_OPERATOR_NOT_EQUAL, 2);
  guarded.left(0).right(0).of(GPUJOIN_OPERATOR_QUOTIENT, 2);
  guarded.constant(integers("i", {10})).of(GPUJOIN_OPERATOR_LESS, 2);
  guarded.of(GPUJOIN_OPERATOR_AND, 2);
  EXPECT_EQ(evaluated(guarded, left, right, 3), (Answers{T, F, F}));
}

// A column of one side with one of the other, or with a constant.
Answers compared(gpujoin_operator operation, const std::shared_ptr<ArrowColumn>& one,
                 const std::shared_ptr<ArrowColumn>& other, size_t rows) {
  return evaluated(Written().left(0).right(0).of(operation, 2), {{one}}, {{other}}, rows);
}

Integer power(int of_two) { return Integer{1} << of_two; }

TEST(EvaluateCondition, ComparesDecimalsOfAllWidthsAndScalesExactly) {
  Integer ten_37 = 1;
  for (int i = 0; i < 37; ++i) ten_37 *= 10;
  // 38 digits beside a scale of 38 more: no 256 bits are enough for both in one unit.
  EXPECT_EQ(compared(GPUJOIN_OPERATOR_LESS, integers("d:38,0", {ten_37, -ten_37, 0, 1}),
                     integers("d:38,38", {1, 1, 1, ten_37}), 4),
            (Answers{F, T, T, F}));
  EXPECT_EQ(compared(GPUJOIN_OPERATOR_EQUAL, integers("d:9,2,32", {100, 101, -250}),
                     integers("d:76,4,256", {10000, 10101, -25000}), 3),
            (Answers{T, F, T}));
  EXPECT_EQ(
      compared(GPUJOIN_OPERATOR_EQUAL, integers("l", {INT64_MAX, INT64_MIN, 3}),
               integers("d:38,2", {Integer{INT64_MAX} * 100, Integer{INT64_MIN} * 100, 301}), 3),
      (Answers{T, T, F}));
  EXPECT_EQ(compared(GPUJOIN_OPERATOR_LESS, integers("d:76,70,256", {1, -1}),
                     integers("d:76,-70,256", {1, -1}), 2),
            (Answers{T, F}));
}

TEST(EvaluateCondition, ComparesTimesOfOtherUnitsExactly) {
  Integer const most = INT64_MAX;
  EXPECT_EQ(compared(GPUJOIN_OPERATOR_LESS, integers("tss:", {most, -most, 1, 2}),
                     integers("tsn:", {most, -most, 1'000'000'001, 2'000'000'000}), 4),
            (Answers{F, T, T, F}));
  EXPECT_EQ(compared(GPUJOIN_OPERATOR_EQUAL, integers("tdD", {1, INT32_MAX, INT32_MIN}),
                     integers("tsu:", {86'400'000'000, 0, most}), 3),
            (Answers{T, F, F}));
  EXPECT_EQ(
      compared(GPUJOIN_OPERATOR_EQUAL, integers("tdD", {1}), integers("tdm", {86'400'000}), 1),
      (Answers{T}));
  EXPECT_EQ(compared(GPUJOIN_OPERATOR_GREATER, integers("ttm", {1}), integers("ttn", {999'999}), 1),
            (Answers{T}));
}

TEST(EvaluateCondition, NanIsEqualToNanAndAboveAllElse) {
  double const nan = std::numeric_limits<double>::quiet_NaN();
  Floats const left = {nan, nan, INFINITY, -0.0, 1};
  Floats const right = {nan, INFINITY, nan, 0.0, nan};
  for (char const* const one : {"f", "g", "e"}) {
    for (char const* const other : {"f", "g", "e"}) {
      auto const by = [&](gpujoin_operator operation) {
        return compared(operation, floats(one, left), floats(other, right), 5);
      };
      EXPECT_EQ(by(GPUJOIN_OPERATOR_EQUAL), (Answers{T, F, F, T, F}));
      EXPECT_EQ(by(GPUJOIN_OPERATOR_LESS), (Answers{F, F, T, F, T}));
      EXPECT_EQ(by(GPUJOIN_OPERATOR_GREATER_EQUAL), (Answers{T, T, F, T, F}));
    }
  }
}

TEST(EvaluateCondition, DecimalsBecomeTheNearestFloat) {
  // What a division of two floats would round twice.
  std::vector<std::pair<Integer, double>> const cases = {
      {(Integer{1} << 53) + 1, 9007199254740.993},
      {Integer{123456789012345678}, 123456789012345.678},
      {-Integer{999999999999999999}, -999999999999999.999},
      {1, 0.001},
  };
  for (auto const& [unscaled, value] : cases) {
    EXPECT_EQ(
        compared(GPUJOIN_OPERATOR_EQUAL, integers("d:38,3", {unscaled}), floats("g", {value}), 1),
        (Answers{T}))
        << value;
    EXPECT_EQ(compared(GPUJOIN_OPERATOR_EQUAL, integers("d:76,3,256", {unscaled}),
                       floats("g", {value}), 1),
              (Answers{T}))
        << value;
  }
  EXPECT_EQ(compared(GPUJOIN_OPERATOR_EQUAL, integers("l", {(Integer{1} << 53) + 1}),
                     floats("g", {9007199254740992.0}), 1),
            (Answers{T}));
}

TEST(EvaluateCondition, ComparesBytesFromTheFirstOn) {
  using std::string_literals::operator""s;
  Texts const left = {"", "a", "a\0"s, "a\0b"s, "b", "\xff", "a long one, of more than 12 bytes"};
  Texts const right = {"a", "a", "a", "a\0c"s, "ab", "\x7f", "a long one, of more than 12 byteS"};
  for (char const* const one : {"u", "U", "vu"}) {
    for (char const* const other : {"u", "U", "vu"}) {
      EXPECT_EQ(compared(GPUJOIN_OPERATOR_LESS, texts(one, left), texts(other, right), 7),
                (Answers{T, F, F, T, F, F, F}));
      EXPECT_EQ(compared(GPUJOIN_OPERATOR_STARTS_WITH, texts(one, left), texts(other, right), 7),
                (Answers{F, T, T, F, F, F, F}));
    }
  }
  EXPECT_EQ(
      compared(GPUJOIN_OPERATOR_EQUAL, texts("w:3", {"abc", "ab"}), texts("z", {"abc", "ab"}), 2),
      (Answers{T, F}));
}

// The last value that a type holds, and the one behind it.
TEST(EvaluateCondition, ArithmeticEndsWhereItsTypeDoes) {
  struct Type {
    std::string format;
    int bits;
    bool is_signed;
  };
  for (Type const& type :
       {Type{"c", 8, true}, Type{"s", 16, true}, Type{"i", 32, true}, Type{"l", 64, true},
        Type{"C", 8, false}, Type{"S", 16, false}, Type{"I", 32, false}, Type{"L", 64, false}}) {
    SCOPED_TRACE(type.format);
    Integer const most = power(type.bits - (type.is_signed ? 1 : 0)) - 1;
    Integer const least = type.is_signed ? -most - 1 : 0;
    auto const of = [&](gpujoin_operator operation, Integer one, Integer other) {
      Written written;
      written.left(0).right(0).of(operation, 2).of(GPUJOIN_OPERATOR_IS_NOT_NULL, 1);
      try {
        return evaluated(written, {{integers(type.format, {one})}},
                         {{integers(type.format, {other})}}, 1) == Answers{T};
      } catch (const base::Error& error) {
        EXPECT_EQ(error.status(), GPUJOIN_ERROR_EVALUATION);
        return false;
      }
    };
    EXPECT_TRUE(of(GPUJOIN_OPERATOR_ADD, most - 1, 1));
    EXPECT_FALSE(of(GPUJOIN_OPERATOR_ADD, most, 1));
    EXPECT_TRUE(of(GPUJOIN_OPERATOR_SUBTRACT, least + 1, 1));
    EXPECT_FALSE(of(GPUJOIN_OPERATOR_SUBTRACT, least, 1));
    EXPECT_TRUE(of(GPUJOIN_OPERATOR_MULTIPLY, most / 2, 2));
    EXPECT_FALSE(of(GPUJOIN_OPERATOR_MULTIPLY, most / 2 + 1, 2));
    EXPECT_FALSE(of(GPUJOIN_OPERATOR_MULTIPLY, most, most));
    EXPECT_FALSE(of(GPUJOIN_OPERATOR_QUOTIENT, most, 0));
    EXPECT_FALSE(of(GPUJOIN_OPERATOR_MODULO, most, 0));
    if (!type.is_signed) continue;
    EXPECT_FALSE(of(GPUJOIN_OPERATOR_QUOTIENT, least, -1));
    EXPECT_TRUE(of(GPUJOIN_OPERATOR_MODULO, least, -1));
    EXPECT_TRUE(of(GPUJOIN_OPERATOR_MULTIPLY, least, 1));
    EXPECT_FALSE(of(GPUJOIN_OPERATOR_MULTIPLY, least, -1));
    EXPECT_FALSE(of(GPUJOIN_OPERATOR_MULTIPLY, -1, least));
    EXPECT_TRUE(of(GPUJOIN_OPERATOR_MULTIPLY, -2, most / 2 + 1));
  }
}

TEST(EvaluateCondition, QuotientsGoTowardsZeroAndModuloHasTheFirstSign) {
  Integers const left = {7, -7, 7, -7, std::nullopt};
  Integers const right = {2, 2, -2, -2, 0};
  auto const equals = [&](gpujoin_operator operation, const Integers& expected) {
    ArrowTable const table = {{integers("i", left), integers("c", right), integers("l", expected)}};
    Written written;
    written.left(0).left(1).of(operation, 2).left(2).of(GPUJOIN_OPERATOR_EQUAL, 2);
    return evaluated(written, table, table, 5);
  };
  EXPECT_EQ(equals(GPUJOIN_OPERATOR_QUOTIENT, {3, -3, -3, 3, 0}), (Answers{T, T, T, T, N}));
  EXPECT_EQ(equals(GPUJOIN_OPERATOR_MODULO, {1, -1, 1, -1, 0}), (Answers{T, T, T, T, N}));
}

TEST(EvaluateCondition, LogicOfFourStates) {
  // True, false, NULL, no value: x / y with y 0.
  auto const state = [](Written* to, int which) {
    if (which == 3) {
      to->constant(integers("i", {1})).constant(integers("i", {0}));
      to->of(GPUJOIN_OPERATOR_QUOTIENT, 2).constant(integers("i", {1}));
      to->of(GPUJOIN_OPERATOR_EQUAL, 2);
    } else {
      std::optional<Integer> const value =
          which == 2 ? std::nullopt : std::optional(Integer{which});
      to->constant(integers("b", {value}));
    }
  };
  ArrowTable const table = {{integers("i", {1})}};
  auto const answer_of = [&](const Written& written) -> int {
    try {
      return evaluated(written, table, table, 1)[0];
    } catch (const base::Error& error) {
      EXPECT_EQ(error.status(), GPUJOIN_ERROR_EVALUATION);
      return 3;
    }
  };
  // By false, true, NULL, no value.
  int const ands[4][4] = {{0, 0, 0, 0}, {0, 1, 2, 3}, {0, 2, 2, 3}, {0, 3, 3, 3}};
  int const ors[4][4] = {{0, 1, 2, 3}, {1, 1, 1, 1}, {2, 1, 2, 3}, {3, 1, 3, 3}};
  int const coalesced[4][4] = {{0, 0, 0, 0}, {1, 1, 1, 1}, {0, 1, 2, 3}, {3, 3, 3, 3}};
  int const chosen[4][4] = {{0, 1, 2, 3}, {1, 1, 1, 1}, {0, 1, 2, 3}, {3, 3, 3, 3}};
  for (int one = 0; one < 4; ++one) {
    for (int other = 0; other < 4; ++other) {
      auto const of = [&](gpujoin_operator operation) {
        Written written;
        state(&written, one);
        state(&written, other);
        return answer_of(written.of(operation, 2));
      };
      SCOPED_TRACE(std::to_string(one) + " " + std::to_string(other));
      EXPECT_EQ(of(GPUJOIN_OPERATOR_AND), ands[one][other]);
      EXPECT_EQ(of(GPUJOIN_OPERATOR_OR), ors[one][other]);
      EXPECT_EQ(of(GPUJOIN_OPERATOR_COALESCE), coalesced[one][other]);
      Written written;
      state(&written, one);
      state(&written, 1);
      state(&written, other);
      EXPECT_EQ(answer_of(written.of(GPUJOIN_OPERATOR_CASE, 3)), chosen[one][other]);
    }
    auto const of_one = [&](gpujoin_operator operation) {
      Written written;
      state(&written, one);
      return answer_of(written.of(operation, 1));
    };
    EXPECT_EQ(of_one(GPUJOIN_OPERATOR_NOT), (std::vector{1, 0, 2, 3}[static_cast<size_t>(one)]));
    EXPECT_EQ(of_one(GPUJOIN_OPERATOR_IS_NULL),
              (std::vector{0, 0, 1, 3}[static_cast<size_t>(one)]));
    EXPECT_EQ(of_one(GPUJOIN_OPERATOR_IS_TRUE),
              (std::vector{0, 1, 0, 3}[static_cast<size_t>(one)]));
    EXPECT_EQ(of_one(GPUJOIN_OPERATOR_IS_FALSE),
              (std::vector{1, 0, 0, 3}[static_cast<size_t>(one)]));
  }
}

TEST(EvaluateCondition, InTellsNullsFromWhatIsNotThere) {
  ArrowTable const table = {{integers("i", {1, 2, 5, std::nullopt})}};
  auto const in = [&](const Integers& values) {
    Written written;
    written.left(0).in(integers("l", values), static_cast<int64_t>(values.size()));
    return evaluated(written, table, table, 4);
  };
  EXPECT_EQ(in({5, 1, 1, power(40)}), (Answers{T, F, T, N}));
  EXPECT_EQ(in({5, std::nullopt}), (Answers{N, N, T, N}));
  EXPECT_EQ(in({std::nullopt}), (Answers{N, N, N, N}));
  EXPECT_EQ(in({}), (Answers{F, F, F, F}));
}

TEST(EvaluateCondition, DatesMoveByDaysAndTimestampsByTheirUnits) {
  struct Case {
    std::shared_ptr<ArrowColumn> one;
    std::shared_ptr<ArrowColumn> other;
    gpujoin_operator operation;
    std::shared_ptr<ArrowColumn> result;
  };
  std::vector<Case> const cases = {
      {integers("tdD", {10}), integers("c", {5}), GPUJOIN_OPERATOR_ADD, integers("tdD", {15})},
      {integers("tdm", {86'400'000}), integers("i", {2}), GPUJOIN_OPERATOR_SUBTRACT,
       integers("tdm", {-86'400'000})},
      {integers("l", {5}), integers("tsu:", {1}), GPUJOIN_OPERATOR_ADD, integers("tsu:", {6})},
      {integers("tdD", {10}), integers("tdm", {86'400'000}), GPUJOIN_OPERATOR_SUBTRACT,
       integers("i", {9})},
      {integers("tss:", {2}), integers("tsm:", {500}), GPUJOIN_OPERATOR_SUBTRACT,
       integers("l", {1500})},
      {integers("tss:", {2}), integers("tDm", {500}), GPUJOIN_OPERATOR_ADD,
       integers("tsm:", {2500})},
      {integers("tDs", {2}), integers("tDm", {500}), GPUJOIN_OPERATOR_SUBTRACT,
       integers("tDm", {1500})},
  };
  for (Case const& one : cases) {
    ArrowTable const table = {{one.one, one.other, one.result}};
    Written written;
    written.left(0).right(1).of(one.operation, 2).left(2).of(GPUJOIN_OPERATOR_EQUAL, 2);
    EXPECT_EQ(evaluated(written, table, table, 1), (Answers{T})) << one.result->view.name;
  }
}

TEST(EvaluateCondition, ReadsDictionariesAndRunsAsTheirValues) {
  auto const words = texts("u", {"zero", "one", "two", std::nullopt});
  auto const named = dictionary(words, 4, {2, 3, std::nullopt, 100, 0, -1});
  EXPECT_EQ(compared(GPUJOIN_OPERATOR_EQUAL, named,
                     texts("vu", {"two", "two", "two", "two", "two", "two"}), 6),
            (Answers{T, N, N, N, F, N}));
  // Ends 2, 5, 20, from the second row on.
  auto const in_runs = runs(integers("i", {7, std::nullopt, 9}), {2, 5, 20}, 1);
  EXPECT_EQ(compared(GPUJOIN_OPERATOR_LESS, in_runs, integers("l", {8, 8, 8, 8, 8, 10}), 6),
            (Answers{T, N, N, N, F, T}));
}

TEST(EvaluateCondition, NoDepthIsTooDeep) {
  ArrowTable const table = {{integers("i", {1, 2, std::nullopt}), integers("b", {1, 0, 1})}};
  Written negated;
  negated.left(1);
  for (int i = 0; i < 4095; ++i) negated.of(GPUJOIN_OPERATOR_NOT, 1);
  EXPECT_EQ(evaluated(negated, table, table, 3), (Answers{F, T, F}));
  // ((a + a) + a) ..., and a + (a + (a + ...)), each the sum of 1024 of them.
  for (bool const is_left_deep : {true, false}) {
    Written sum;
    for (int i = 0; i < 1024; ++i) {
      sum.left(0);
      if (is_left_deep && i > 0) sum.of(GPUJOIN_OPERATOR_ADD, 2);
    }
    for (int i = 1; !is_left_deep && i < 1024; ++i) sum.of(GPUJOIN_OPERATOR_ADD, 2);
    sum.constant(integers("i", {1024})).of(GPUJOIN_OPERATOR_EQUAL, 2);
    EXPECT_EQ(evaluated(sum, table, table, 3), (Answers{T, F, N}));
  }
  // A full tree of BETWEENs, whose first argument is read twice.
  Written tree;
  std::function<void(int)> const add = [&](int depth) {
    if (depth == 0) {
      tree.left(1);
      return;
    }
    for (int i = 0; i < 3; ++i) add(depth - 1);
    tree.of(GPUJOIN_OPERATOR_BETWEEN, 3);
  };
  add(7);
  EXPECT_EQ(evaluated(tree, table, table, 3), (Answers{T, T, T}));
}

// The program, pair by pair, as the device runs it.
TEST(EvaluateCondition, LoopsOverBatchesAnswerAsTheInterpreterDoes) {
  constexpr size_t kRows = 200;
  RandomConditions random(3);
  ArrowTable const left = random.table(kRows);
  ArrowTable const right = random.table(kRows);
  auto const left_relation = left.relation(kRows);
  auto const right_relation = right.relation(kRows);
  size_t answered = 0;
  size_t failed = 0;
  for (int i = 0; i < 3000; ++i) {
    SCOPED_TRACE(i);
    auto const bound = random.condition(left, right, kRows).second;
    conditions::Sources sources;
    for (conditions::BoundColumn const& column : bound->columns) {
      auto const& relation = column.of_left ? *left_relation : *right_relation;
      conditions::add_source(relation.columns[static_cast<size_t>(column.column)], column.of_left,
                             &sources);
    }
    kernels::Program program;
    program.instructions = bound->instructions.data();
    program.count = static_cast<uint32_t>(bound->instructions.size());
    program.answer = bound->answer;
    program.constants = bound->constant_bytes();
    program.columns = sources.columns.data();
    program.hops = sources.hops.data();
    std::mt19937_64 rows(static_cast<uint64_t>(i));
    std::vector<uint32_t> numbers[2];
    for (int k = 0; k < 30; ++k) {
      for (auto& of_side : numbers) {
        bool const is_missing = i % 2 == 0 && rows() % 9 == 0;
        of_side.push_back(is_missing ? GPUJOIN_NO_ROW : static_cast<uint32_t>(rows() % kRows));
      }
    }
    cpu::ConditionEvaluator evaluator(bound, *left_relation, *right_relation);
    for (size_t k = 0; k < numbers[0].size(); ++k) {
      kernels::Answer const expected =
          kernels::interpret<kernels::kMostValueBytes, kernels::kMostRegisters>(
              program, numbers[0][k], numbers[1][k]);
      // Beside others, so that a batch has several states.
      uint32_t const beside = static_cast<uint32_t>(k % 4);
      uint32_t const first = static_cast<uint32_t>(k) - std::min(static_cast<uint32_t>(k), beside);
      std::vector<uint8_t> answers(k + 1 - first);
      try {
        evaluator.evaluate(numbers[0].data() + first, numbers[1].data() + first,
                           static_cast<uint32_t>(answers.size()), answers.data());
        uint8_t const known = expected.state == kernels::kNullState ? N : expected.value;
        ASSERT_LT(expected.state, kernels::kNoValue);
        ASSERT_EQ(answers.back(), known) << k;
        ++answered;
      } catch (const base::Error&) {
        ++failed;
        bool any = false;
        for (size_t of = first; of <= k; ++of) {
          any = any || kernels::interpret<kernels::kMostValueBytes, kernels::kMostRegisters>(
                           program, numbers[0][of], numbers[1][of])
                               .state >= kernels::kNoValue;
        }
        ASSERT_TRUE(any) << k;
      }
    }
  }
  EXPECT_GT(answered, 40'000U);
  EXPECT_GT(failed, 1'000U);
}

TEST(EvaluateCondition, TypesThatDoNotCompareAreNamedWithTheirNode) {
  ArrowTable const left = {{integers("i", {1}), texts("u", {"a"})}};
  EXPECT_EQ(message_of(Written().left(0).right(1).of(GPUJOIN_OPERATOR_LESS, 2), left, left, 1,
                       GPUJOIN_ERROR_TYPE),
            "spec.residual.nodes[2]: LESS of INT32 and UTF8, which do not compare");
  EXPECT_EQ(message_of(Written().left(0), left, left, 1, GPUJOIN_ERROR_TYPE),
            "spec.residual.nodes[0] is the answer and INT32, which has to be BOOL");
}

}  // namespace
}  // namespace gpujoin::tests
