// host_memory.hpp: what CUDA makes of host memory: pinned by its owner, registered by us for a
// while, managed.
#pragma once

#include <cstdint>
#include <memory>

#include "src/base/context.hpp"
#include "src/base/device.hpp"

namespace gpujoin::base {

// Whether copies of [pointer, pointer + bytes) run by themselves: the whole of it is one
// page-locked range, or managed memory.
bool is_pinned(Context& context, const void* pointer, uint64_t bytes);
bool is_managed(Context& context, const void* pointer);

// Page-locks the pages of [pointer, pointer + bytes) until the last owner of what is returned lets
// go; nothing that was queued may use them then. Pages that this process registered already are
// shared, and so are those that the caller has page-locked. Null where the system refuses. Pinning
// costs about as much as copying, so this is for memory that is read in place.
std::shared_ptr<const void> register_pages(Context& context, const void* pointer, uint64_t bytes);

// Throws UNSUPPORTED, naming what is missing, unless kernels may touch managed memory while the
// host does.
void check_managed_memory(const Context& context);

// Bytes that the device has free, whoever asks.
uint64_t free_device_bytes();

// Queues the migration of managed memory.
void prefetch_to_device(Context& context, const void* pointer, uint64_t bytes, cudaStream_t stream);
void prefetch_to_host(const void* pointer, uint64_t bytes, cudaStream_t stream);

}  // namespace gpujoin::base
