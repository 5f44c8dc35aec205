// page_locked.hpp: host memory that the device reads and writes by itself.
#pragma once

#include <cstdint>

namespace gpujoin::base {

// Of the current device. Null: there is none left. Throws what CUDA does.
//
// Large blocks are mapped in large pages, filled by several threads, and locked then: CUDA's own
// allocation of 1 GiB takes 350 to 770 ms on an H200's host, this one 80. Blocks of either kind are
// told apart by their sizes.
void* allocate_page_locked(uint64_t bytes, bool may_register);
void free_page_locked(void* pointer, uint64_t bytes, bool may_register) noexcept;

// Whether the current device reads pages that are locked after they were mapped.
bool may_register_pages(int device_id);

}  // namespace gpujoin::base
