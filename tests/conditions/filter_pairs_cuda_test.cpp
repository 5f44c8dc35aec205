// filter_pairs_cuda_test.cpp: conditions on the device answer what they do on the CPU.
#include "src/conditions/filter_pairs.hpp"

#include "src/cpu/evaluate_condition.hpp"
#include "src/execute/condition_columns.hpp"
#include "tests/conditions/random_conditions.hpp"
#include "tests/gpu_fixture.hpp"

namespace gpujoin::tests {
namespace {

using ::gpujoin::conditions::BoundCondition;

struct Pairs {
  std::vector<uint32_t> left;
  std::vector<uint32_t> right;
};

Pairs random_pairs(size_t count, size_t rows, uint64_t seed, int missing_of_100) {
  std::mt19937_64 random(seed);
  Pairs pairs;
  auto const row = [&] {
    bool const is_missing = static_cast<int>(random() % 100) < missing_of_100;
    return is_missing ? GPUJOIN_NO_ROW : static_cast<uint32_t>(random() % rows);
  };
  for (size_t i = 0; i < count; ++i) {
    pairs.left.push_back(row());
    pairs.right.push_back(row());
  }
  return pairs;
}

class FilterPairs : public GpuTest {
 protected:
  // What the CPU answers; none: EVALUATION.
  static std::optional<std::vector<uint8_t>> on_cpu(
      const std::shared_ptr<const BoundCondition>& bound, const columns::Relation& left,
      const columns::Relation& right, const Pairs& pairs) {
    cpu::ConditionEvaluator evaluator(bound, left, right);
    std::vector<uint8_t> answers(pairs.left.size());
    try {
      evaluator.evaluate(pairs.left.data(), pairs.right.data(),
                         static_cast<uint32_t>(pairs.left.size()), answers.data());
    } catch (const base::Error& error) {
      EXPECT_EQ(error.status(), GPUJOIN_ERROR_EVALUATION) << error.what();
      return std::nullopt;
    }
    return answers;
  }

  // Of the condition, and of what it is not: a NULL is told from both.
  void expect_same(const Written& written, const columns::Relation& left,
                   const columns::Relation& right, const Pairs& pairs) {
    Written not_false = written;
    not_false.of(GPUJOIN_OPERATOR_IS_FALSE, 1).of(GPUJOIN_OPERATOR_NOT, 1);
    for (Written const& asked : {written, not_false}) {
      expect_same(conditions::bind(asked, left, right), left, right, pairs);
    }
  }

  std::shared_ptr<columns::Relation> related(const ArrowTable& table, size_t rows) {
    auto made = table.relation(static_cast<int64_t>(rows));
    made->context = queue().context.shared_from_this();
    return made;
  }

 private:
  void expect_same(const std::shared_ptr<const BoundCondition>& bound,
                   const columns::Relation& left, const columns::Relation& right,
                   const Pairs& pairs) {
    auto const expected = on_cpu(bound, left, right, pairs);
    auto const condition = execute::device_condition(queue(), bound, left, right);
    size_t const count = pairs.left.size();
    base::Buffer const left_rows = upload(queue(), pairs.left);
    base::Buffer const right_rows = upload(queue(), pairs.right);
    auto const filter = [&] {
      return conditions::filter_pairs(queue(), *condition, left_rows.as<uint32_t>(),
                                      right_rows.as<uint32_t>(), count);
    };
    if (!expected) {
      EXPECT_EQ(status_of(filter), GPUJOIN_ERROR_EVALUATION);
      return;
    }
    Pairs kept;
    for (size_t i = 0; i < count; ++i) {
      if ((*expected)[i] != cpu::kAnswerTrue) continue;
      kept.left.push_back(pairs.left[i]);
      kept.right.push_back(pairs.right[i]);
    }
    ASSERT_EQ(filter(), kept.left.size());
    ASSERT_TRUE(download<uint32_t>(queue(), left_rows.data(), kept.left.size()) == kept.left);
    ASSERT_TRUE(download<uint32_t>(queue(), right_rows.data(), kept.left.size()) == kept.right);
  }
};

TEST_F(FilterPairs, AnswersAsTheCpuDoesWhateverTheCondition) {
  constexpr size_t kRows = 300;
  RandomConditions random(11);
  ArrowTable const left = random.table(kRows);
  ArrowTable const right = random.table(kRows);
  auto const left_relation = related(left, kRows);
  auto const right_relation = related(right, kRows);
  for (uint64_t i = 0; i < 600; ++i) {
    SCOPED_TRACE(i);
    Written const written = random.condition(left, right, kRows).first;
    // Of few pairs more conditions have a value for all.
    Pairs const pairs = random_pairs(i % 3 == 0 ? 3000 : 1 + i % 40, kRows, i, i % 2 == 0 ? 10 : 0);
    expect_same(written, *left_relation, *right_relation, pairs);
    if (HasFailure()) return;
  }
}

TEST_F(FilterPairs, KeepsTheOrderAtTheEdgesOfTiles) {
  constexpr size_t kRows = 1000;
  RandomConditions random(5);
  ArrowTable const table = random.table(kRows);
  auto const relation = related(table, kRows);
  Written less;
  less.left(2).right(2).of(GPUJOIN_OPERATOR_LESS, 2);
  Written conjunction;
  conjunction.left(2).right(2).of(GPUJOIN_OPERATOR_LESS_EQUAL, 2);
  conjunction.left(10).right(10).of(GPUJOIN_OPERATOR_NOT_EQUAL, 2);
  conjunction.right(7).left(7).of(GPUJOIN_OPERATOR_GREATER, 2);
  conjunction.left(3).constant(integers("l", {0})).of(GPUJOIN_OPERATOR_GREATER_EQUAL, 2);
  conjunction.of(GPUJOIN_OPERATOR_AND, 4);
  Written program;
  program.left(2).right(3).of(GPUJOIN_OPERATOR_LESS, 2);
  std::vector<size_t> sizes = edge_sizes();
  sizes.push_back(3'000'000);
  for (Written const& written : {less, conjunction, program}) {
    for (size_t const size : sizes) {
      expect_same(written, *relation, *relation, random_pairs(size, kRows, size, 3));
      if (HasFailure()) return;
    }
  }
}

TEST_F(FilterPairs, OfAllOrNoneIsKeptWithoutWriting) {
  constexpr size_t kRows = 100;
  RandomConditions random(5);
  ArrowTable const table = random.table(kRows);
  auto const relation = related(table, kRows);
  for (gpujoin_operator const operation :
       {GPUJOIN_OPERATOR_IS_NULL, GPUJOIN_OPERATOR_IS_NOT_NULL}) {
    expect_same(Written().constant(nulls()).of(operation, 1), *relation, *relation,
                random_pairs(5000, kRows, 3, 0));
  }
}

TEST_F(FilterPairs, NamesTheRowsOfTheFirstPairWithoutAValue) {
  constexpr size_t kRows = 1000;
  Integers values;
  for (size_t i = 0; i < kRows; ++i) values.push_back(i == 700 ? INT32_MAX : Integer{5});
  ArrowTable const table = {{integers("i", values)}};
  auto const relation = related(table, kRows);
  Written written;
  written.left(0).right(0).of(GPUJOIN_OPERATOR_ADD, 2).constant(integers("i", {4}));
  written.of(GPUJOIN_OPERATOR_GREATER, 2);
  auto const bound = conditions::bind(written, *relation, *relation);
  auto const condition = execute::device_condition(queue(), bound, *relation, *relation);
  std::vector<uint32_t> left(100'000, 4);
  std::vector<uint32_t> right(100'000, 8);
  left[50'000] = left[70'000] = 700;
  base::Buffer const left_rows = upload(queue(), left);
  base::Buffer const right_rows = upload(queue(), right);
  try {
    conditions::filter_pairs(queue(), *condition, left_rows.as<uint32_t>(),
                             right_rows.as<uint32_t>(), left.size());
    FAIL() << "a sum of INT32 was beyond it";
  } catch (const base::Error& error) {
    EXPECT_STREQ(error.what(),
                 "spec.residual.nodes[2]: an overflow of INT32 in left row 700 and right row 8");
  }
}

TEST_F(FilterPairs, RunsProgramsThatAreTooLargeForParameters) {
  constexpr size_t kRows = 100;
  RandomConditions random(5);
  ArrowTable const table = random.table(kRows);
  auto const relation = related(table, kRows);
  Written written;
  for (int32_t i = 0; i < 1000; ++i) written.left(i % 4).right(3).of(GPUJOIN_OPERATOR_LESS, 2);
  written.of(GPUJOIN_OPERATOR_OR, 1000);
  expect_same(written, *relation, *relation, random_pairs(5000, kRows, 3, 5));
}

}  // namespace
}  // namespace gpujoin::tests
