// interrupt.hpp: what ends a call before it is done, beside the cancel of its whole context.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>

namespace gpujoin::base {

// Of one object, on which there may be many calls.
struct Interrupt {
  std::atomic<uint64_t> cancels{0};  // how often someone asked
};

// Of one call.
struct CallEnd {
  using Clock = std::chrono::steady_clock;

  std::shared_ptr<const Interrupt> interrupt;  // null: none
  uint64_t answered = 0;                       // requests that are not this call's
  Clock::time_point deadline = Clock::time_point::max();

  bool is_cancelled() const {
    return interrupt != nullptr && interrupt->cancels.load(std::memory_order_relaxed) != answered;
  }
  bool is_late() const { return deadline != Clock::time_point::max() && Clock::now() >= deadline; }
  bool is_over() const { return is_cancelled() || is_late(); }
  // Throws CANCELLED or DEADLINE.
  void check() const;
};

// milliseconds: 0 = none.
CallEnd::Clock::time_point deadline_in(int64_t milliseconds);

}  // namespace gpujoin::base
