// bounds_test.cpp: order of rows, limits of rows and bytes, and exact sizes, on every device.
#include <algorithm>
#include <set>
#include <vector>

#include "tests/abi/fixture.hpp"

using namespace gpujoin_test;

namespace {

constexpr gpujoin_order kOrders[] = {GPUJOIN_ORDER_LEFT, GPUJOIN_ORDER_RIGHT};

// Left keys 0 to 6 twice, right keys 0 to 4 three times, both out of order.
Table left_table() {
  std::vector<std::optional<int32_t>> keys;
  std::vector<int64_t> values;
  for (int32_t row = 0; row < 14; ++row) {
    keys.push_back(row * 3 % 7);
    values.push_back(100 + row);
  }
  keys[4] = std::nullopt;
  return {{"k", GPUJOIN_TYPE_INT32, keys}, {"a", GPUJOIN_TYPE_INT64, values}};
}
Table right_table() {
  std::vector<int32_t> keys;
  std::vector<int32_t> values;
  for (int32_t row = 0; row < 15; ++row) {
    keys.push_back(row * 2 % 5);
    values.push_back(200 + row);
  }
  return {{"k", GPUJOIN_TYPE_INT32, keys}, {"b", GPUJOIN_TYPE_INT32, values}};
}

bool is_of_one_side(gpujoin_join_kind kind) {
  return kind >= GPUJOIN_JOIN_LEFT_SEMI && kind <= GPUJOIN_JOIN_RIGHT_NOT_IN;
}

class BoundsTest : public DeviceTest {
 protected:
  void SetUp() override {
    DeviceTest::SetUp();
    if (IsSkipped()) return;
    context = make_context(options());
    left = make_relation(context, left_values);
    right = make_relation(context, right_values);
  }

  Spec wish_of(gpujoin_join_kind kind) const {
    Spec wish;
    wish.kind = kind;
    wish.output = GPUJOIN_OUTPUT_PAIRS | GPUJOIN_OUTPUT_COLUMNS;
    bool const left_alone = is_of_one_side(kind) && kind % 2 == 1;
    bool const right_alone = is_of_one_side(kind) && kind % 2 == 0;
    if (!right_alone) wish.left_columns = {1};
    if (!left_alone) wish.right_columns = {1};
    if (kind == GPUJOIN_JOIN_CROSS) wish.left_keys.clear();
    if (kind == GPUJOIN_JOIN_CROSS) wish.right_keys.clear();
    return wish;
  }
  Answer try_join(const gpujoin_join_spec& spec, Result* result = nullptr) {
    gpujoin_result* made = nullptr;
    Answer const answer =
        call(gpujoin_join, context.get(), left.get(), right.get(), &spec, nullptr, &made);
    Result owned(made);
    if (result != nullptr) *result = std::move(owned);
    return answer;
  }
  std::vector<int64_t> numbers(const Result& result, int32_t what) {
    std::vector<int64_t> rows(static_cast<size_t>(rows_of(result)));
    gpujoin_fetch fetch = fetch_of(what, 0, rows.data(), rows.size() * sizeof(int64_t));
    Answer const answer = call(gpujoin_result_fetch, result.get(), nullptr, &fetch, 1);
    if (answer.status != GPUJOIN_OK) rows.assign(rows.size(), -1);
    return rows;
  }
  Plan plan_of(const gpujoin_join_spec& spec) {
    gpujoin_plan* plan = nullptr;
    EXPECT_OK(
        call(gpujoin_plan_create, context.get(), left.get(), right.get(), &spec, nullptr, &plan));
    return Plan(plan);
  }

  Table left_values = left_table();
  Table right_values = right_table();
  Context context;
  Relation left;
  Relation right;
};
ON_EVERY_DEVICE(BoundsTest);

constexpr gpujoin_join_kind kKinds[] = {
    GPUJOIN_JOIN_INNER,      GPUJOIN_JOIN_LEFT,        GPUJOIN_JOIN_RIGHT,
    GPUJOIN_JOIN_FULL,       GPUJOIN_JOIN_LEFT_SEMI,   GPUJOIN_JOIN_RIGHT_SEMI,
    GPUJOIN_JOIN_LEFT_ANTI,  GPUJOIN_JOIN_RIGHT_ANTI,  GPUJOIN_JOIN_LEFT_MARK,
    GPUJOIN_JOIN_RIGHT_MARK, GPUJOIN_JOIN_LEFT_NOT_IN, GPUJOIN_JOIN_RIGHT_NOT_IN,
    GPUJOIN_JOIN_CROSS};

}  // namespace

TEST_P(BoundsTest, RowsComeInTheOrderOfASide) {
  for (gpujoin_join_kind const kind : kKinds) {
    for (gpujoin_order const order : kOrders) {
      SCOPED_TRACE("kind " + std::to_string(kind) + ", order " + std::to_string(order));
      Spec const wish = wish_of(kind);
      gpujoin_join_spec spec = wish.get();
      Result any;
      ASSERT_OK(try_join(spec, &any));
      spec.order = order;
      Result result;
      ASSERT_OK(try_join(spec, &result));
      std::vector<int64_t> const lefts = numbers(result, GPUJOIN_FETCH_LEFT_INDEX);
      std::vector<int64_t> const rights = numbers(result, GPUJOIN_FETCH_RIGHT_INDEX);
      std::vector<std::pair<uint64_t, uint64_t>> rows;
      for (size_t i = 0; i < lefts.size(); ++i) {
        rows.emplace_back(lefts[i], rights[i]);
        if (order == GPUJOIN_ORDER_RIGHT) std::swap(rows.back().first, rows.back().second);
      }
      EXPECT_TRUE(std::is_sorted(rows.begin(), rows.end()));
      EXPECT_EQ(std::set(rows.begin(), rows.end()).size(), rows.size());
      EXPECT_EQ(rows_of(result), rows_of(any));
      if (wish.left_columns.empty()) continue;
      auto const values = column_of<int64_t>(result, 0);
      for (size_t i = 0; i < lefts.size(); ++i) {
        EXPECT_EQ(values[i].value_or(99), 100 + lefts[i]);
      }
    }
  }
}

TEST_P(BoundsTest, TheProbeSideIsTheOtherThanTheBuildSide) {
  for (gpujoin_side const build : {GPUJOIN_SIDE_LEFT, GPUJOIN_SIDE_RIGHT}) {
    Spec const wish = wish_of(GPUJOIN_JOIN_INNER);
    gpujoin_join_spec spec = wish.get();
    spec.order = GPUJOIN_ORDER_PROBE;
    gpujoin_plan_options plan = GPUJOIN_PLAN_OPTIONS_INIT;
    plan.build_side = build;
    gpujoin_result* made = nullptr;
    ASSERT_OK(call(gpujoin_join, context.get(), left.get(), right.get(), &spec, &plan, &made));
    Result const result(made);
    auto const rows = numbers(
        result, build == GPUJOIN_SIDE_LEFT ? GPUJOIN_FETCH_RIGHT_INDEX : GPUJOIN_FETCH_LEFT_INDEX);
    EXPECT_TRUE(std::is_sorted(rows.begin(), rows.end()));
  }
}

TEST_P(BoundsTest, OrderHasAStageAndAPrice) {
  Spec const wish = wish_of(GPUJOIN_JOIN_INNER);
  gpujoin_join_spec spec = wish.get();
  spec.order = GPUJOIN_ORDER_RIGHT;
  Plan const plan = plan_of(spec);
  std::string text(1 << 14, '\0');
  size_t length = text.size();
  ASSERT_OK(call(gpujoin_plan_explain, plan.get(), text.data(), &length));
  EXPECT_NE(text.find("order: "), std::string::npos) << text;
  Result const result = execute(plan);
  gpujoin_statistics statistics = GPUJOIN_STATISTICS_INIT;
  ASSERT_OK(call(gpujoin_result_get_statistics, result.get(), &statistics));
  bool is_there = false;
  for (int32_t i = 0; i < statistics.stage_count; ++i) {
    gpujoin_stage_statistics stage = GPUJOIN_STAGE_STATISTICS_INIT;
    ASSERT_OK(call(gpujoin_result_get_stage, result.get(), i, &stage));
    is_there = is_there || std::string(stage.stage) == "order";
  }
  EXPECT_TRUE(is_there);
}

TEST_P(BoundsTest, LimitsEndTheJoinWithTheirStatus) {
  for (gpujoin_join_kind const kind : kKinds) {
    SCOPED_TRACE("kind " + std::to_string(kind));
    Spec const wish = wish_of(kind);
    Plan const plan = plan_of(wish.get());
    int64_t rows = 0;
    uint64_t bytes = 0;
    ASSERT_OK(call(gpujoin_plan_count, plan.get(), &rows, &bytes));
    Result const result = execute(plan);
    EXPECT_EQ(rows, rows_of(result));
    for (gpujoin_order const order : {GPUJOIN_ORDER_NONE, GPUJOIN_ORDER_LEFT}) {
      gpujoin_join_spec spec = wish.get();
      spec.order = order;
      spec.row_limit = rows;
      spec.byte_limit = bytes;
      EXPECT_OK(try_join(spec));
      if (rows == 0) continue;
      spec.byte_limit = bytes - 1;
      EXPECT_NAMES(try_join(spec), GPUJOIN_ERROR_BYTE_LIMIT, "spec.byte_limit");
      if (rows < 2) continue;
      spec.row_limit = rows - 1;
      spec.byte_limit = 0;
      EXPECT_NAMES(try_join(spec), GPUJOIN_ERROR_ROW_LIMIT, "spec.row_limit");
    }
  }
}

TEST_P(BoundsTest, BytesAreThoseOfTheBuffers) {
  // 8 and 4 bytes of values, two row numbers; no column that may be NULL comes out.
  Spec const wish = wish_of(GPUJOIN_JOIN_INNER);
  int64_t rows = 0;
  uint64_t bytes = 0;
  ASSERT_OK(call(gpujoin_plan_count, plan_of(wish.get()).get(), &rows, &bytes));
  EXPECT_EQ(bytes, static_cast<uint64_t>(rows) * (8 + 4 + 4 + 4));
  // Left columns of a full join may be NULL, and so may right ones.
  Spec const full = wish_of(GPUJOIN_JOIN_FULL);
  ASSERT_OK(call(gpujoin_plan_count, plan_of(full.get()).get(), &rows, &bytes));
  EXPECT_EQ(bytes, static_cast<uint64_t>(rows) * (8 + 4 + 4 + 4) + 2 * ((rows + 7) / 8));
  ASSERT_OK(call(gpujoin_plan_count, plan_of(full.get()).get(), &rows, nullptr));
  ASSERT_OK(call(gpujoin_plan_count, plan_of(full.get()).get(), nullptr, &bytes));
}

TEST_P(BoundsTest, CountingIgnoresLimitsAndLeavesNothingBehind) {
  Spec const wish = wish_of(GPUJOIN_JOIN_FULL);
  gpujoin_join_spec spec = wish.get();
  spec.row_limit = 1;
  spec.byte_limit = 1;
  spec.order = GPUJOIN_ORDER_LEFT;
  Plan const plan = plan_of(spec);
  int64_t rows = 0;
  ASSERT_OK(call(gpujoin_plan_count, plan.get(), &rows, nullptr));
  EXPECT_GT(rows, 1);
  gpujoin_result* none = nullptr;
  EXPECT_STATUS(call(gpujoin_plan_execute, plan.get(), &none), GPUJOIN_ERROR_ROW_LIMIT);
  EXPECT_EQ(none, nullptr);
  EXPECT_OK(call(gpujoin_context_trim, context.get()));
}

TEST_P(BoundsTest, CrossJoinsOfAnySizeStopBeforeTheyBegin) {
  Table const many = counting_table(200000, 10);
  Relation const large = make_relation(context, many);
  Spec const wish = wish_of(GPUJOIN_JOIN_CROSS);
  gpujoin_join_spec spec = wish.get();
  spec.row_limit = 1000;
  gpujoin_result* made = nullptr;
  EXPECT_NAMES(call(gpujoin_join, context.get(), large.get(), large.get(), &spec, nullptr, &made),
               GPUJOIN_ERROR_ROW_LIMIT, "40000000000 rows");
}

TEST_P(BoundsTest, ExplodingJoinsStopEarly) {
  // 4 * 10^8 pairs, of which a hundredth would not fit the limit of memory.
  Table const many = counting_table(20000, 1);
  gpujoin_context_options tight = options();
  tight.memory_limit_bytes = 64 << 20;
  Context const small = make_context(tight);
  Relation const one = make_relation(small, many);
  Spec wish = wish_of(GPUJOIN_JOIN_INNER);
  gpujoin_join_spec spec = wish.get();
  spec.row_limit = 10000;
  gpujoin_result* made = nullptr;
  EXPECT_NAMES(call(gpujoin_join, small.get(), one.get(), one.get(), &spec, nullptr, &made),
               GPUJOIN_ERROR_ROW_LIMIT, "spec.row_limit is 10000");
}

TEST_P(BoundsTest, HostileNumbersAreRefusedByName) {
  Spec const wish = wish_of(GPUJOIN_JOIN_INNER);
  gpujoin_join_spec spec = wish.get();
  for (int32_t const order : {-1, 4, INT32_MAX, INT32_MIN}) {
    spec.order = order;
    EXPECT_NAMES(try_join(spec), GPUJOIN_ERROR_INVALID_ARGUMENT, "spec.order");
  }
  spec.order = 0;
  spec.row_limit = -1;
  EXPECT_NAMES(try_join(spec), GPUJOIN_ERROR_INVALID_ARGUMENT, "spec.row_limit");
  spec.row_limit = INT64_MAX;
  spec.byte_limit = UINT64_MAX;
  EXPECT_OK(try_join(spec));
  int64_t rows = 7;
  EXPECT_NAMES(call(gpujoin_plan_count, static_cast<gpujoin_plan*>(nullptr), &rows, nullptr),
               GPUJOIN_ERROR_INVALID_ARGUMENT, "plan");
  EXPECT_EQ(rows, 7);
}
