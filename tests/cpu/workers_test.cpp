// Loops on the threads of the context, of the caller, and on the calling one alone.
#include "src/cpu/workers.hpp"

#include <gtest/gtest.h>
#include <oneapi/tbb/task_arena.h>

#include <atomic>
#include <memory>
#include <thread>
#include <vector>

#include "src/base/context.hpp"
#include "tests/own_queue.hpp"

namespace gpujoin::tests {

namespace {

std::shared_ptr<base::Context> context_of(int32_t cpu_threads, gpujoin_threads threads) {
  gpujoin_context_options options = GPUJOIN_CONTEXT_OPTIONS_INIT;
  options.device = GPUJOIN_DEVICE_CPU;
  options.cpu_threads = cpu_threads;
  options.threads = threads;
  return base::create_context(options);
}

constexpr int64_t kItems = 2000;

struct Seen {
  int32_t threads = 0;  // of the workers
  int64_t items = 0;
  int64_t elsewhere = 0;  // not on the calling thread
  int64_t in_other_arenas = 0;
  bool are_numbers_good = true;
};

// Loops with a loop inside. places: of the arena that they are to run in.
Seen loop(const std::shared_ptr<base::Context>& context, int places) {
  OwnQueue const queue(context);
  cpu::Workers workers(queue);
  Seen seen;
  seen.threads = workers.threads();
  std::vector<std::atomic<int>> inside(static_cast<size_t>(workers.threads()));
  std::atomic<int64_t> items{0}, elsewhere{0}, others{0};
  std::atomic<bool> are_good{true};
  auto const caller = std::this_thread::get_id();
  workers.for_each("loop", kItems / 10, [&](int64_t, int32_t worker) {
    bool const is_good = worker >= 0 && worker < workers.threads();
    if (!is_good || inside[static_cast<size_t>(worker)]++ != 0) are_good = false;
    if (std::this_thread::get_id() != caller) ++elsewhere;
    if (places != 0 && tbb::this_task_arena::max_concurrency() != places) ++others;
    workers.for_each_inside(10, [&](int64_t, int32_t) { ++items; });
    if (is_good) --inside[static_cast<size_t>(worker)];
  });
  seen.items = items;
  seen.elsewhere = elsewhere;
  seen.in_other_arenas = others;
  seen.are_numbers_good = are_good;
  return seen;
}

}  // namespace

TEST(Workers, OfOneThreadAreTheCallingOne) {
  Seen const seen = loop(context_of(1, GPUJOIN_THREADS_OWN), 0);
  EXPECT_EQ(seen.threads, 1);
  EXPECT_EQ(seen.items, kItems);
  EXPECT_EQ(seen.elsewhere, 0);
  EXPECT_TRUE(seen.are_numbers_good);
}

TEST(Workers, AreThoseOfTheArenaThatTheCallerIsIn) {
  // More than a context of its own has here.
  int const places = static_cast<int>(std::thread::hardware_concurrency()) + 1;
  auto const context = context_of(1, GPUJOIN_THREADS_OF_CALLER);
  tbb::task_arena arena(places);
  Seen const seen = arena.execute([&] { return loop(context, places); });
  EXPECT_EQ(seen.threads, places);
  EXPECT_EQ(seen.items, kItems);
  EXPECT_EQ(seen.in_other_arenas, 0);
  EXPECT_TRUE(seen.are_numbers_good);
}

TEST(Workers, OfACallerInNoArenaAreTheCallingThread) {
  auto const context = context_of(0, GPUJOIN_THREADS_OF_CALLER);
  Seen seen;
  std::thread([&] { seen = loop(context, 0); }).join();
  EXPECT_EQ(seen.threads, 1);
  EXPECT_EQ(seen.items, kItems);
  EXPECT_EQ(seen.elsewhere, 0);
}

// Tasks of one arena, each of which is a loop that waits for others.
TEST(Workers, OfOneArenaServeManyCallers) {
  auto const context = context_of(0, GPUJOIN_THREADS_OF_CALLER);
  tbb::task_arena arena(4);
  std::vector<std::thread> callers;
  std::atomic<int64_t> items{0};
  // A task may run on another thread than the one that waits for it, and oneTBB, which orders the
  // two, is not built for the thread sanitizer: it sees the order of these.
  std::atomic<int64_t> steps{0};
  for (int i = 0; i < 4; ++i) {
    callers.emplace_back([&] {
      ++steps;
      arena.execute([&] {
        ++steps;
        items += loop(context, 4).items;
        ++steps;
      });
      ++steps;
    });
  }
  for (auto& caller : callers) caller.join();
  EXPECT_EQ(items, 4 * kItems);
}

}  // namespace gpujoin::tests
