// concurrent_joins_test.cpp: calls on one context from several threads: joins, plans, pages,
// exports.
#include <atomic>
#include <chrono>
#include <thread>

#include "tests/abi/device_memory.hpp"
#include "tests/abi/fixture.hpp"

using namespace gpujoin_test;

namespace {

constexpr int kThreads = 4;

class ConcurrentJoins : public DeviceTest {
 protected:
  // Left rows of thread t: each has two matches.
  static int64_t left_rows(int thread) { return 3000 * (thread + 1); }
  static constexpr int64_t kKeys = 500;

  // Joins tables of its own with the one that all share, by all ways to call.
  static void join_often(const Context& context, const Relation& right, int thread, int rounds) {
    Table const table = counting_table(left_rows(thread), kKeys);
    Relation const left = make_relation(context, table);
    Spec wish;
    wish.left_columns = {0, 1};
    wish.right_columns = {1};
    wish.output = GPUJOIN_OUTPUT_COLUMNS | GPUJOIN_OUTPUT_PAIRS;
    for (int round = 0; round < rounds; ++round) {
      Plan const plan = make_plan(context, left, right, wish);
      Result const result =
          round % 2 == 0 ? execute(plan) : gpujoin_test::join(context, left, right, wish);
      ASSERT_EQ(rows_of(result), 2 * left_rows(thread));
      int64_t sum = 0;
      for (auto const& [l, r] : pairs_of(result)) {
        ASSERT_EQ(l % kKeys, r % kKeys);
        sum += l;
      }
      ASSERT_EQ(sum, left_rows(thread) * (left_rows(thread) - 1));
      for (auto const& value : column_of<int64_t>(result, 1)) sum -= *value;
      ASSERT_EQ(sum, 0);
      ArrowSchema schema{};
      ArrowArray array{};
      ASSERT_OK(call(gpujoin_result_export, result.get(), nullptr, &schema, &array));
      EXPECT_EQ(array.length, 2 * left_rows(thread));
      schema.release(&schema);
      array.release(&array);
    }
  }
  static void join_in_threads(const Context& context) {
    Table const table = counting_table(2 * kKeys, kKeys);
    Relation const right = make_relation(context, table);
    std::vector<std::thread> threads;
    for (int t = 0; t < kThreads; ++t) {
      threads.emplace_back([&, t] { join_often(context, right, t, 8); });
    }
    for (std::thread& thread : threads) thread.join();
  }
};
ON_EVERY_DEVICE(ConcurrentJoins);

}  // namespace

TEST_P(ConcurrentJoins, OnOneContext) {
  Context const context = make_context(device());
  join_in_threads(context);
  // The queues that they left are given back, and made again.
  ASSERT_OK(call(gpujoin_context_trim, context.get()));
  join_in_threads(context);
}

TEST_P(ConcurrentJoins, OnAStreamOfTheCallersTakeTurns) {
  if (device() == GPUJOIN_DEVICE_CPU) GTEST_SKIP() << "a CPU context has no stream";
  CallerStream const stream;
  gpujoin_context_options with_stream = options();
  with_stream.cuda_stream = stream.get();
  join_in_threads(make_context(with_stream));
}

TEST_P(ConcurrentJoins, WithinOneLimit) {
  gpujoin_context_options limited = options();
  limited.memory_limit_bytes = uint64_t{256} << 20;
  Context const context = make_context(limited);
  join_in_threads(context);
  gpujoin_context_info info = GPUJOIN_CONTEXT_INFO_INIT;
  ASSERT_OK(call(gpujoin_context_get_info, context.get(), &info));
  EXPECT_LE(info.memory_peak_bytes, limited.memory_limit_bytes);
  EXPECT_LE(info.memory_used_bytes, limited.memory_limit_bytes);
}

TEST_P(ConcurrentJoins, OneRequestToCancelStopsAllThatRun) {
  std::atomic<int> running{0};
  gpujoin_context_options counted = options();
  counted.progress_user = &running;
  // Each join waits here for the others, and then for the request.
  counted.progress = [](const char* stage, int64_t done, int64_t, void* user) -> int32_t {
    if (std::string(stage) == "done" || done != 0) return 0;
    auto& count = *static_cast<std::atomic<int>*>(user);
    ++count;
    while (count < kThreads) std::this_thread::yield();
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
    return 0;
  };
  Context const context = make_context(counted);
  Table const table = counting_table(20000, 20000);
  Relation const relation = make_relation(context, table);
  Spec wish;
  std::vector<Plan> plans;
  for (int t = 0; t < kThreads; ++t) {
    plans.push_back(make_plan(context, relation, relation, wish));
  }
  running = 0;
  std::vector<std::thread> threads;
  std::vector<gpujoin_status> answers(kThreads);
  for (size_t t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      gpujoin_result* out = nullptr;
      answers[t] = call(gpujoin_plan_execute, plans[t].get(), &out).status;
      gpujoin_result_destroy(out);
    });
  }
  while (running < kThreads) std::this_thread::yield();
  ASSERT_OK(call(gpujoin_context_cancel, context.get()));
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(answers, std::vector<gpujoin_status>(kThreads, GPUJOIN_ERROR_CANCELLED));
  EXPECT_EQ(rows_of(execute(plans[0])), 20000);
}
