// promises_test.cpp: what is said of the data: how it may be said, what a broken promise answers.
#include "tests/abi/fixture.hpp"

using namespace gpujoin_test;

namespace {

constexpr int32_t kInvalid = GPUJOIN_ERROR_INVALID_ARGUMENT;
constexpr int32_t kBroken = GPUJOIN_ERROR_BROKEN_PROMISE;

class PromisesTest : public DeviceTest {
 protected:
  void SetUp() override {
    DeviceTest::SetUp();
    if (!IsSkipped()) context = make_context(device());
  }
  Context context;

  Answer answer_of(const Table& left, const Table& right, int32_t promises, int64_t rows = 0,
                   gpujoin_join_kind kind = GPUJOIN_JOIN_INNER) {
    Relation const left_relation = make_relation(context, left);
    Relation const right_relation = make_relation(context, right);
    Spec lists;
    lists.kind = kind;
    if (kind == GPUJOIN_JOIN_CROSS) lists.left_keys = lists.right_keys = {};
    gpujoin_join_spec spec = lists.get();
    spec.promises = promises;
    spec.promised_rows = rows;
    gpujoin_result* made = nullptr;
    Answer const answer =
        call(gpujoin_join, context.get(), left_relation.get(), right_relation.get(), &spec,
             static_cast<const gpujoin_plan_options*>(nullptr), &made);
    EXPECT_EQ(made == nullptr, answer.status != GPUJOIN_OK);
    gpujoin_result_destroy(made);
    return answer;
  }
};
ON_EVERY_DEVICE(PromisesTest);

Table keys_of(const std::vector<std::optional<int32_t>>& keys) {
  Table table;
  table.emplace_back("k", GPUJOIN_TYPE_INT32, keys);
  return table;
}

}  // namespace

TEST_P(PromisesTest, NamesWhatItRefuses) {
  Table const one = keys_of({1});
  EXPECT_NAMES(answer_of(one, one, 32), kInvalid, "spec.promises");
  EXPECT_NAMES(answer_of(one, one, -1), kInvalid, "spec.promises");
  EXPECT_NAMES(answer_of(one, one, GPUJOIN_PROMISE_ROWS, -1), kInvalid, "spec.promised_rows");
  EXPECT_NAMES(answer_of(one, one, 0, 1), kInvalid, "lacks GPUJOIN_PROMISE_ROWS");
  EXPECT_NAMES(answer_of(one, one, GPUJOIN_PROMISE_LEFT_SORTED, 0, GPUJOIN_JOIN_CROSS), kInvalid,
               "spec.promises");
}

TEST_P(PromisesTest, UniqueNamesTheLowestRowThatRepeats) {
  Table const unique = keys_of({4, {}, 2, {}, 9});
  Table const repeats = keys_of({4, 8, 2, 8, 4, 8});
  for (int32_t const both : {GPUJOIN_PROMISE_LEFT_UNIQUE | GPUJOIN_PROMISE_RIGHT_UNIQUE}) {
    EXPECT_OK(answer_of(unique, unique, both));
  }
  EXPECT_NAMES(answer_of(repeats, unique, GPUJOIN_PROMISE_LEFT_UNIQUE), kBroken, "left");
  EXPECT_NAMES(answer_of(repeats, unique, GPUJOIN_PROMISE_LEFT_UNIQUE), kBroken, "row 3 ");
  EXPECT_NAMES(answer_of(unique, repeats, GPUJOIN_PROMISE_RIGHT_UNIQUE), kBroken, "right");
  EXPECT_OK(answer_of(unique, repeats, GPUJOIN_PROMISE_LEFT_UNIQUE));
}

TEST_P(PromisesTest, SortedNamesTheFirstRowThatIsNot) {
  Table const sorted = keys_of({{}, -4, -4, 0, 9});
  EXPECT_OK(answer_of(sorted, sorted, GPUJOIN_PROMISE_LEFT_SORTED | GPUJOIN_PROMISE_RIGHT_SORTED));
  EXPECT_NAMES(answer_of(sorted, keys_of({1, 2, 2, 1, 0}), GPUJOIN_PROMISE_RIGHT_SORTED), kBroken,
               "right are not sorted: row 3 ");
  EXPECT_NAMES(answer_of(keys_of({{}, 2, {}}), sorted, GPUJOIN_PROMISE_LEFT_SORTED), kBroken,
               "left are not sorted: row 2 ");
}

// Of more rows than a task has, in every place.
TEST_P(PromisesTest, ManyRows) {
  std::vector<std::optional<int32_t>> keys(300'000);
  for (size_t i = 0; i < keys.size(); ++i) keys[i] = static_cast<int32_t>(i) - 1'000;
  Table const few = keys_of({1, 2});
  constexpr int32_t kBoth = GPUJOIN_PROMISE_LEFT_UNIQUE | GPUJOIN_PROMISE_LEFT_SORTED;
  EXPECT_OK(answer_of(keys_of(keys), few, kBoth));
  keys[299'999] = keys[65'536];
  EXPECT_NAMES(answer_of(keys_of(keys), few, GPUJOIN_PROMISE_LEFT_UNIQUE), kBroken, "row 299999 ");
  EXPECT_NAMES(answer_of(keys_of(keys), few, GPUJOIN_PROMISE_LEFT_SORTED), kBroken, "row 299999 ");
  keys[65'536] = keys[65'535];
  EXPECT_NAMES(answer_of(keys_of(keys), few, GPUJOIN_PROMISE_LEFT_UNIQUE), kBroken, "row 65536 ");
}

TEST_P(PromisesTest, RowsOfTheJoin) {
  Table const keys = keys_of({1, 1, 2});
  EXPECT_OK(answer_of(keys, keys, GPUJOIN_PROMISE_ROWS, 5));
  EXPECT_NAMES(answer_of(keys, keys, GPUJOIN_PROMISE_ROWS, 4), kBroken, "has 5 rows");
  EXPECT_NAMES(answer_of(keys, keys, GPUJOIN_PROMISE_ROWS, 8, GPUJOIN_JOIN_CROSS), kBroken,
               "has 9 rows");
}
