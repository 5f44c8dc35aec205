// aggregates_test.cpp: aggregates in the place of rows: hostile arguments, names, what is left.
#include <functional>

#include "tests/abi/fixture.hpp"

using namespace gpujoin_test;

namespace {

class Aggregates : public DeviceTest {};
ON_EVERY_DEVICE(Aggregates);

gpujoin_aggregate aggregate_of(gpujoin_function function, gpujoin_side side = 0, int32_t column = 0,
                               const char* name = nullptr) {
  gpujoin_aggregate made = GPUJOIN_AGGREGATE_INIT;
  made.function = function;
  made.side = side;
  made.column = column;
  made.name = name;
  return made;
}

struct Sides {
  explicit Sides(gpujoin_device device)
      : context(make_context(device)),
        left(make_relation(context, left_table)),
        right(make_relation(context, right_table)) {}

  Table left_table = {
      Column("k", GPUJOIN_TYPE_INT32, std::vector<int32_t>{1, 2, 2, 5}),
      Column("x", GPUJOIN_TYPE_INT64, std::vector<std::optional<int64_t>>{10, 20, {}, 40})};
  Table right_table = {
      Column("k", GPUJOIN_TYPE_INT32, std::vector<int32_t>{2, 1, 2, 7}),
      Column("y", GPUJOIN_TYPE_FLOAT32, std::vector<float>{0.5F, 1.5F, -2.0F, 9.0F})};
  Context context;
  Relation left;
  Relation right;
};

// A specification with aggregates, to which changes can be made.
struct Asked {
  explicit Asked(std::vector<gpujoin_aggregate> wanted) : aggregates(std::move(wanted)) {
    spec = lists.get();
    spec.aggregates = aggregates.data();
    spec.aggregate_count = static_cast<int32_t>(aggregates.size());
  }
  Answer join(const Context& context, const Relation& left, const Relation& right,
              Result* result = nullptr) const {
    gpujoin_result* made = nullptr;
    Answer const answer = call(gpujoin_join, context.get(), left.get(), right.get(), &spec,
                               static_cast<const gpujoin_plan_options*>(nullptr), &made);
    Result owned(made);
    if (result != nullptr) *result = std::move(owned);
    return answer;
  }
  Answer join(const Sides& sides, Result* result = nullptr) const {
    return join(sides.context, sides.left, sides.right, result);
  }
  Spec lists;
  std::vector<gpujoin_aggregate> aggregates;
  gpujoin_join_spec spec;
};

TEST_P(Aggregates, OfAllRows) {
  Sides const sides(device());
  Asked const asked({aggregate_of(GPUJOIN_FUNCTION_COUNT_ROWS),
                     aggregate_of(GPUJOIN_FUNCTION_SUM, GPUJOIN_SIDE_LEFT, 1),
                     aggregate_of(GPUJOIN_FUNCTION_AVG, GPUJOIN_SIDE_RIGHT, 1),
                     aggregate_of(GPUJOIN_FUNCTION_MAX, GPUJOIN_SIDE_RIGHT, 1)});
  Result result;
  ASSERT_OK(asked.join(sides, &result));
  EXPECT_EQ(rows_of(result), 1);
  EXPECT_EQ(column_of<int64_t>(result, 0).front(), 5);
  EXPECT_EQ(column_of<int64_t>(result, 1).front(), 10 + 20 + 20);
  EXPECT_EQ(column_of<double>(result, 2).front(), (1.5 + 2 * 0.5 - 2 * 2.0) / 5);
  EXPECT_EQ(column_of<float>(result, 3).front(), 1.5F);
}

TEST_P(Aggregates, OfGroups) {
  Sides const sides(device());
  Asked asked({aggregate_of(GPUJOIN_FUNCTION_SUM, GPUJOIN_SIDE_RIGHT, 1)});
  asked.spec.group_side = GPUJOIN_SIDE_LEFT;
  asked.spec.output = GPUJOIN_OUTPUT_COLUMNS | GPUJOIN_OUTPUT_PAIRS;
  int32_t const columns[] = {1, 0};
  asked.spec.left_columns = columns;
  asked.spec.left_column_count = 2;
  for (gpujoin_join_kind const kind : {GPUJOIN_JOIN_INNER, GPUJOIN_JOIN_LEFT}) {
    asked.spec.kind = kind;
    Result result;
    ASSERT_OK(asked.join(sides, &result));
    size_t const rows = kind == GPUJOIN_JOIN_INNER ? 3 : 4;
    std::vector<std::optional<int64_t>> x = {10, 20, {}, 40};
    std::vector<std::optional<int32_t>> k = {1, 2, 2, 5};
    std::vector<std::optional<double>> totals = {1.5, -1.5, -1.5, {}};
    std::vector<int64_t> numbers(rows);
    gpujoin_fetch fetch =
        fetch_of(GPUJOIN_FETCH_LEFT_INDEX, 0, numbers.data(), rows * sizeof(int64_t));
    EXPECT_OK(call(gpujoin_result_fetch, result.get(), nullptr, &fetch, 1));
    x.resize(rows);
    k.resize(rows);
    totals.resize(rows);
    EXPECT_EQ(column_of<int64_t>(result, 0), x);
    EXPECT_EQ(column_of<int32_t>(result, 1), k);
    EXPECT_EQ(column_of<double>(result, 2), totals);
    for (size_t i = 0; i < rows; ++i) EXPECT_EQ(numbers[i], static_cast<int64_t>(i));
    fetch.what = GPUJOIN_FETCH_RIGHT_INDEX;
    EXPECT_STATUS(call(gpujoin_result_fetch, result.get(), nullptr, &fetch, 1),
                  GPUJOIN_ERROR_INVALID_ARGUMENT);
  }
}

TEST_P(Aggregates, AreNamed) {
  Sides const sides(device());
  Asked const asked({aggregate_of(GPUJOIN_FUNCTION_COUNT_ROWS),
                     aggregate_of(GPUJOIN_FUNCTION_EXISTS),
                     aggregate_of(GPUJOIN_FUNCTION_COUNT, GPUJOIN_SIDE_LEFT, 1),
                     aggregate_of(GPUJOIN_FUNCTION_ANY, GPUJOIN_SIDE_RIGHT, 1, "some y")});
  Result result;
  ASSERT_OK(asked.join(sides, &result));
  ArrowSchema schema;
  ArrowArray array;
  ASSERT_OK(call(gpujoin_result_export, result.get(), nullptr, &schema, &array));
  const char* const names[] = {"count(*)", "exists", "count(x)", "some y"};
  const char* const formats[] = {"l", "b", "l", "f"};
  ASSERT_EQ(schema.n_children, 4);
  for (int i = 0; i < 4; ++i) {
    EXPECT_STREQ(schema.children[i]->name, names[i]);
    EXPECT_STREQ(schema.children[i]->format, formats[i]);
  }
  schema.release(&schema);
  array.release(&array);
}

constexpr gpujoin_status kInvalid = GPUJOIN_ERROR_INVALID_ARGUMENT;
constexpr gpujoin_status kUnsupported = GPUJOIN_ERROR_UNSUPPORTED;

void expect_refused(const Sides& sides, gpujoin_aggregate aggregate, gpujoin_status status,
                    const char* word, const std::function<void(Asked&)>& change = nullptr) {
  Asked asked({aggregate});
  if (change) change(asked);
  EXPECT_NAMES(asked.join(sides), status, word);
}

TEST_P(Aggregates, RefuseFieldsOutOfRange) {
  Sides const sides(device());
  gpujoin_aggregate const count = aggregate_of(GPUJOIN_FUNCTION_COUNT_ROWS);
  for (int32_t const function : {0, -1, 9, INT32_MAX}) {
    expect_refused(sides, aggregate_of(function), kInvalid, "spec.aggregates[0].function");
  }
  expect_refused(sides, aggregate_of(GPUJOIN_FUNCTION_COUNT_ROWS, GPUJOIN_SIDE_LEFT), kInvalid,
                 "spec.aggregates[0].side of count");
  expect_refused(sides, aggregate_of(GPUJOIN_FUNCTION_EXISTS, 0, 1), kInvalid,
                 "spec.aggregates[0].column of exists");
  for (int32_t const side : {0, 3, -1}) {
    expect_refused(sides, aggregate_of(GPUJOIN_FUNCTION_SUM, side, 1), kInvalid,
                   "spec.aggregates[0].side");
  }
  for (int32_t const column : {-1, 2, INT32_MIN, INT32_MAX}) {
    expect_refused(sides, aggregate_of(GPUJOIN_FUNCTION_MIN, GPUJOIN_SIDE_RIGHT, column), kInvalid,
                   "spec.aggregates[0].column");
  }
  for (int32_t const number : {0, -1}) {
    expect_refused(sides, count, kInvalid, "spec.aggregate_count",
                   [&](Asked& asked) { asked.spec.aggregate_count = number; });
  }
  expect_refused(sides, count, kInvalid, "spec.aggregate_count",
                 [](Asked& asked) { asked.spec.aggregates = nullptr; });
  expect_refused(sides, count, kInvalid, "spec.group_side", [](Asked& asked) {
    asked.spec.aggregates = nullptr;
    asked.spec.aggregate_count = 0;
    asked.spec.group_side = GPUJOIN_SIDE_LEFT;
  });
  expect_refused(sides, count, kInvalid, "spec.group_side",
                 [](Asked& asked) { asked.spec.group_side = 3; });
  expect_refused(sides, count, GPUJOIN_ERROR_ABI_MISMATCH, "spec.aggregates[0]",
                 [](Asked& asked) { asked.aggregates[0].struct_size = 8; });
}

TEST_P(Aggregates, RefuseWhatMeansNothing) {
  Sides const sides(device());
  gpujoin_aggregate const count = aggregate_of(GPUJOIN_FUNCTION_COUNT_ROWS);
  int32_t const first = 0;
  auto const with = [&](gpujoin_join_kind kind, gpujoin_side side, int32_t output = 0,
                        int32_t right_columns = 0) {
    return [=, &first](Asked& asked) {
      asked.spec.kind = kind;
      asked.spec.group_side = side;
      asked.spec.output = output;
      asked.spec.right_columns = &first;
      asked.spec.right_column_count = right_columns;
    };
  };
  constexpr gpujoin_side kLeft = GPUJOIN_SIDE_LEFT;
  expect_refused(sides, count, kInvalid, "spec.output",
                 with(GPUJOIN_JOIN_INNER, 0, GPUJOIN_OUTPUT_PAIRS | GPUJOIN_OUTPUT_COLUMNS));
  expect_refused(sides, count, kInvalid, "GPUJOIN_OUTPUT_COLUMNS",
                 with(GPUJOIN_JOIN_INNER, kLeft, GPUJOIN_OUTPUT_PAIRS));
  expect_refused(sides, count, kInvalid, "spec.right_column_count",
                 with(GPUJOIN_JOIN_INNER, 0, 0, 1));
  expect_refused(sides, count, kInvalid, "spec.right_column_count",
                 with(GPUJOIN_JOIN_INNER, kLeft, 0, 1));
  for (gpujoin_join_kind const kind :
       {GPUJOIN_JOIN_FULL, GPUJOIN_JOIN_RIGHT, GPUJOIN_JOIN_RIGHT_SINGLE, GPUJOIN_JOIN_LEFT_SEMI}) {
    expect_refused(sides, count, kUnsupported, "spec.group_side", with(kind, kLeft));
  }
  expect_refused(sides, count, kUnsupported, "spec.aggregates", with(GPUJOIN_JOIN_LEFT_MARK, 0));
  expect_refused(sides, aggregate_of(GPUJOIN_FUNCTION_SUM, kLeft, 1), kInvalid,
                 "spec.aggregates[0].side", with(GPUJOIN_JOIN_RIGHT_ANTI, 0));
}

TEST_P(Aggregates, LeaveNothingBehindWhereATotalIsTooLarge) {
  Context const context = make_context(device());
  Table const table = {
      Column("k", GPUJOIN_TYPE_INT32, std::vector<int32_t>{1, 2, 2}),
      Column("x", GPUJOIN_TYPE_INT64, std::vector<int64_t>{INT64_MAX, INT64_MAX, INT64_MAX})};
  Relation const relation = make_relation(context, table);
  Asked asked({aggregate_of(GPUJOIN_FUNCTION_SUM, GPUJOIN_SIDE_RIGHT, 1, "total")});
  for (gpujoin_side const side : {0, GPUJOIN_SIDE_LEFT}) {
    asked.spec.group_side = side;
    Result result;
    EXPECT_NAMES(
        asked.join(context, relation, relation, &result), GPUJOIN_ERROR_EVALUATION,
        side == 0 ? "\"total\" does not fit INT64" : "\"total\" of left row 1 does not fit INT64");
    EXPECT_EQ(result, nullptr);
  }
  EXPECT_OK(call(gpujoin_context_trim, context.get()));
  gpujoin_context_info info = GPUJOIN_CONTEXT_INFO_INIT;
  EXPECT_OK(call(gpujoin_context_get_info, context.get(), &info));
  if (device() == GPUJOIN_DEVICE_CPU) {
    EXPECT_EQ(info.memory_used_bytes, 0u);
  }
}

TEST_P(Aggregates, OfAProductMakeNoRows) {
  Context const context = make_context(device());
  Table const table = {Column("x", GPUJOIN_TYPE_INT64, std::vector<int64_t>(100'000, -3))};
  Relation const relation = make_relation(context, table);
  Asked asked({aggregate_of(GPUJOIN_FUNCTION_COUNT_ROWS),
               aggregate_of(GPUJOIN_FUNCTION_SUM, GPUJOIN_SIDE_RIGHT, 0)});
  asked.spec.kind = GPUJOIN_JOIN_CROSS;
  asked.spec.key_count = 0;
  Result result;
  ASSERT_OK(asked.join(context, relation, relation, &result));
  EXPECT_EQ(column_of<int64_t>(result, 0).front(), 10'000'000'000);
  EXPECT_EQ(column_of<int64_t>(result, 1).front(), -30'000'000'000);
}

}  // namespace
