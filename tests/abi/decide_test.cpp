// decide_test.cpp: joins whose residual the caller evaluates: candidates out, answers in, then the
// rows of the kind.
#include <algorithm>
#include <random>
#include <tuple>
#include <vector>

#include "tests/abi/decided_rows.hpp"
#include "tests/abi/fixture.hpp"

using namespace gpujoin_test;

namespace {

class Decide : public DeviceTest {
 protected:
  void SetUp() override {
    DeviceTest::SetUp();
    if (!IsSkipped()) context_ = make_context(options());
  }

  Relation keys(const std::vector<std::optional<int32_t>>& values) {
    tables_.push_back({Column("k", GPUJOIN_TYPE_INT32, values)});
    return make_relation(context_, tables_.back());
  }

  // A relation of one BOOL column.
  Relation answers_of(const std::vector<std::optional<bool>>& values) {
    bits_.assign(values.size() / 8 + 1, 0);
    valid_.assign(values.size() / 8 + 1, 0);
    for (size_t i = 0; i < values.size(); ++i) {
      if (values[i]) valid_[i / 8] = static_cast<uint8_t>(valid_[i / 8] | 1U << i % 8);
      // A bit beneath NULL says nothing.
      if (values[i].value_or(true)) bits_[i / 8] = static_cast<uint8_t>(bits_[i / 8] | 1U << i % 8);
    }
    gpujoin_column column = GPUJOIN_COLUMN_INIT;
    column.type = GPUJOIN_TYPE_BOOL;
    column.data = bits_.data();
    column.validity = valid_.data();
    gpujoin_relation* relation = nullptr;
    EXPECT_OK(call(gpujoin_relation_create, context_.get(), static_cast<int64_t>(values.size()),
                   &column, 1, &relation));
    return Relation(relation);
  }

  Result candidates(const Relation& left, const Relation& right, gpujoin_join_kind kind,
                    int32_t output) {
    gpujoin_node node = GPUJOIN_NODE_INIT;
    node.operation = GPUJOIN_OPERATOR_CALLER;
    gpujoin_condition condition = GPUJOIN_CONDITION_INIT;
    condition.node_count = 1;
    condition.nodes = &node;
    gpujoin_join_spec spec = GPUJOIN_JOIN_SPEC_INIT;
    int32_t const key = 0;
    spec.kind = kind;
    spec.key_count = 1;
    spec.left_keys = spec.right_keys = &key;
    spec.output = output;
    spec.residual = &condition;
    gpujoin_result* result = nullptr;
    EXPECT_OK(call(gpujoin_join, context_.get(), left.get(), right.get(), &spec, nullptr, &result));
    return Result(result);
  }

  Result decide(const Result& pending, const Relation& answers) {
    gpujoin_result* result = nullptr;
    EXPECT_OK(call(gpujoin_result_decide, pending.get(), answers.get(), &result));
    return Result(result);
  }

  Context context_;
  std::vector<Table> tables_;
  std::vector<uint8_t> bits_;
  std::vector<uint8_t> valid_;
};
ON_EVERY_DEVICE(Decide);

TEST_P(Decide, KeepsThePairsOfTrueAnswersInEveryKind) {
  std::mt19937 random(18);
  std::vector<std::optional<int32_t>> left_keys(500);
  std::vector<std::optional<int32_t>> right_keys(300);
  for (auto* keys : {&left_keys, &right_keys}) {
    for (auto& key : *keys) {
      if (random() % 10 != 0) key = static_cast<int32_t>(random() % 60);
    }
  }
  Relation const left = keys(left_keys);
  Relation const right = keys(right_keys);
  for (gpujoin_join_kind const kind :
       {GPUJOIN_JOIN_INNER, GPUJOIN_JOIN_LEFT, GPUJOIN_JOIN_RIGHT, GPUJOIN_JOIN_FULL,
        GPUJOIN_JOIN_LEFT_SEMI, GPUJOIN_JOIN_RIGHT_SEMI, GPUJOIN_JOIN_LEFT_ANTI,
        GPUJOIN_JOIN_RIGHT_ANTI}) {
    SCOPED_TRACE(kind);
    Result const pending = candidates(left, right, kind, GPUJOIN_OUTPUT_PAIRS);
    ASSERT_NE(pending, nullptr);
    std::vector<Pair> const pairs = pairs_in_order(pending);
    std::vector<std::optional<bool>> answers;
    std::vector<Pair> matches;
    for (Pair const& pair : pairs) {
      EXPECT_EQ(left_keys[static_cast<size_t>(std::get<0>(pair))],
                right_keys[static_cast<size_t>(std::get<1>(pair))]);
      auto const draw = random() % 4;
      answers.push_back(draw == 0 ? std::nullopt : std::optional<bool>(draw == 1));
      if (draw == 1) matches.push_back(pair);
    }
    Result const decided = decide(pending, answers_of(answers));
    ASSERT_NE(decided, nullptr);
    EXPECT_EQ(rows_of_kind(decided, kind),
              expected_rows(kind, left_keys.size(), right_keys.size(), matches));
    // As often as one likes.
    Result const none = decide(pending, answers_of(std::vector<std::optional<bool>>(
                                            pairs.size(), std::optional<bool>(false))));
    ASSERT_NE(none, nullptr);
    EXPECT_EQ(rows_of_kind(none, kind),
              expected_rows(kind, left_keys.size(), right_keys.size(), {}));
  }
}

TEST_P(Decide, SingleMayHaveOneTrueAnswerARow) {
  Relation const left = keys({1, 2});
  Relation const right = keys({2, 2, 3});
  Result const pending = candidates(left, right, GPUJOIN_JOIN_LEFT_SINGLE, GPUJOIN_OUTPUT_PAIRS);
  ASSERT_NE(pending, nullptr);
  ASSERT_EQ(rows_of(pending), 2);
  Result const decided = decide(pending, answers_of({false, true}));
  ASSERT_NE(decided, nullptr);
  EXPECT_EQ(rows_of(decided), 2);
  gpujoin_result* out = nullptr;
  EXPECT_NAMES(call(gpujoin_result_decide, pending.get(), answers_of({true, true}).get(), &out),
               GPUJOIN_ERROR_SEVERAL_MATCHES, "left row 1");
}

TEST_P(Decide, RefusesWhatIsNoAnswer) {
  Relation const left = keys({1, 2});
  Relation const right = keys({2, 2, 3});
  Result const pending = candidates(left, right, GPUJOIN_JOIN_INNER, GPUJOIN_OUTPUT_PAIRS);
  ASSERT_NE(pending, nullptr);
  gpujoin_result* out = nullptr;
  EXPECT_NAMES(call(gpujoin_result_decide, pending.get(), answers_of({true}).get(), &out),
               GPUJOIN_ERROR_INVALID_ARGUMENT, "answers has 1 rows and there are 2");
  EXPECT_NAMES(call(gpujoin_result_decide, pending.get(), left.get(), &out), GPUJOIN_ERROR_TYPE,
               "answers");
  EXPECT_NAMES(call(gpujoin_result_decide, pending.get(), nullptr, &out),
               GPUJOIN_ERROR_INVALID_ARGUMENT, "answers");
  Spec spec;
  Result const plain = join(context_, left, right, spec);
  EXPECT_NAMES(call(gpujoin_result_decide, plain.get(), answers_of({true, true}).get(), &out),
               GPUJOIN_ERROR_INVALID_ARGUMENT, "candidates");
  EXPECT_EQ(out, nullptr);
}

}  // namespace
