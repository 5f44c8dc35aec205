#include "src/pieces/rest_joins.hpp"

#include <algorithm>
#include <utility>

#include "src/base/status.hpp"
#include "src/execute/no_room.hpp"
#include "src/execute/output_size.hpp"
#include "src/pieces/with_room.hpp"

namespace gpujoin::pieces {

namespace {

// How long who waits for others does not ask whether its call is over.
constexpr auto kWaitStep = std::chrono::milliseconds(5);
// Who lets go of no result for so long keeps them.
constexpr auto kPatience = std::chrono::milliseconds(100);
// After so many one more thread is let in again.
constexpr int kCalmResults = 16;

// The storage, and what lives as long.
columns::Storage with(const columns::Storage& storage, std::shared_ptr<const void> lease) {
  using Both = std::pair<columns::Storage, std::shared_ptr<const void>>;
  auto const* const first = storage.get();
  return {std::make_shared<Both>(storage, std::move(lease)), first};
}

}  // namespace

struct RestJoins::Lease {
  Lease(std::shared_ptr<Shared> of, uint64_t held) : shared(std::move(of)), bytes(held) {
    std::lock_guard const lock(shared->mutex);
    shared->by_thread[thread] += bytes;
    shared->handed_out += bytes;
  }
  ~Lease() {
    std::lock_guard const lock(shared->mutex);
    auto const taken = shared->by_thread.find(thread);
    taken->second -= bytes;
    if (taken->second == 0) shared->by_thread.erase(taken);
    shared->handed_out -= bytes;
    ++shared->releases;
    shared->changed.notify_all();
  }
  Lease(const Lease&) = delete;
  Lease& operator=(const Lease&) = delete;

  std::shared_ptr<Shared> shared;
  uint64_t bytes;
  std::thread::id thread = std::this_thread::get_id();
};

uint64_t RestJoins::Shared::of_others() const {
  auto const own = by_thread.find(std::this_thread::get_id());
  return handed_out - (own == by_thread.end() ? 0 : own->second);
}

// Counted until its memory is let go of.
void RestJoins::hand_out(columns::JoinResult* result) {
  if (most_result_bytes_ == 0) return;
  columns::Storage* held = nullptr;
  for (columns::ResultColumn& column : result->columns) {
    if (held == nullptr && column.data != nullptr) held = &column.data;
  }
  if (held == nullptr && result->left_rows != nullptr) held = &result->left_rows;
  if (held == nullptr && result->right_rows != nullptr) held = &result->right_rows;
  uint64_t const bytes = execute::bytes_of_result(*result);
  if (held == nullptr || bytes == 0) return;
  *held = with(*held, std::make_shared<Lease>(shared_, bytes));
}

void RestJoins::set_limits(uint64_t most_bytes, uint64_t most_result_bytes) {
  std::lock_guard const lock(shared_->mutex);
  most_bytes_ = most_bytes;
  most_result_bytes_ = most_result_bytes;
}

void RestJoins::add(Next next, uint64_t bytes) {
  std::lock_guard const lock(shared_->mutex);
  joins_.push_back(std::make_unique<Join>(Join{std::move(next), bytes}));
}

void RestJoins::fail(std::exception_ptr error) {
  std::lock_guard const lock(shared_->mutex);
  if (!failed_) failed_ = std::move(error);
  shared_->changed.notify_all();
}

RestJoins::Place RestJoins::extract(size_t place) {
  Place join = std::move(joins_[place]);
  joins_.erase(joins_.begin() + static_cast<std::ptrdiff_t>(place));
  return join;
}

// Null: all have to wait.
RestJoins::Place RestJoins::pick() {
  if (inside_ >= most_inside_) return nullptr;
  for (size_t i = joins_.size(); i-- != 0;) {
    if (joins_[i]->has_begun && !joins_[i]->had_no_room) return extract(i);
  }
  if (begun_ >= most_inside_) return nullptr;
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
  std::unique_lock lock(shared_->mutex);
  for (;;) {
    if (failed_) std::rethrow_exception(failed_);
    end.check();
    if (std::exchange(seen_releases_, shared_->releases) != shared_->releases) progressed();
    bool const is_over = most_result_bytes_ != 0 && shared_->of_others() > most_result_bytes_;
    if (!is_over || !may_be_given_more()) {
      // A last try, once all had theirs.
      if (inside_ == 0 && !may_be_given_more() && !any_has_room()) clear_marks();
      if (Place join = pick()) return enter(std::move(join));
    }
    if (inside_ == 0 && joins_.empty()) {
      if (phases_.empty()) return nullptr;
      auto phase = std::make_unique<Join>();
      phase->next = [add = std::move(phases_.front())](base::Queue& queue) {
        add(queue);
        return nullptr;
      };
      phases_.pop_front();
      return enter(std::move(phase));
    }
    shared_->changed.wait_for(lock, kWaitStep);
  }
}

// expected: the lock is held, as of what follows.
RestJoins::Place RestJoins::enter(Place join) {
  ++entries_;
  join->entry_alone = ++inside_ == 1 ? entries_ : 0;
  return join;
}

bool RestJoins::was_alone(const Join& join) const { return join.entry_alone == entries_; }

bool RestJoins::any_has_room() const {
  return std::any_of(joins_.begin(), joins_.end(),
                     [](Place const& join) { return join->has_begun && !join->had_no_room; });
}

void RestJoins::clear_marks() {
  for (Place const& join : joins_) join->had_no_room = false;
}

void RestJoins::progressed() {
  clear_marks();
  last_progress_ = Clock::now();
}

// Callers have results, and have let go of some lately.
bool RestJoins::may_be_given_more() const {
  return shared_->handed_out != 0 && Clock::now() - last_progress_ < kPatience;
}

// expected: an exception is being handled.
void RestJoins::leave_failed() {
  std::lock_guard const lock(shared_->mutex);
  --inside_;
  if (!failed_) failed_ = std::current_exception();
  shared_->changed.notify_all();
}

bool RestJoins::put_aside(Place& join) {
  std::lock_guard const lock(shared_->mutex);
  bool const others = !was_alone(*join) || any_has_room();
  if (!others && !may_be_given_more()) return false;
  if (others) {
    most_inside_ = std::max(1, std::min(most_inside_, inside_) - 1);
    results_ = 0;
  }
  join->had_no_room = true;
  --inside_;
  joins_.push_back(std::move(join));
  shared_->changed.notify_all();
  return true;
}

// Null: it has no other, or is put aside.
std::unique_ptr<columns::JoinResult> RestJoins::run(Place join, const base::CallEnd& end) {
  std::unique_ptr<columns::JoinResult> result;
  try {
    base::LeasedQueue const queue(context_, end);
    auto const check = [&] { queue->check_cancelled(); };
    check();
    auto const since = Clock::now();
    context_.scarce_memory.let_others_first(check);
    try {
      result = join->next(*queue);
    } catch (const base::Error& error) {
      if (!execute::is_no_room(error) || !join->has_begun) throw;
      if (put_aside(join)) return nullptr;
      // Those that have it are not of this operation.
      result = again_with_room(context_, check, since, [&] { return join->next(*queue); });
    }
  } catch (...) {
    leave_failed();
    throw;
  }
  bool const is_done = result == nullptr;
  if (!is_done) hand_out(result.get());
  bool const has_begun = join->has_begun;
  uint64_t const bytes = join->bytes;
  // What it holds is let go of before another one begins.
  if (is_done) join = nullptr;
  std::lock_guard const lock(shared_->mutex);
  --inside_;
  progressed();
  if (most_inside_ != INT_MAX && ++results_ == kCalmResults) {
    ++most_inside_;
    results_ = 0;
  }
  if (!is_done) {
    joins_.push_back(std::move(join));
  } else if (has_begun) {
    begun_bytes_ -= bytes;
    --begun_;
    ++*done_;
  }
  shared_->changed.notify_all();
  return result;
}

std::unique_ptr<columns::JoinResult> RestJoins::next(const base::CallEnd& end) {
  while (Place join = take(end)) {
    if (auto result = run(std::move(join), end)) return result;
  }
  return nullptr;
}

}  // namespace gpujoin::pieces
