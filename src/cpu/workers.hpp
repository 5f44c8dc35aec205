// workers.hpp: the threads of a join. Whatever runs in parallel does so here; oneTBB is behind it.
//
// Progress is reported and cancellation is answered on the calling thread, as the context demands;
// the other threads see the request when they poll, and stop.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <memory>

#include "src/base/queue.hpp"

namespace gpujoin::cpu {

class Workers {
 public:
  explicit Workers(base::Queue& queue);
  Workers(const Workers&) = delete;
  Workers& operator=(const Workers&) = delete;

  int32_t threads() const { return threads_; }

  // body(item, worker) for each item, any order, 0 <= worker < threads(); two bodies never run at
  // the same time with the same worker. Rethrows what a body threw. Throws CANCELLED when asked to.
  void for_each(const char* stage, int64_t items,
                const std::function<void(int64_t item, int32_t worker)>& body);

  // body(first, end) for ranges of `at_once` items, the last one shorter.
  template <typename Body>
  void for_each_range(const char* stage, uint64_t items, uint64_t at_once, const Body& body) {
    auto const ranges = static_cast<int64_t>((items + at_once - 1) / at_once);
    for_each(stage, ranges, [&](int64_t range, int32_t) {
      uint64_t const first = static_cast<uint64_t>(range) * at_once;
      body(first, std::min(items, first + at_once));
    });
  }

  // for_each inside a body. The calling worker runs only these items until all are done, so what
  // it keeps for its own item stays untouched; its worker number may be used again by them.
  void for_each_inside(int64_t items,
                       const std::function<void(int64_t item, int32_t worker)>& body);

  // Leaves the body when someone asked to cancel. Long bodies call it every few thousand rows.
  void poll() const {
    if (queue_.is_cancelled()) stop();
  }

 private:
  [[noreturn]] static void stop();
  bool is_parallel() const { return shared_ != nullptr || in_callers_arena_; }
  int32_t worker() const;  // the calling one

  base::Queue& queue_;
  int32_t threads_ = 1;
  bool in_callers_arena_ = false;
  // Null: everything runs in the caller's arena, or on the calling thread.
  std::shared_ptr<base::CpuThreads> shared_;
};

}  // namespace gpujoin::cpu
