// operation_promises_test.cpp: what is promised of the keys of operations, whose rows come in
// batches and may go to files.
#include <algorithm>
#include <string>
#include <vector>

#include "tests/abi/fixture.hpp"
#include "tests/abi/operation_results.hpp"

using namespace gpujoin_test;

namespace {

using Keys = std::vector<std::optional<int32_t>>;

constexpr int32_t kBroken = GPUJOIN_ERROR_BROKEN_PROMISE;
constexpr int32_t kKey = 0;

Table slice_of(const Keys& keys, size_t first, size_t rows) {
  auto const at = keys.begin() + static_cast<std::ptrdiff_t>(first);
  return {Column("k", GPUJOIN_TYPE_INT32, Keys(at, at + static_cast<std::ptrdiff_t>(rows)))};
}

// No key twice, in no order.
Keys shuffled(size_t rows) {
  Keys keys(rows);
  for (size_t i = 0; i < rows; ++i) keys[i] = static_cast<int32_t>(i * 7919 % rows);
  return keys;
}

Keys ascending(size_t rows) {
  Keys keys(rows);
  for (size_t i = 0; i < rows; ++i) keys[i] = static_cast<int32_t>(i);
  return keys;
}

class OperationPromises : public DeviceTest {
 protected:
  // host_limit: beyond which rows go to files; 0: none.
  void begin(uint64_t host_limit) {
    gpujoin_context_options given = options();
    given.host_limit_bytes = host_limit;
    if (host_limit != 0) given.spill_path = "/tmp";
    context_ = make_context(given);
  }

  // Of which a store keeps an eighth.
  uint64_t little() const { return uint64_t{device() == GPUJOIN_DEVICE_CPU ? 1U : 8U} << 20; }

  // What the first call that failed answered; the right side is built.
  Answer join(const Keys& left, const Keys& right, int32_t promises, size_t batch = 3000) {
    gpujoin_build_options build_options = GPUJOIN_BUILD_OPTIONS_INIT;
    build_options.has_row_numbers = 1;
    Table const like = slice_of(left, 0, 0);
    Relation const none = make_relation(context_, like);
    gpujoin_build* built = nullptr;
    EXPECT_OK(call(gpujoin_build_create, context_.get(), none.get(), &kKey, 1,
                   static_cast<const int32_t*>(nullptr), &build_options, &built));
    Build const build(built);
    in_batches(right, batch, [&](const gpujoin_relation* rows, int64_t first) {
      EXPECT_OK(call(gpujoin_build_append, build.get(), rows, first));
      return true;
    });
    EXPECT_OK(call(gpujoin_build_finish, build.get()));

    gpujoin_join_spec spec = GPUJOIN_JOIN_SPEC_INIT;
    spec.kind = GPUJOIN_JOIN_INNER;
    spec.key_count = 1;
    spec.left_keys = spec.right_keys = &kKey;
    spec.output = GPUJOIN_OUTPUT_PAIRS;
    spec.promises = promises;
    gpujoin_operation_options operation_options = GPUJOIN_OPERATION_OPTIONS_INIT;
    operation_options.has_row_numbers = 1;
    gpujoin_operation* made = nullptr;
    Answer answer =
        call(gpujoin_operation_create, build.get(), none.get(), &spec, &operation_options, &made);
    Operation const operation(made);
    return answer.status == GPUJOIN_OK ? probe(operation, left, batch) : answer;
  }

  Answer probe(const Operation& operation, const Keys& keys, size_t batch) {
    gpujoin_probe* made = nullptr;
    Answer answer = call(gpujoin_probe_create, operation.get(), &made);
    Probe const probe(made);
    in_batches(keys, batch, [&](const gpujoin_relation* rows, int64_t first) {
      answer = call(gpujoin_probe_append, probe.get(), rows, first);
      while (answer.status == GPUJOIN_ERROR_NOT_READY) {
        answer = take(probe.get(), gpujoin_probe_next);
        if (answer.status != GPUJOIN_OK) return false;
        answer = call(gpujoin_probe_append, probe.get(), rows, first);
      }
      return answer.status == GPUJOIN_OK;
    });
    if (answer.status == GPUJOIN_OK) answer = call(gpujoin_probe_finish, probe.get());
    if (answer.status == GPUJOIN_OK) answer = take(probe.get(), gpujoin_probe_next);
    if (answer.status == GPUJOIN_OK) answer = call(gpujoin_operation_close, operation.get());
    if (answer.status == GPUJOIN_OK) answer = take(operation.get(), gpujoin_operation_next);
    return answer;
  }

  template <typename Append>
  void in_batches(const Keys& keys, size_t batch, const Append& append) {
    for (size_t first = 0; first < keys.size(); first += batch) {
      Table const table = slice_of(keys, first, std::min(batch, keys.size() - first));
      Relation const rows = make_relation(context_, table);
      if (!append(rows.get(), static_cast<int64_t>(first))) return;
    }
  }

  template <typename From, typename Next>
  Answer take(From* from, Next next) {
    return take_results(from, next, [](const Result&) {});
  }

  Context context_;
};
ON_EVERY_DEVICE(OperationPromises);

constexpr int32_t kUnique = GPUJOIN_PROMISE_LEFT_UNIQUE | GPUJOIN_PROMISE_RIGHT_UNIQUE;

// In memory, and in so little that both sides, and the keys that are looked at, go to files.
TEST_P(OperationPromises, UniqueOfEitherSide) {
  for (uint64_t const limit : {uint64_t{0}, little()}) {
    SCOPED_TRACE(limit);
    begin(limit);
    size_t const rows = limit == 0 ? 20'000 : 200'000;
    Keys const unique = shuffled(rows);
    EXPECT_OK(join(unique, unique, kUnique));
    for (size_t const second : {size_t{1}, rows - 1}) {
      Keys twice = unique;
      twice[second] = twice[rows / 2];
      std::string const row = "row " + std::to_string(std::max(second, rows / 2)) + " ";
      EXPECT_NAMES(join(twice, unique, kUnique), kBroken, "left are not unique");
      EXPECT_NAMES(join(twice, unique, kUnique), kBroken, row.c_str());
      EXPECT_NAMES(join(unique, twice, kUnique), kBroken, "right are not unique");
      EXPECT_NAMES(join(unique, twice, kUnique), kBroken, row.c_str());
      EXPECT_OK(join(twice, unique, GPUJOIN_PROMISE_RIGHT_UNIQUE));
      EXPECT_OK(join(unique, twice, GPUJOIN_PROMISE_LEFT_UNIQUE));
    }
  }
}

// NULL is equal to nothing; a key that matches nothing may be there twice, too.
TEST_P(OperationPromises, UniqueOfRowsWithoutAMatch) {
  begin(0);
  Keys const build = {4, {}, {}, 2};
  EXPECT_OK(join({7, {}, 4, {}, 8}, build, kUnique));
  EXPECT_NAMES(join({7, {}, 4, {}, 7}, build, kUnique), kBroken, "row 4 ");
}

// Of many rows with one key.
TEST_P(OperationPromises, UniqueOfOneKey) {
  for (uint64_t const limit : {uint64_t{0}, little()}) {
    begin(limit);
    Keys const same(200'000, 5);
    EXPECT_NAMES(join({5, 6}, same, kUnique), kBroken, "right are not unique");
    EXPECT_NAMES(join(same, {5, 6}, kUnique), kBroken, "left are not unique");
  }
}

TEST_P(OperationPromises, SortedInEachBatchOfTheProbeSide) {
  begin(0);
  constexpr int32_t kSorted = GPUJOIN_PROMISE_LEFT_SORTED;
  Keys keys = ascending(10'000);
  Keys const build = {1, 2, 3};
  EXPECT_OK(join(keys, build, kSorted));
  keys[3000] = -1;  // the first row of a batch
  EXPECT_OK(join(keys, build, kSorted));
  keys[3002] = -2;
  EXPECT_NAMES(join(keys, build, kSorted), kBroken, "left are not sorted: row 3002 ");
  EXPECT_NAMES(join(keys, build, GPUJOIN_PROMISE_RIGHT_SORTED), GPUJOIN_ERROR_UNSUPPORTED,
               "promises");
}

}  // namespace

// One call whose join has no room at once checks all of it, too.
TEST(PromisesOfPieces, AreChecked) {
  gpujoin_context_options options = GPUJOIN_CONTEXT_OPTIONS_INIT;
  options.device = GPUJOIN_DEVICE_CPU;
  options.host_limit_bytes = uint64_t{24} << 20;
  Context const context = make_context(options);
  constexpr size_t kRows = 1'500'000;
  auto const answer_of = [&](const Keys& left, int32_t promises) {
    Table const left_table = slice_of(left, 0, left.size());
    Table const right_table = slice_of(ascending(kRows), 0, kRows);
    Relation const left_rows = make_relation(context, left_table);
    Relation const right_rows = make_relation(context, right_table);
    Spec lists;
    lists.kind = GPUJOIN_JOIN_LEFT_SEMI;
    gpujoin_join_spec spec = lists.get();
    spec.promises = promises;
    gpujoin_result* made = nullptr;
    Answer answer = call(gpujoin_join, context.get(), left_rows.get(), right_rows.get(), &spec,
                         static_cast<const gpujoin_plan_options*>(nullptr), &made);
    Result const result(made);
    if (answer.status == GPUJOIN_OK) {
      gpujoin_statistics statistics = GPUJOIN_STATISTICS_INIT;
      EXPECT_OK(call(gpujoin_result_get_statistics, result.get(), &statistics));
      EXPECT_NE(std::string(statistics.plan).find("pieces"), std::string::npos) << statistics.plan;
    }
    return answer;
  };
  constexpr int32_t kBoth = GPUJOIN_PROMISE_LEFT_UNIQUE | GPUJOIN_PROMISE_LEFT_SORTED;
  Keys keys = ascending(kRows);
  EXPECT_OK(answer_of(keys, kBoth | GPUJOIN_PROMISE_RIGHT_UNIQUE));
  std::swap(keys[1'048'576], keys[1'048'577]);
  EXPECT_NAMES(answer_of(keys, kBoth), kBroken, "left are not sorted: row 1048577 ");
  EXPECT_OK(answer_of(keys, GPUJOIN_PROMISE_LEFT_UNIQUE));
  keys[1'400'000] = keys[7];
  EXPECT_NAMES(answer_of(keys, GPUJOIN_PROMISE_LEFT_UNIQUE), kBroken, "row 1400000 ");
}
