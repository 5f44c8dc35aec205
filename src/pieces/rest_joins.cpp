#include "src/pieces/rest_joins.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

#include "src/base/status.hpp"
#include "src/execute/no_room.hpp"

namespace gpujoin::pieces {

namespace {

// How long who waits for others does not ask whether its call is over.
constexpr auto kWaitStep = std::chrono::milliseconds(5);

}  // namespace

void RestJoins::add(Next next, uint64_t bytes) {
  std::lock_guard const lock(mutex_);
  joins_.push_back(std::make_unique<Join>(Join{std::move(next), bytes}));
}

void RestJoins::fail(std::exception_ptr error) {
  std::lock_guard const lock(mutex_);
  if (!failed_) failed_ = std::move(error);
  changed_.notify_all();
}

RestJoins::Place RestJoins::extract(size_t place) {
  Place join = std::move(joins_[place]);
  joins_.erase(joins_.begin() + static_cast<std::ptrdiff_t>(place));
  return join;
}

// Null: all have to wait.
RestJoins::Place RestJoins::pick() {
  if (is_alone_ && inside_ != 0) return nullptr;
  bool has_begun = false;
  for (size_t i = joins_.size(); i-- != 0;) {
    if (!joins_[i]->has_begun) continue;
    has_begun = true;
    if (!joins_[i]->had_no_room) return extract(i);
  }
  if (is_alone_ && has_begun) return nullptr;
  for (size_t i = joins_.size(); i-- != 0;) {
    Join& join = *joins_[i];
    if (join.has_begun) continue;
    bool const fits = most_bytes_ == 0 || begun_bytes_ + join.bytes <= most_bytes_;
    if (begun_ != 0 && !fits) continue;
    join.has_begun = true;
    begun_bytes_ += join.bytes;
    ++begun_;
    return extract(i);
  }
  return nullptr;
}

RestJoins::Place RestJoins::take(const base::CallEnd& end) {
  std::unique_lock lock(mutex_);
  for (;;) {
    if (failed_) std::rethrow_exception(failed_);
    end.check();
    if (Place join = pick()) {
      ++inside_;
      return join;
    }
    if (inside_ == 0 && joins_.empty()) {
      if (phases_.empty()) return nullptr;
      auto phase = std::make_unique<Join>();
      phase->next = [add = std::move(phases_.front())](base::Queue& queue) {
        add(queue);
        return nullptr;
      };
      phases_.pop_front();
      ++inside_;
      return phase;
    }
    changed_.wait_for(lock, kWaitStep);
  }
}

// expected: the lock is held, as of what follows.
void RestJoins::progressed() {
  for (Place const& join : joins_) join->had_no_room = false;
}

// expected: an exception is being handled.
void RestJoins::leave_failed() {
  std::lock_guard const lock(mutex_);
  --inside_;
  if (!failed_) failed_ = std::current_exception();
  changed_.notify_all();
}

bool RestJoins::put_aside(Place join, bool was_alone) {
  std::lock_guard const lock(mutex_);
  bool const others = std::any_of(joins_.begin(), joins_.end(), [](Place const& other) {
    return other->has_begun && !other->had_no_room;
  });
  if (was_alone && !others) return false;
  join->had_no_room = was_alone;
  is_alone_ = true;
  --inside_;
  joins_.push_back(std::move(join));
  changed_.notify_all();
  return true;
}

// Null: it has no other, or is put aside.
std::unique_ptr<columns::JoinResult> RestJoins::run(Place join, const base::CallEnd& end) {
  bool was_alone = false;
  {
    std::lock_guard const lock(mutex_);
    was_alone = is_alone_ || !join->has_begun;
  }
  std::unique_ptr<columns::JoinResult> result;
  try {
    base::LeasedQueue const queue(context_, end);
    queue->check_cancelled();
    result = join->next(*queue);
  } catch (const base::Error& error) {
    bool const can_wait = execute::is_no_room(error) && join->has_begun;
    if (can_wait && put_aside(std::move(join), was_alone)) return nullptr;
    leave_failed();
    throw;
  } catch (...) {
    leave_failed();
    throw;
  }
  bool const is_done = result == nullptr;
  bool const has_begun = join->has_begun;
  uint64_t const bytes = join->bytes;
  // What it holds is let go of before another one begins.
  if (is_done) join = nullptr;
  std::lock_guard const lock(mutex_);
  --inside_;
  progressed();
  if (!is_done) {
    joins_.push_back(std::move(join));
  } else if (has_begun) {
    begun_bytes_ -= bytes;
    --begun_;
    ++*done_;
  }
  changed_.notify_all();
  return result;
}

std::unique_ptr<columns::JoinResult> RestJoins::next(const base::CallEnd& end) {
  while (Place join = take(end)) {
    if (auto result = run(std::move(join), end)) return result;
  }
  return nullptr;
}

}  // namespace gpujoin::pieces
