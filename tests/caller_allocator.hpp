// caller_allocator.hpp: a host's allocator over cudaMalloc that knows what it gave out; with it
// growing output is a list of blocks.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <map>
#include <memory>

#include "tests/gpu_fixture.hpp"

namespace gpujoin::tests {

// Must outlive the context that uses it.
class CallerAllocator {
 public:
  OwnQueue open_queue(uint64_t memory_limit_bytes = 0) {
    gpujoin_context_options options = cuda_options();
    gpujoin_allocator allocator = GPUJOIN_ALLOCATOR_INIT;
    allocator.allocate = &allocate;
    allocator.deallocate = &deallocate;
    allocator.user = this;
    options.allocator = &allocator;
    options.memory_limit_bytes = memory_limit_bytes;
    return OwnQueue(options);
  }
  size_t live_blocks() const { return live_.size(); }

 private:
  static void* allocate(uint64_t bytes, uint64_t, gpujoin_memory memory, void*, void* user) {
    void* pointer = nullptr;
    if (memory == GPUJOIN_MEMORY_DEVICE) {
      if (cudaMalloc(&pointer, bytes) != cudaSuccess) return nullptr;
    } else if (memory == GPUJOIN_MEMORY_PINNED) {
      if (cudaMallocHost(&pointer, bytes) != cudaSuccess) return nullptr;
    } else {
      pointer = std::aligned_alloc(256, (bytes + 255) / 256 * 256);
    }
    static_cast<CallerAllocator*>(user)->live_[pointer] = memory;
    return pointer;
  }
  static void deallocate(void* pointer, uint64_t, gpujoin_memory memory, void*, void* user) {
    auto& live = static_cast<CallerAllocator*>(user)->live_;
    auto const found = live.find(pointer);
    ASSERT_TRUE(found != live.end()) << "given back twice, or never given out";
    EXPECT_EQ(found->second, memory);
    live.erase(found);
    if (memory == GPUJOIN_MEMORY_DEVICE) {
      EXPECT_EQ(cudaFree(pointer), cudaSuccess);
    } else if (memory == GPUJOIN_MEMORY_PINNED) {
      EXPECT_EQ(cudaFreeHost(pointer), cudaSuccess);
    } else {
      std::free(pointer);
    }
  }

  std::map<void*, gpujoin_memory> live_;
};

}  // namespace gpujoin::tests
