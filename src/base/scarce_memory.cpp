#include "src/base/scarce_memory.hpp"

#include <algorithm>
#include <chrono>
#include <thread>

#include "src/base/context.hpp"

namespace gpujoin::base {

namespace {

// How long who waits does not ask whether its call is over.
constexpr auto kWaitStep = std::chrono::milliseconds(5);
// How often who has the turn looks.
constexpr auto kLookStep = std::chrono::milliseconds(1);
// A caller that reads a result for longer, and then lets go of it, is rare; one that never does has
// to be told that there is no room.
constexpr auto kPatience = std::chrono::seconds(1);

}  // namespace

void ScarceMemory::let_others_first(const Check& check) {
  if (waiting_.load(std::memory_order_relaxed) == 0) return;
  std::unique_lock lock(mutex_);
  while (waiting_.load(std::memory_order_relaxed) != 0) {
    check();
    changed_.wait_for(lock, kWaitStep);
  }
}

ScarceMemory::Turn::InLine::InLine(ScarceMemory& of) : memory(of) {
  std::lock_guard const lock(memory.mutex_);
  ++memory.waiting_;
}

ScarceMemory::Turn::InLine::~InLine() {
  std::lock_guard const lock(memory.mutex_);
  --memory.waiting_;
  memory.changed_.notify_all();
}

ScarceMemory::Turn::Turn(Context& context, const Check& check, Clock::time_point since)
    : context_(context), in_line_(context.scarce_memory), since_(since) {
  ScarceMemory& memory = in_line_.memory;
  std::unique_lock lock(memory.mutex_);
  while (memory.is_taken_) {
    check();
    memory.changed_.wait_for(lock, kWaitStep);
  }
  memory.is_taken_ = true;
  in_use_ = in_use();
}

ScarceMemory::Turn::~Turn() {
  std::lock_guard const lock(in_line_.memory.mutex_);
  in_line_.memory.is_taken_ = false;
}

bool ScarceMemory::Turn::wait_for_more(const Check& check) {
  auto& last = in_line_.memory.last_given_back_;
  // Those behind have waited as long: they need not do so again, one after the other.
  auto const end = std::max(since_, last) + kPatience;
  for (;;) {
    if (uint64_t const now = in_use(); now < in_use_) {
      in_use_ = now;
      last = Clock::now();
      return true;
    }
    check();
    if (Clock::now() >= end) return false;
    std::this_thread::sleep_for(kLookStep);
  }
}

uint64_t ScarceMemory::Turn::in_use() const {
  auto const& device = context_.device_account;
  return context_.host_account->in_use_bytes() + (device == nullptr ? 0 : device->in_use_bytes());
}

}  // namespace gpujoin::base
