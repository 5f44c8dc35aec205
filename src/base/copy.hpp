// copy.hpp: bytes from anywhere to anywhere. On a context without CUDA every pointer is host
// memory.
#pragma once

#include <cstdint>
#include <span>

#include "src/base/context.hpp"
#include "src/base/memory.hpp"
#include "src/base/queue.hpp"

namespace gpujoin::base {

// Queues the copy on the queue's stream when either end is device memory; a host-to-host copy, and
// a large one between the device and pageable memory, is complete when it returns.
void copy(Queue& queue, void* target, Memory target_memory, const void* source,
          Memory source_memory, uint64_t bytes);

// The same of several, which threads that copy pageable memory take as one.
struct Copy {
  void* target = nullptr;
  Memory target_memory = Memory::kHost;
  const void* source = nullptr;
  Memory source_memory = Memory::kHost;
  uint64_t bytes = 0;
};
void copy(Queue& queue, std::span<const Copy> copies);

// Waits for everything queued on the queue's stream.
void finish(Queue& queue);

// Resolves GPUJOIN_MEMORY_AUTOMATIC; throws INVALID_ARGUMENT (naming `what`) for device memory of
// another device than the context's, and UNSUPPORTED for device memory with a CPU context.
Memory memory_of(Context& context, const void* pointer, gpujoin_memory declared, const char* what);

}  // namespace gpujoin::base
