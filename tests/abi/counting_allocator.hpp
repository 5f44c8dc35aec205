// counting_allocator.hpp: a host's allocator that knows what it gave out, and fails when told to.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <map>
#include <mutex>

#include "gpujoin.h"
#include "tests/abi/device_memory.hpp"

namespace gpujoin_test {

// Counts what it gives. Call number `fail_at` (from 1) and those after it, `failures` of them,
// answer NULL.
struct CountingAllocator {
  struct Block {
    uint64_t bytes;
    gpujoin_memory memory;
  };
  std::mutex mutex;
  std::map<void*, Block> live;
  int64_t calls = 0;
  int64_t fail_at = 0;  // 0: never
  int64_t failures = INT64_MAX;
  int64_t wrong = 0;  // blocks given back otherwise than they were given out
  uint64_t host_bytes = 0;
  uint64_t most_host_bytes = 0;

  gpujoin_allocator get() {
    gpujoin_allocator allocator = GPUJOIN_ALLOCATOR_INIT;
    allocator.allocate = allocate;
    allocator.deallocate = deallocate;
    allocator.user = this;
    return allocator;
  }
  static void* allocate(uint64_t bytes, uint64_t alignment, gpujoin_memory memory, void*,
                        void* user) {
    auto& self = *static_cast<CountingAllocator*>(user);
    std::lock_guard const lock(self.mutex);
    ++self.calls;
    int64_t const late = self.calls - self.fail_at;
    if (self.fail_at != 0 && late >= 0 && late < self.failures) return nullptr;
    if (alignment > 256) ++self.wrong;  // what CUDA's own allocations are aligned to
    void* pointer = nullptr;
    switch (memory) {
      case GPUJOIN_MEMORY_HOST:
        pointer = std::aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment);
        break;
      case GPUJOIN_MEMORY_DEVICE:
        pointer = allocate_on_device(bytes);
        break;
      case GPUJOIN_MEMORY_PINNED:
        pointer = allocate_pinned(bytes);
        break;
      default:
        ++self.wrong;
        return nullptr;
    }
    self.live[pointer] = {bytes, memory};
    if (memory == GPUJOIN_MEMORY_HOST) {
      self.host_bytes += bytes;
      self.most_host_bytes = std::max(self.most_host_bytes, self.host_bytes);
    }
    return pointer;
  }
  static void deallocate(void* pointer, uint64_t bytes, gpujoin_memory memory, void*, void* user) {
    auto& self = *static_cast<CountingAllocator*>(user);
    std::lock_guard const lock(self.mutex);
    auto const found = self.live.find(pointer);
    if (found == self.live.end() || found->second.bytes != bytes ||
        found->second.memory != memory) {
      ++self.wrong;
      return;
    }
    if (memory == GPUJOIN_MEMORY_HOST) {
      self.host_bytes -= bytes;
      std::free(pointer);
    }
    if (memory == GPUJOIN_MEMORY_DEVICE) free_on_device(pointer);
    if (memory == GPUJOIN_MEMORY_PINNED) free_pinned(pointer);
    self.live.erase(found);
  }
};

}  // namespace gpujoin_test
