// sequence_run_test.cpp: results of sequences in pages and as Arrow, their statistics,
// cancellation, memory, and how many rows a step may leave.
#include <algorithm>
#include <array>
#include <cstring>

#include "tests/abi/sequence_tables.hpp"

using namespace gpujoin_test;

namespace {

constexpr int32_t kInvalid = GPUJOIN_ERROR_INVALID_ARGUMENT;

class SequenceRun : public SequenceTest {};
ON_EVERY_DEVICE(SequenceRun);

}  // namespace

TEST_P(SequenceRun, IsFetchedInPagesAndExported) {
  Star star(2, 800, 150, 37);
  Result result;
  ASSERT_OK(run(star.fact, star.wish, nullptr, Place::kHost, &result));
  int64_t const rows = rows_of(result);
  ASSERT_GT(rows, 100);

  std::vector<uint32_t> fact_rows, dimension_rows;
  gpujoin_page page = GPUJOIN_PAGE_INIT;
  page.max_rows = 33;
  for (;;) {
    std::array<uint32_t, 33> left{};
    std::array<uint32_t, 33> right{};
    gpujoin_fetch fetches[] = {fetch_of(GPUJOIN_FETCH_LEFT_INDEX, 0, left.data(), sizeof left),
                               fetch_of(GPUJOIN_FETCH_RIGHT_INDEX, 1, right.data(), sizeof right)};
    fetches[0].type = fetches[1].type = GPUJOIN_TYPE_UINT32;
    ASSERT_OK(call(gpujoin_result_fetch, result.get(), &page, fetches, 2));
    if (page.rows == 0) break;
    fact_rows.insert(fact_rows.end(), left.begin(), left.begin() + page.rows);
    dimension_rows.insert(dimension_rows.end(), right.begin(), right.begin() + page.rows);
  }
  EXPECT_EQ(static_cast<int64_t>(fact_rows.size()), rows);

  ArrowSchema schema{};
  ArrowArray array{};
  ASSERT_OK(call(gpujoin_result_export, result.get(), nullptr, &schema, &array));
  std::vector<std::string> children;
  for (int64_t i = 0; i < schema.n_children; ++i) children.emplace_back(schema.children[i]->name);
  std::vector<std::string> const expected = {
      "left_row", "right_row_0", "right_row_1", "f", "g", "p0", "q0", "r0", "p1", "q1", "r1"};
  EXPECT_EQ(children, expected);
  EXPECT_EQ(array.length, rows);
  EXPECT_EQ(std::memcmp(array.children[0]->buffers[1], fact_rows.data(), fact_rows.size() * 4), 0);
  EXPECT_EQ(
      std::memcmp(array.children[2]->buffers[1], dimension_rows.data(), dimension_rows.size() * 4),
      0);
  array.release(&array);
  schema.release(&schema);

  uint32_t nothing = 0;
  for (int32_t const step : {-1, 2}) {
    gpujoin_fetch wrong = fetch_of(GPUJOIN_FETCH_RIGHT_INDEX, step, &nothing, 4);
    EXPECT_NAMES(call(gpujoin_result_fetch, result.get(), nullptr, &wrong, 1), kInvalid,
                 "fetches[0].column");
  }
}

TEST_P(SequenceRun, OutlivesWhatItWasMadeFrom) {
  auto star = std::make_unique<Star>(2, 800, 150, 41);
  Rows const expected = reference(star->fact, star->wish);
  Result result;
  ASSERT_OK(run(star->fact, star->wish, nullptr, Place::kHost, &result));
  for (Column& column : star->fact.table) column = Column("", GPUJOIN_TYPE_INT8, size_t{1});
  context.reset();
  EXPECT_TRUE(rows_of(result, star->fact, star->wish) == expected);
}

TEST_P(SequenceRun, SaysWhatEachStepDid) {
  Star star(3, 4000, 300, 43);
  star.wish.output = GPUJOIN_OUTPUT_COLUMNS;
  star.wish.materialize = GPUJOIN_MATERIALIZE_AS_THEY_COME;
  Result result;
  ASSERT_OK(run(star.fact, star.wish, nullptr, Place::kHost, &result));
  gpujoin_statistics statistics = GPUJOIN_STATISTICS_INIT;
  ASSERT_OK(call(gpujoin_result_get_statistics, result.get(), &statistics));
  EXPECT_EQ(statistics.device, device());
  EXPECT_EQ(statistics.left_rows, 4000);
  EXPECT_EQ(statistics.right_rows, 900);
  EXPECT_EQ(statistics.output_rows, rows_of(result));
  EXPECT_GT(statistics.milliseconds, 0);
  EXPECT_GT(statistics.predicted_bytes, 0u);
  EXPECT_GE(statistics.peak_memory_bytes,
            static_cast<uint64_t>(statistics.output_rows) * (8 + 2 + 3 * (4 + 8 + 2)));
  EXPECT_NE(std::string(statistics.plan).find("build=right columns=as_they_come"),
            std::string::npos)
      << statistics.plan;
  EXPECT_NE(std::string(statistics.reason).find("steps[0]"), std::string::npos);
  EXPECT_FALSE(has_stage(result, "steps[0].fetch_key")) << "the first key needs no fetch";
  for (const char* stage : {"steps[0].match", "steps[1].fetch_key", "steps[1].match",
                            "steps[2].fetch_key", "steps[2].match", "fact.materialize"}) {
    EXPECT_TRUE(has_stage(result, stage)) << stage;
  }
  EXPECT_TRUE(std::string(stages_of(result).back().stage) == "fact.materialize");

  star.wish.materialize = GPUJOIN_MATERIALIZE_AT_THE_END;
  ASSERT_OK(run(star.fact, star.wish, nullptr, Place::kHost, &result));
  EXPECT_TRUE(std::string(stages_of(result).back().stage) == "steps[2].materialize");
  ASSERT_OK(call(gpujoin_result_get_statistics, result.get(), &statistics));
  EXPECT_NE(std::string(statistics.plan).find("columns=at_the_end"), std::string::npos);
}

TEST_P(SequenceRun, CopiesEachHostColumnToTheDeviceOnce) {
  if (device() == GPUJOIN_DEVICE_CPU) GTEST_SKIP() << "nothing is copied";
  // One fact key for two steps and for the output, another for one; no NULLs.
  Numbers fact, dimension;
  fact.add("a", GPUJOIN_TYPE_INT32, counted(1000, 0));
  fact.add("b", GPUJOIN_TYPE_INT32, counted(1000, 0));
  fact.add("c", GPUJOIN_TYPE_INT64, counted(1000, 0));
  dimension.add("id", GPUJOIN_TYPE_INT32, counted(400, 0));
  dimension.add("p", GPUJOIN_TYPE_INT64, counted(400, 0));
  Wish wish;
  wish.fact_columns = {0, 2};
  wish.output = GPUJOIN_OUTPUT_COLUMNS;
  wish.steps = {{&dimension, 0, 0, {1}}, {&dimension, 1, 0, {1}}, {&dimension, 0, 0, {}}};
  for (gpujoin_materialize const materialize : {1, 2}) {
    wish.materialize = materialize;
    Result result;
    ASSERT_OK(run(fact, wish, nullptr, Place::kHost, &result));
    uint64_t copied = 0;
    for (gpujoin_stage_statistics const& stage : stages_of(result)) {
      if (std::string(stage.stage).find(".transfer") != std::string::npos) {
        copied += stage.predicted_bytes;
      }
    }
    EXPECT_EQ(copied, uint64_t{1000} * (4 + 4 + 8) + uint64_t{400} * (3 * 4 + 2 * 8));
  }
}

TEST_P(SequenceRun, IsCancelledByTheProgressCallbackAtEachOfItsCalls) {
  struct Progress {
    std::vector<std::string> stages;
    int64_t cancel_at = -1;
    static int32_t report(const char* stage, int64_t done, int64_t total, void* user) {
      auto& self = *static_cast<Progress*>(user);
      EXPECT_LE(done, total);
      self.stages.emplace_back(stage);
      return static_cast<int64_t>(self.stages.size()) - 1 == self.cancel_at ? 1 : 0;
    }
  } progress;
  gpujoin_context_options with_progress = options();
  with_progress.progress = Progress::report;
  with_progress.progress_user = &progress;
  with_progress.cpu_threads = 1;
  context = make_context(with_progress);
  Star star(2, 300, 50, 47);
  star.wish.materialize = GPUJOIN_MATERIALIZE_AT_THE_END;
  Result result;
  ASSERT_OK(run(star.fact, star.wish, nullptr, Place::kHost, &result));
  EXPECT_EQ(std::count(progress.stages.begin(), progress.stages.end(), "sequence"), 3);
  auto const calls = static_cast<int64_t>(progress.stages.size());
  for (int64_t at = 0; at < calls; ++at) {
    progress.stages.clear();
    progress.cancel_at = at;
    EXPECT_STATUS(run(star.fact, star.wish, nullptr, Place::kHost, &result),
                  GPUJOIN_ERROR_CANCELLED);
    EXPECT_EQ(static_cast<int64_t>(progress.stages.size()), at + 1) << "went on after it";
  }
  progress.cancel_at = -1;
  EXPECT_OK(call(gpujoin_context_cancel, context.get()));
  EXPECT_STATUS(run(star.fact, star.wish, nullptr, Place::kHost, &result), GPUJOIN_ERROR_CANCELLED);
  ASSERT_OK(run(star.fact, star.wish, nullptr, Place::kHost, &result));
  EXPECT_TRUE(rows_of(result, star.fact, star.wish) == reference(star.fact, star.wish));
}

TEST_P(SequenceRun, KeepsTheMemoryLimitAndLeavesNothingBehind) {
  Star star(4, 50000, 20000, 53);
  star.wish.output = GPUJOIN_OUTPUT_COLUMNS;
  auto const used = [&] {
    EXPECT_OK(call(gpujoin_context_trim, context.get()));
    gpujoin_context_info info = GPUJOIN_CONTEXT_INFO_INIT;
    EXPECT_OK(call(gpujoin_context_get_info, context.get(), &info));
    return info.memory_used_bytes;
  };
  // From too little for the first key to enough.
  bool refused = false, succeeded = false;
  for (uint64_t limit = uint64_t{1} << 19; limit <= uint64_t{1} << 27 && !succeeded; limit *= 2) {
    SCOPED_TRACE(limit);
    gpujoin_context_options limited = options();
    limited.memory_limit_bytes = limit;
    limited.cpu_threads = 2;
    context = make_context(limited);
    uint64_t const before = used();
    Result result;
    Answer const answer = run(star.fact, star.wish, nullptr, Place::kHost, &result);
    succeeded = answer.status == GPUJOIN_OK;
    if (succeeded) continue;
    refused = true;
    EXPECT_STATUS(answer, GPUJOIN_ERROR_MEMORY_LIMIT);
    EXPECT_EQ(used(), before);
  }
  EXPECT_TRUE(refused);
  EXPECT_TRUE(succeeded);
}

TEST_P(SequenceRun, RefusesMoreRowsThanTheNextJoinCanNumber) {
  if (device() == GPUJOIN_DEVICE_CPU) GTEST_SKIP() << "2^32 rows take too long";
  // 65537 rows that all meet 65536: 2^32 + 65536.
  Numbers fact, dimension;
  fact.add("key", GPUJOIN_TYPE_INT32, Values(65537, Value(1)));
  dimension.add("key", GPUJOIN_TYPE_INT32, Values(65536, Value(1)));
  Wish wish;
  wish.steps = {{&dimension, 0, 0, {}}, {&dimension, 0, 0, {}}};
  wish.output = GPUJOIN_OUTPUT_COLUMNS;
  Result result;
  Answer const answer = run(fact, wish, nullptr, Place::kHost, &result);
  if (answer.status == GPUJOIN_ERROR_OUT_OF_MEMORY) GTEST_SKIP() << answer.message();
  EXPECT_NAMES(answer, GPUJOIN_ERROR_TOO_MANY_ROWS, "spec.steps[0]");
}
