#include "src/base/forks.hpp"

#include <pthread.h>
#include <unistd.h>

#include <atomic>

namespace gpujoin::base {

namespace {

constinit std::atomic<uint32_t> count{0};

// Registered when the library is loaded, before anyone can have forked with threads of ours.
[[maybe_unused]] const int registered =
    pthread_atfork(nullptr, nullptr, [] { count.fetch_add(1, std::memory_order_relaxed); });

}  // namespace

pid_t process_id() noexcept {
  // The number of forks by which it was asked, plus one, and the answer.
  static constinit std::atomic<uint64_t> asked{0};
  uint64_t const forked = uint64_t{forks()} + 1;
  uint64_t known = asked.load(std::memory_order_relaxed);
  if (known >> 32 != forked) {
    known = forked << 32 | static_cast<uint32_t>(getpid());
    asked.store(known, std::memory_order_relaxed);
  }
  return static_cast<pid_t>(known & UINT32_MAX);
}

uint32_t forks() noexcept { return count.load(std::memory_order_relaxed); }

}  // namespace gpujoin::base
