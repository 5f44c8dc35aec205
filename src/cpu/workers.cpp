#include "src/cpu/workers.hpp"

#include <oneapi/tbb/blocked_range.h>
#include <oneapi/tbb/global_control.h>
#include <oneapi/tbb/parallel_for.h>
#include <oneapi/tbb/partitioner.h>
#include <oneapi/tbb/task_arena.h>

#include <algorithm>
#include <atomic>
#include <thread>

#include "src/base/forks.hpp"
#include "src/base/status.hpp"

namespace gpujoin::base {

struct CpuThreads {
  explicit CpuThreads(int32_t most) : threads(most), arena(most) {}
  int32_t threads;
  tbb::task_arena arena;
};

}  // namespace gpujoin::base

namespace gpujoin::cpu {

namespace {

// Thrown by poll, caught by for_each: never leaves this file.
struct Stopped {};

using Range = tbb::blocked_range<int64_t>;

// oneTBB does not support fork(): in a child its threads are gone, while its lists still have them
// and its locks may be held by them. So where it was started before a fork, the child does not call
// it at all, and its joins run on the calling thread. A child of a process that had not started it
// starts its own. See docs/decisions/0019-a-forked-child-joins-on-one-thread.md.
bool can_use_tbb() {
  constexpr int64_t kNever = -1;
  static std::atomic<int64_t> started_after{kNever};  // so many forks
  int64_t expected = kNever;
  int64_t const now = base::forks();
  return started_after.compare_exchange_strong(expected, now) || expected == now;
}

// Asked for more threads than the process may have, TBB prints a warning; a library must not.
int32_t usable_threads(int32_t wanted) {
  auto const most = tbb::global_control::active_value(tbb::global_control::max_allowed_parallelism);
  return std::clamp(wanted, 1, static_cast<int32_t>(most));
}

// What the caller did before the loop happens before every body, and every body before what the
// caller does after it. TBB orders them too, but is not built for the thread sanitizer, which would
// otherwise see none of it and report everything.
class LoopOrder {
 public:
  LoopOrder() { ended_bodies_.store(0, std::memory_order_release); }
  ~LoopOrder() { ended_bodies_.load(std::memory_order_acquire); }
  LoopOrder(const LoopOrder&) = delete;
  LoopOrder& operator=(const LoopOrder&) = delete;

  // Around a body, however it ends.
  class Body {
   public:
    explicit Body(LoopOrder& loop) : loop_(loop) {
      loop_.ended_bodies_.load(std::memory_order_acquire);
    }
    ~Body() { loop_.ended_bodies_.fetch_add(1, std::memory_order_acq_rel); }
    Body(const Body&) = delete;
    Body& operator=(const Body&) = delete;

   private:
    LoopOrder& loop_;
  };

 private:
  std::atomic<int64_t> ended_bodies_;
};

}  // namespace

Workers::Workers(base::Queue& queue) : queue_(queue) {
  base::Context const& context = queue.context;
  // Of one thread oneTBB is not asked for anything.
  if (!context.has_callers_threads && context.cpu_threads == 1) return;
  if (!can_use_tbb()) return;
  if (context.has_callers_threads) {
    constexpr int kInNone = tbb::task_arena::not_initialized;
    in_callers_arena_ = tbb::this_task_arena::current_thread_index() != kInNone;
    if (in_callers_arena_) threads_ = tbb::this_task_arena::max_concurrency();
    return;
  }
  threads_ = usable_threads(context.cpu_threads);
  // The caller may have changed how many the process may have.
  if (queue.cpu_threads == nullptr || queue.cpu_threads->threads != threads_) {
    queue.cpu_threads = std::make_shared<base::CpuThreads>(threads_);
  }
  shared_ = queue.cpu_threads;
}

void Workers::stop() { throw Stopped(); }

int32_t Workers::worker() const {
  return is_parallel() ? tbb::this_task_arena::current_thread_index() : 0;
}

void Workers::for_each(const char* stage, int64_t items,
                       const std::function<void(int64_t item, int32_t worker)>& body) {
  queue_.step(stage, 0, items);
  auto const caller = std::this_thread::get_id();
  std::atomic<int64_t> done{0};
  LoopOrder order;
  auto const run = [&](const Range& range) {
    for (int64_t item = range.begin(); item != range.end(); ++item) {
      LoopOrder::Body const in_order(order);
      poll();
      body(item, worker());
      int64_t const so_far = done.fetch_add(1, std::memory_order_relaxed) + 1;
      if (so_far < items && std::this_thread::get_id() == caller) {
        queue_.step(stage, so_far, items);
      }
    }
  };
  try {
    auto const all = [&] { tbb::parallel_for(Range(0, items), run, tbb::simple_partitioner()); };
    if (shared_ != nullptr) {
      shared_->arena.execute(all);
    } else if (in_callers_arena_) {
      tbb::this_task_arena::isolate(all);
    } else {
      run(Range(0, items));
    }
  } catch (const Stopped&) {
    queue_.check_cancelled();
    base::fail(GPUJOIN_ERROR_CANCELLED, "cancelled during %s", stage);
  }
  queue_.step(stage, items, items);
}

void Workers::for_each_inside(int64_t items,
                              const std::function<void(int64_t item, int32_t worker)>& body) {
  LoopOrder order;
  auto const run = [&](const Range& range) {
    for (int64_t item = range.begin(); item != range.end(); ++item) {
      LoopOrder::Body const in_order(order);
      poll();
      body(item, worker());
    }
  };
  if (!is_parallel()) return run(Range(0, items));
  tbb::this_task_arena::isolate(
      [&] { tbb::parallel_for(Range(0, items), run, tbb::simple_partitioner()); });
}

}  // namespace gpujoin::cpu
