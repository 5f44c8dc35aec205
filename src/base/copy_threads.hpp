// copy_threads.hpp: how many threads copy pageable memory to and from devices, for all calls of the
// process.
//
// A call wants several, since one copies at a sixth of the link's rate. Many such calls at a time
// have threads enough between them: with six for each of eight calls, host to host took 230 ms in
// the place of 130 on 16 cores.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>

namespace gpujoin::base {

// A call's share, given back at its end.
class CopyThreads {
 public:
  CopyThreads() = default;
  ~CopyThreads() { taken().fetch_sub(count_, std::memory_order_relaxed); }
  CopyThreads(const CopyThreads&) = delete;
  CopyThreads& operator=(const CopyThreads&) = delete;

  // So many of those wanted: half of what others leave of `most`, but a quarter of it, and two, of
  // which one copies while the other one waits for the link. Once.
  int32_t take(int32_t wanted, int32_t most) {
    int32_t const left = most - taken().load(std::memory_order_relaxed);
    count_ = std::min(std::max(left / 2, std::max(most / 4, 2)), std::max(wanted, 1));
    taken().fetch_add(count_, std::memory_order_relaxed);
    return count_;
  }

 private:
  static std::atomic<int32_t>& taken() {
    static std::atomic<int32_t> by_all{0};
    return by_all;
  }

  int32_t count_ = 0;
};

}  // namespace gpujoin::base
