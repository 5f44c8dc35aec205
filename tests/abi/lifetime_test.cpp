// lifetime_test.cpp: handles in any order, results on their own, threads, and fork.
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <functional>
#include <thread>

#include "tests/abi/fixture.hpp"

using namespace gpujoin_test;

namespace {

class Lifetime : public DeviceTest {
 protected:
  Table left_table = counting_table(1000, 100);
  Table right_table = counting_table(300, 150);
  Spec spec = [] {
    Spec both;
    both.left_columns = {0, 1};
    both.right_columns = {1};
    both.output = GPUJOIN_OUTPUT_COLUMNS | GPUJOIN_OUTPUT_PAIRS;
    return both;
  }();
  // 10 rows of each key on the left, 2 on the right, 100 keys on both sides.
  static constexpr int64_t kRows = 100 * 10 * 2;
};
ON_EVERY_DEVICE(Lifetime);

void expect_right_sum(const Result& result) {
  int64_t sum = 0;
  for (auto const& value : column_of<int64_t>(result, 2)) sum += value.value();
  // Right rows 0..99 and 150..249 match ten times each.
  int64_t expected = 0;
  for (int64_t row = 0; row < 300; ++row) expected += row % 150 < 100 ? 10 * row : 0;
  EXPECT_EQ(sum, expected);
}

}  // namespace

TEST_P(Lifetime, HandlesAreDestroyedInAnyOrder) {
  std::vector<int> order = {0, 1, 2, 3, 4};
  do {
    Context context = make_context(device());
    Relation left = make_relation(context, left_table);
    Relation right = make_relation(context, right_table);
    Plan plan = make_plan(context, left, right, spec);
    Result result = execute(plan);
    std::function<void()> const destroy[] = {[&] { context.reset(); }, [&] { left.reset(); },
                                             [&] { right.reset(); }, [&] { plan.reset(); },
                                             [&] { result.reset(); }};
    for (int const which : order) destroy[which]();
    // All 120 orders on the CPU; on CUDA a context costs more, and every tenth says as much.
    for (int skip = 0; device() == GPUJOIN_DEVICE_CUDA && skip < 9; ++skip) {
      if (!std::next_permutation(order.begin(), order.end())) return;
    }
  } while (std::next_permutation(order.begin(), order.end()));
}

TEST_P(Lifetime, APlanOutlivesItsContextAndRelations) {
  Plan plan;
  {
    Context const context = make_context(device());
    Relation const left = make_relation(context, left_table);
    Relation const right = make_relation(context, right_table);
    plan = make_plan(context, left, right, spec);
  }
  for (int again = 0; again < 3; ++again) {
    Result const result = execute(plan);
    EXPECT_EQ(rows_of(result), kRows);
    expect_right_sum(result);
  }
}

TEST_P(Lifetime, AResultOutlivesEverythingItCameFrom) {
  Result result;
  {
    Table const left_copy = left_table;
    Table const right_copy = right_table;
    Context const context = make_context(device());
    Relation const left = make_relation(context, left_copy);
    Relation const right = make_relation(context, right_copy);
    result = join(context, left, right, spec);
  }
  EXPECT_EQ(rows_of(result), kRows);
  expect_right_sum(result);
  EXPECT_EQ(pairs_of(result).size(), static_cast<size_t>(kRows));
}

TEST_P(Lifetime, ResultsOfOneContextLiveSideBySide) {
  Context const context = make_context(device());
  Relation const left = make_relation(context, left_table);
  Relation const right = make_relation(context, right_table);
  Result const first = join(context, left, right, spec);
  Result const second = join(context, left, right, spec);
  expect_right_sum(first);
  expect_right_sum(second);
}

TEST_P(Lifetime, TwoThreadsUseTwoContexts) {
  auto const work = [&] {
    Context const context = make_context(device());
    Relation const left = make_relation(context, left_table);
    Relation const right = make_relation(context, right_table);
    for (int again = 0; again < 20; ++again) {
      Result const result = join(context, left, right, spec);
      ASSERT_EQ(rows_of(result), kRows);
      expect_right_sum(result);
    }
  };
  std::thread first(work);
  std::thread second(work);
  first.join();
  second.join();
}

TEST_P(Lifetime, ThreadsTakeTurnsWithOneContext) {
  Context const context = make_context(device());
  Relation const left = make_relation(context, left_table);
  Relation const right = make_relation(context, right_table);
  Result result;
  std::thread([&] { result = join(context, left, right, spec); }).join();
  std::thread([&] { expect_right_sum(result); }).join();
  std::thread([&] { result.reset(); }).join();
}

TEST_P(Lifetime, AChildProcessIsToldThatItForked) {
  Context context = make_context(device());
  Relation left = make_relation(context, left_table);
  Relation right = make_relation(context, right_table);
  Plan plan = make_plan(context, left, right, spec);
  Result result = execute(plan);
  pid_t const child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    // Nothing of GTest in here: the exit status counts the calls that did not answer FORKED.
    int wrong = 0;
    auto const expect_forked = [&](gpujoin_status status) {
      wrong += status != GPUJOIN_ERROR_FORKED;
    };
    gpujoin_context_info info = GPUJOIN_CONTEXT_INFO_INIT;
    gpujoin_column const column = left_table[0].descriptor();
    gpujoin_join_spec const plain = spec.get();
    gpujoin_relation* new_relation = nullptr;
    gpujoin_plan* new_plan = nullptr;
    gpujoin_result* new_result = nullptr;
    ArrowSchema schema{};
    ArrowArray array{};
    ArrowDeviceArray device_array{};
    auto const c = context.get();
    auto const r = result.get();
    expect_forked(gpujoin_context_get_info(c, &info, nullptr));
    expect_forked(gpujoin_context_cancel(c, nullptr));
    expect_forked(gpujoin_context_trim(c, nullptr));
    expect_forked(gpujoin_context_calibrate(c, "rates", nullptr));
    expect_forked(gpujoin_relation_create(c, 1, &column, 1, &new_relation, nullptr));
    expect_forked(
        gpujoin_plan_create(c, left.get(), right.get(), &plain, nullptr, &new_plan, nullptr));
    expect_forked(gpujoin_join(c, left.get(), right.get(), &plain, nullptr, &new_result, nullptr));
    expect_forked(gpujoin_plan_execute(plan.get(), &new_result, nullptr));
    expect_forked(gpujoin_result_fetch(r, nullptr, nullptr, 0, nullptr));
    expect_forked(gpujoin_result_export(r, nullptr, &schema, &array, nullptr));
    expect_forked(gpujoin_result_export_device(r, nullptr, &schema, &device_array, nullptr));
    _exit(wrong);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 0);
  expect_right_sum(execute(plan));  // the parent is not disturbed
}

TEST_P(Lifetime, AChildProcessMayDestroyHandles) {
  Context context = make_context(device());
  Relation left = make_relation(context, left_table);
  Result result = join(context, left, left, spec);
  pid_t const child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    result.reset();
    left.reset();
    context.reset();
    _exit(0);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 0);
  EXPECT_GT(rows_of(result), 0);
}

TEST_P(Lifetime, TheContextSaysWhatItRunsOn) {
  Context const context = make_context(device());
  gpujoin_context_info info = GPUJOIN_CONTEXT_INFO_INIT;
  ASSERT_OK(call(gpujoin_context_get_info, context.get(), &info));
  EXPECT_EQ(info.device, device());
  EXPECT_NE(info.device_name[0], '\0');
  EXPECT_NE(info.reason[0], '\0');
  EXPECT_EQ(info.cuda_device_id, device() == GPUJOIN_DEVICE_CUDA ? 0 : -1);
  EXPECT_GE(info.cpu_threads, 1);
  EXPECT_EQ(info.memory_limit_bytes, 0u);
}

// Threads beyond those that the process may run on are not made, and not reported either.
TEST_P(Lifetime, ThreadsAreThoseThatRun) {
  auto const threads_of = [&](int32_t asked) {
    gpujoin_context_options options = GPUJOIN_CONTEXT_OPTIONS_INIT;
    options.device = device();
    options.cpu_threads = asked;
    gpujoin_context* raw = nullptr;
    EXPECT_OK(call(gpujoin_context_create, &options, &raw));
    Context const context(raw);
    gpujoin_context_info info = GPUJOIN_CONTEXT_INFO_INIT;
    EXPECT_OK(call(gpujoin_context_get_info, context.get(), &info));
    return info.cpu_threads;
  };
  EXPECT_EQ(threads_of(1), 1);
  EXPECT_EQ(threads_of(100000), threads_of(0));
}

TEST_P(Lifetime, AutomaticTakesCudaWhenThereIsOne) {
  gpujoin_context* raw = nullptr;
  ASSERT_OK(call(gpujoin_context_create, nullptr, &raw));
  Context const context(raw);
  gpujoin_context_info info = GPUJOIN_CONTEXT_INFO_INIT;
  ASSERT_OK(call(gpujoin_context_get_info, context.get(), &info));
  EXPECT_EQ(info.device, why_no_cuda().empty() ? GPUJOIN_DEVICE_CUDA : GPUJOIN_DEVICE_CPU);
}

TEST_P(Lifetime, TheResultSaysWhatRan) {
  Context const context = make_context(device());
  Relation const left = make_relation(context, left_table);
  Relation const right = make_relation(context, right_table);
  Result const result = join(context, left, right, spec);
  gpujoin_statistics statistics = GPUJOIN_STATISTICS_INIT;
  ASSERT_OK(call(gpujoin_result_get_statistics, result.get(), &statistics));
  EXPECT_EQ(statistics.device, device());
  EXPECT_EQ(statistics.left_rows, 1000);
  EXPECT_EQ(statistics.right_rows, 300);
  EXPECT_EQ(statistics.output_rows, kRows);
  EXPECT_NE(statistics.plan[0], '\0');
  EXPECT_NE(statistics.reason[0], '\0');
  EXPECT_GT(statistics.milliseconds, 0);
  EXPECT_GT(statistics.peak_memory_bytes, 0u);
  ASSERT_GT(statistics.stage_count, 0);
  uint64_t bytes = 0;
  for (int32_t i = 0; i < statistics.stage_count; ++i) {
    gpujoin_stage_statistics stage = GPUJOIN_STAGE_STATISTICS_INIT;
    ASSERT_OK(call(gpujoin_result_get_stage, result.get(), i, &stage));
    EXPECT_NE(stage.stage[0], '\0');
    bytes += stage.predicted_bytes;
  }
  EXPECT_EQ(bytes, statistics.predicted_bytes);
}
