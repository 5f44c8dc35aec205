#include "src/base/copy.hpp"

#include <cstring>
#include <vector>

#include "src/base/status.hpp"

namespace gpujoin::base {

#if GPUJOIN_WITH_CUDA
// In copy_cuda.cpp.
void copy_on_device(Queue& queue, void* target, const void* source, uint64_t bytes);
void finish_device(Queue& queue);
// In copy_ring_cuda.cpp. Returns when the copies are complete.
void copy_through_ring(Queue& queue, const std::vector<Copy>& copies);
Memory ask_cuda(Context& context, const void* pointer, const char* what);
#endif

namespace {

// Of pageable memory: from there on CUDA's own copy is the slower one.
[[maybe_unused]] constexpr uint64_t kRingBytes = uint64_t{2} << 20;

}  // namespace

void copy(Queue& queue, void* target, Memory target_memory, const void* source,
          Memory source_memory, uint64_t bytes) {
  Copy const alone{target, target_memory, source, source_memory, bytes};
  copy(queue, std::span(&alone, 1));
}

void copy(Queue& queue, std::span<const Copy> copies) {
#if GPUJOIN_WITH_CUDA
  std::vector<Copy> large;
#endif
  for (Copy const& asked : copies) {
    if (asked.bytes == 0) continue;
    if (asked.target_memory != Memory::kDevice && asked.source_memory != Memory::kDevice) {
      std::memcpy(asked.target, asked.source, asked.bytes);
      continue;
    }
#if GPUJOIN_WITH_CUDA
    bool const is_pageable =
        asked.target_memory == Memory::kHost || asked.source_memory == Memory::kHost;
    if (is_pageable && asked.bytes >= kRingBytes) {
      large.push_back(asked);
    } else {
      copy_on_device(queue, asked.target, asked.source, asked.bytes);
    }
#else
    (void)queue;
    fail(GPUJOIN_ERROR_INTERNAL, "device memory in a build without CUDA");
#endif
  }
#if GPUJOIN_WITH_CUDA
  if (!large.empty()) copy_through_ring(queue, large);
#endif
}

void finish(Queue& queue) {
#if GPUJOIN_WITH_CUDA
  if (queue.device != nullptr) finish_device(queue);
#else
  (void)queue;
#endif
}

Memory memory_of(Context& context, const void* pointer, gpujoin_memory declared, const char* what) {
  switch (declared) {
    case GPUJOIN_MEMORY_HOST:
      return Memory::kHost;
    case GPUJOIN_MEMORY_PINNED:
      return Memory::kPinned;
    case GPUJOIN_MEMORY_DEVICE:
      if (!context.is_cuda()) {
        fail(GPUJOIN_ERROR_UNSUPPORTED, "%s lies in device memory and the context runs on the CPU",
             what);
      }
      [[fallthrough]];
    case GPUJOIN_MEMORY_AUTOMATIC:
#if GPUJOIN_WITH_CUDA
      if (context.is_cuda() && pointer != nullptr) {
        Memory const found = ask_cuda(context, pointer, what);
        if (declared == GPUJOIN_MEMORY_DEVICE && found != Memory::kDevice) {
          fail(GPUJOIN_ERROR_INVALID_ARGUMENT, "%s was declared device memory and is not", what);
        }
        return found;
      }
#else
      (void)pointer;
#endif
      return declared == GPUJOIN_MEMORY_DEVICE ? Memory::kDevice : Memory::kHost;
    default:
      fail(GPUJOIN_ERROR_INVALID_ARGUMENT, "%s: memory kind %d is unknown", what, declared);
  }
}

}  // namespace gpujoin::base
