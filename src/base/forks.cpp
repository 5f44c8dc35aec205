#include "src/base/forks.hpp"

#include <pthread.h>

#include <atomic>

namespace gpujoin::base {

namespace {

constinit std::atomic<uint32_t> count{0};

// Registered when the library is loaded, before anyone can have forked with threads of ours.
[[maybe_unused]] const int registered =
    pthread_atfork(nullptr, nullptr, [] { count.fetch_add(1, std::memory_order_relaxed); });

}  // namespace

uint32_t forks() noexcept { return count.load(std::memory_order_relaxed); }

}  // namespace gpujoin::base
