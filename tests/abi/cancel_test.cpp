// cancel_test.cpp: cancellation by a call and by the progress callback, before and during.
#include <atomic>
#include <chrono>
#include <string>
#include <thread>
#include <vector>

#include "tests/abi/fixture.hpp"

using namespace gpujoin_test;

namespace {

// What the progress callback was told, and when it is to cancel.
struct Progress {
  std::vector<std::string> stages;
  int64_t cancel_at = -1;  // number of the call to answer with non-zero
  bool in_order = true;

  static int32_t report(const char* stage, int64_t done, int64_t total, void* user) {
    auto& self = *static_cast<Progress*>(user);
    self.in_order = self.in_order && done >= 0 && done <= total;
    self.stages.emplace_back(stage);
    return static_cast<int64_t>(self.stages.size()) - 1 == self.cancel_at ? 1 : 0;
  }
};

class Cancel : public DeviceTest {
 protected:
  Table table = counting_table(2000, 500);
  Spec wish;
  gpujoin_join_spec spec = wish.get();

  static Answer try_execute(const Plan& plan) {
    gpujoin_result* raw = nullptr;
    Answer const answer = call(gpujoin_plan_execute, plan.get(), &raw);
    EXPECT_EQ(raw == nullptr, answer.status != GPUJOIN_OK);
    gpujoin_result_destroy(raw);
    return answer;
  }
};
ON_EVERY_DEVICE(Cancel);

}  // namespace

TEST_P(Cancel, BeforeAnExecutionIsSpentByIt) {
  Context const context = make_context(device());
  Relation const relation = make_relation(context, table);
  Plan const plan = make_plan(context, relation, relation, wish);
  EXPECT_OK(call(gpujoin_context_cancel, context.get()));
  EXPECT_STATUS(try_execute(plan), GPUJOIN_ERROR_CANCELLED);
  EXPECT_OK(try_execute(plan));
}

TEST_P(Cancel, BeforeAPlanningIsSpentByIt) {
  Context const context = make_context(device());
  Relation const relation = make_relation(context, table);
  EXPECT_OK(call(gpujoin_context_cancel, context.get()));
  EXPECT_OK(call(gpujoin_context_cancel, context.get()));  // twice is once
  gpujoin_plan* plan = nullptr;
  EXPECT_STATUS(call(gpujoin_plan_create, context.get(), relation.get(), relation.get(), &spec,
                     nullptr, &plan),
                GPUJOIN_ERROR_CANCELLED);
  EXPECT_EQ(plan, nullptr);
  EXPECT_EQ(rows_of(join(context, relation, relation, wish)), 8000);
}

TEST_P(Cancel, ByTheProgressCallbackAtEachOfItsCalls) {
  Progress progress;
  gpujoin_context_options with_progress = options();
  with_progress.progress = Progress::report;
  with_progress.progress_user = &progress;
  Context const context = make_context(with_progress);
  Relation const relation = make_relation(context, table);
  Plan const plan = make_plan(context, relation, relation, wish);
  progress = Progress{};
  ASSERT_OK(try_execute(plan));
  EXPECT_TRUE(progress.in_order);
  auto const calls = static_cast<int64_t>(progress.stages.size());
  ASSERT_GT(calls, 0);
  for (int64_t at = 0; at < calls; ++at) {
    progress = Progress{};
    progress.cancel_at = at;
    Answer const answer = try_execute(plan);
    auto const made = static_cast<int64_t>(progress.stages.size());
    if (made <= at) {
      // Threads share the work differently each time: this execution took fewer steps.
      EXPECT_OK(answer);
      EXPECT_GT(at, 0);
    } else {
      EXPECT_STATUS(answer, GPUJOIN_ERROR_CANCELLED);
      EXPECT_EQ(made, at + 1) << "went on after it";
    }
  }
  progress = Progress{};
  EXPECT_OK(try_execute(plan));
}

TEST_P(Cancel, FromAnotherThreadStopsALongExecution) {
  // 40 million pairs: long enough to be met in the middle, and harmless when it is not.
  Table const big = counting_table(20000, 10);
  Context const context = make_context(device());
  Relation const relation = make_relation(context, big);
  Plan const plan = make_plan(context, relation, relation, wish);
  bool cancelled = false;
  for (int attempt = 0; attempt < 50 && !cancelled; ++attempt) {
    std::atomic<bool> started{false};
    std::thread other([&] {
      while (!started.load()) std::this_thread::yield();
      std::this_thread::sleep_for(std::chrono::microseconds(200 * attempt));
      EXPECT_OK(call(gpujoin_context_cancel, context.get()));
    });
    started.store(true);
    Answer const answer = try_execute(plan);
    other.join();
    cancelled = answer.status == GPUJOIN_ERROR_CANCELLED;
    if (!cancelled) {
      // Too late for this one: the request waits for the next.
      EXPECT_OK(answer);
      EXPECT_STATUS(try_execute(plan), GPUJOIN_ERROR_CANCELLED);
    }
  }
  EXPECT_TRUE(cancelled);
  Result const result = execute(plan);
  EXPECT_EQ(rows_of(result), 40000000);
}

TEST_P(Cancel, LogsOnlyToTheCallersFunction) {
  std::vector<std::string> lines;
  gpujoin_context_options with_log = options();
  with_log.log = [](int32_t level, const char* message, void* user) {
    EXPECT_GE(level, GPUJOIN_LOG_DEBUG);
    EXPECT_LE(level, GPUJOIN_LOG_WARNING);
    EXPECT_EQ(std::string(message).find('\n'), std::string::npos);
    static_cast<std::vector<std::string>*>(user)->push_back(message);
  };
  with_log.log_user = &lines;
  testing::internal::CaptureStdout();
  testing::internal::CaptureStderr();
  {
    Context const context = make_context(with_log);
    Relation const relation = make_relation(context, table);
    join(context, relation, relation, wish);
  }
  EXPECT_EQ(testing::internal::GetCapturedStdout(), "");
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
  EXPECT_FALSE(lines.empty());
}
