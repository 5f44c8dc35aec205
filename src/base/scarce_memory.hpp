// scarce_memory.hpp: calls of a context that have no room wait for others to give memory back, one
// after the other, while nobody begins other work.
//
// What a call needs may fit the limit, and not beside what other calls hold at the moment: they are
// at work, or their results are still read. Both end by themselves, unless the results are those of
// the thread that waits; so who waits gives up when nothing was given back for a while.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>

namespace gpujoin::base {

struct Context;

// Of one context. Who waits calls `check` every few milliseconds; what that throws ends it.
class ScarceMemory {
 public:
  using Check = std::function<void()>;
  using Clock = std::chrono::steady_clock;

  // Before work that takes memory: waits while calls have no room.
  void let_others_first(const Check& check);

  // Of a call whose work had no room, and which holds nothing of what it tried: one at a time.
  class Turn {
   public:
    // Waits for it. since: when its call began to let others go first.
    Turn(Context& context, const Check& check, Clock::time_point since);
    ~Turn();
    Turn(const Turn&) = delete;
    Turn& operator=(const Turn&) = delete;

    // After work that had no room again: whether there is more since it began. Waits.
    bool wait_for_more(const Check& check);

   private:
    // Counted among those that wait, also while it is waited for.
    struct InLine {
      explicit InLine(ScarceMemory& of);
      ~InLine();
      InLine(const InLine&) = delete;
      InLine& operator=(const InLine&) = delete;

      ScarceMemory& memory;
    };
    uint64_t in_use() const;

    Context& context_;
    InLine in_line_;
    Clock::time_point since_;
    uint64_t in_use_ = 0;  // when the work began
  };

 private:
  std::atomic<int> waiting_{0};  // calls that have a turn, or wait for one
  std::mutex mutex_;             // of what follows
  std::condition_variable changed_;
  bool is_taken_ = false;
  Clock::time_point last_given_back_;  // as who has the turn saw it, and nobody else does
};

}  // namespace gpujoin::base
