// evaluate_condition_test.cpp: conditions by hand, on the CPU.
#include "src/cpu/evaluate_condition.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>

#include "src/base/status.hpp"
#include "src/conditions/bind.hpp"
#include "tests/conditions/condition_tables.hpp"

namespace gpujoin::tests {
namespace {

constexpr uint8_t F = cpu::kAnswerFalse;
constexpr uint8_t T = cpu::kAnswerTrue;
constexpr uint8_t N = cpu::kAnswerNull;
using Answers = std::vector<uint8_t>;

// Row i with row i.
Answers evaluated(const columns::Condition& condition, const HostTable& left,
                  const HostTable& right, size_t rows) {
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

std::string message_of(const columns::Condition& condition, const HostTable& left,
                       const HostTable& right, size_t rows, gpujoin_status status) {
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
      HostTable const left = {{integers(one, {1, 2, 3, std::nullopt, 100, 7})}};
      HostTable const right = {{integers(other, {2, 2, 2, 2, std::nullopt, 7})}};
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
  HostTable const left = {{integers("i", {1, INT32_MAX, 5})}};
  HostTable const right = {{integers("i", {1, 1, 0})}};
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

TEST(EvaluateCondition, TypesThatDoNotCompareAreNamedWithTheirNode) {
  HostTable const left = {{integers("i", {1}), texts("u", {"a"})}};
  EXPECT_EQ(message_of(Written().left(0).right(1).of(GPUJOIN_OPERATOR_LESS, 2), left, left, 1,
                       GPUJOIN_ERROR_TYPE),
            "spec.residual.nodes[2]: LESS of INT32 and UTF8, which do not compare");
  EXPECT_EQ(message_of(Written().left(0), left, left, 1, GPUJOIN_ERROR_TYPE),
            "spec.residual.nodes[0] is the answer and INT32, which has to be BOOL");
}

}  // namespace
}  // namespace gpujoin::tests
