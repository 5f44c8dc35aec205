// queue_test.cpp: queues that calls take and hand back, and requests to cancel that meet them, on a
// context of the CPU.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <optional>
#include <stdexcept>
#include <thread>

#include "src/base/queue.hpp"
#include "src/base/status.hpp"

namespace gpujoin::base {
namespace {

std::shared_ptr<Context> cpu_context() {
  gpujoin_context_options options = GPUJOIN_CONTEXT_OPTIONS_INIT;
  options.device = GPUJOIN_DEVICE_CPU;
  return create_context(options);
}

bool is_cancelled(Queue& queue) {
  try {
    queue.check_cancelled();
    return false;
  } catch (const Error& error) {
    EXPECT_EQ(error.status(), GPUJOIN_ERROR_CANCELLED);
    return true;
  }
}

TEST(Queues, TheOneThatWasIdleLastIsTaken) {
  auto const context = cpu_context();
  Queue* warm = nullptr;
  {
    LeasedQueue const first(*context);
    LeasedQueue const second(*context);
    EXPECT_NE(&*first, &*second);
    warm = &*first;  // handed back last
  }
  LeasedQueue const again(*context);
  EXPECT_EQ(&*again, warm);
  EXPECT_EQ(context->queues.made, 2U);
}

TEST(Queues, AllIdleOnesButOneAreDropped) {
  auto const context = cpu_context();
  LeasedQueue const working(*context);
  {
    LeasedQueue const first(*context);
    LeasedQueue const second(*context);
    LeasedQueue const third(*context);
  }
  drop_idle_queues(*context);
  EXPECT_EQ(context->queues.idle.size(), 1U);
  EXPECT_EQ(context->queues.made, 2U);
  drop_idle_queues(*context);
  EXPECT_EQ(context->queues.made, 2U);
  LeasedQueue const one(*context);
  LeasedQueue const another(*context);
  EXPECT_EQ(context->queues.made, 3U);
}

TEST(Queues, AreHandedBackByACallThatFails) {
  auto const context = cpu_context();
  Queue* used = nullptr;
  try {
    LeasedQueue const queue(*context);
    used = &*queue;
    throw std::runtime_error("a call that fails");
  } catch (const std::runtime_error&) {
  }
  LeasedQueue const again(*context);
  EXPECT_EQ(&*again, used);
}

TEST(Queues, ARequestToCancelMeetsAllThatRunAndIsSpentThen) {
  auto const context = cpu_context();
  {
    LeasedQueue const first(*context);
    LeasedQueue const second(*context);
    context->cancels.fetch_add(1);
    EXPECT_TRUE(is_cancelled(*first));
    EXPECT_TRUE(second->is_cancelled());
    LeasedQueue const later(*context);
    EXPECT_FALSE(is_cancelled(*later)) << "it began after the request was answered";
    context->cancels.fetch_add(1);
    EXPECT_TRUE(is_cancelled(*later));
    EXPECT_TRUE(is_cancelled(*second)) << "which answers both requests, of which one was answered";
  }
  LeasedQueue const next(*context);
  EXPECT_FALSE(is_cancelled(*next));
}

TEST(Queues, ARequestMeetsACallThatWaitsForItsQueue) {
  auto const context = cpu_context();
  context->queues.most = 1;
  std::optional<LeasedQueue> working(std::in_place, *context);
  std::atomic<bool> has_begun{false};
  std::atomic<bool> was_cancelled{false};
  std::thread waiting([&] {
    has_begun = true;
    LeasedQueue const queue(*context);
    was_cancelled = is_cancelled(*queue);
  });
  while (!has_begun) std::this_thread::yield();
  std::this_thread::sleep_for(std::chrono::milliseconds(100));
  context->cancels.fetch_add(1);
  EXPECT_TRUE(is_cancelled(**working));
  working.reset();
  waiting.join();
  EXPECT_TRUE(was_cancelled);
}

}  // namespace
}  // namespace gpujoin::base
