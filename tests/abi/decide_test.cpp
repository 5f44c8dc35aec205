// decide_test.cpp: joins whose residual the caller evaluates: candidates out, answers in, then the
// rows of the kind.
#include <algorithm>
#include <random>
#include <tuple>
#include <vector>

#include "tests/abi/fixture.hpp"

using namespace gpujoin_test;

namespace {

using Pair = std::tuple<int64_t, int64_t>;
constexpr int64_t kNoRow = GPUJOIN_NO_ROW_INT64;

bool has(gpujoin_join_kind kind, std::initializer_list<gpujoin_join_kind> kinds) {
  return std::find(kinds.begin(), kinds.end(), kind) != kinds.end();
}

// Row numbers of the kind, by looking at every pair.
std::vector<Pair> expected_rows(gpujoin_join_kind kind, size_t left_rows, size_t right_rows,
                                const std::vector<Pair>& matches) {
  std::vector<uint32_t> of_left(left_rows);
  std::vector<uint32_t> of_right(right_rows);
  for (auto const& [left, right] : matches) {
    ++of_left[static_cast<size_t>(left)];
    ++of_right[static_cast<size_t>(right)];
  }
  std::vector<Pair> rows;
  bool const alone = has(kind, {GPUJOIN_JOIN_LEFT_SEMI, GPUJOIN_JOIN_LEFT_ANTI,
                                GPUJOIN_JOIN_RIGHT_SEMI, GPUJOIN_JOIN_RIGHT_ANTI});
  if (!alone) rows = matches;
  auto const add = [&](const std::vector<uint32_t>& counts, bool with_match, bool left) {
    for (size_t row = 0; row < counts.size(); ++row) {
      if ((counts[row] != 0) != with_match) continue;
      auto const number = static_cast<int64_t>(row);
      rows.emplace_back(left ? number : kNoRow, left ? kNoRow : number);
    }
  };
  if (has(kind, {GPUJOIN_JOIN_LEFT, GPUJOIN_JOIN_FULL, GPUJOIN_JOIN_LEFT_ANTI})) {
    add(of_left, false, true);
  }
  if (has(kind, {GPUJOIN_JOIN_RIGHT, GPUJOIN_JOIN_FULL, GPUJOIN_JOIN_RIGHT_ANTI})) {
    add(of_right, false, false);
  }
  if (kind == GPUJOIN_JOIN_LEFT_SEMI) add(of_left, true, true);
  if (kind == GPUJOIN_JOIN_RIGHT_SEMI) add(of_right, true, false);
  std::sort(rows.begin(), rows.end());
  return rows;
}

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

std::vector<Pair> pairs_in_order(const Result& result) {
  auto const rows = static_cast<size_t>(rows_of(result));
  std::vector<int64_t> left(rows);
  std::vector<int64_t> right(rows);
  gpujoin_fetch fetches[] = {fetch_of(GPUJOIN_FETCH_LEFT_INDEX, 0, left.data(), rows * 8),
                             fetch_of(GPUJOIN_FETCH_RIGHT_INDEX, 0, right.data(), rows * 8)};
  EXPECT_OK(call(gpujoin_result_fetch, result.get(), nullptr, fetches, 2));
  std::vector<Pair> pairs;
  for (size_t i = 0; i < rows; ++i) pairs.emplace_back(left[i], right[i]);
  return pairs;
}

std::vector<Pair> rows_of_kind(const Result& result, gpujoin_join_kind kind) {
  bool const of_left = has(kind, {GPUJOIN_JOIN_LEFT_SEMI, GPUJOIN_JOIN_LEFT_ANTI});
  bool const of_right = has(kind, {GPUJOIN_JOIN_RIGHT_SEMI, GPUJOIN_JOIN_RIGHT_ANTI});
  std::vector<Pair> rows;
  if (!of_left && !of_right) {
    rows = pairs_in_order(result);
  } else {
    std::vector<int64_t> numbers(static_cast<size_t>(rows_of(result)));
    gpujoin_fetch fetch = fetch_of(of_left ? GPUJOIN_FETCH_LEFT_INDEX : GPUJOIN_FETCH_RIGHT_INDEX,
                                   0, numbers.data(), numbers.size() * 8);
    EXPECT_OK(call(gpujoin_result_fetch, result.get(), nullptr, &fetch, 1));
    for (int64_t const number : numbers) {
      rows.emplace_back(of_left ? number : kNoRow, of_left ? kNoRow : number);
    }
  }
  std::sort(rows.begin(), rows.end());
  return rows;
}

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
