// page_locked.hpp: host memory that the device reads and writes by itself.
#pragma once

#include <cstdint>

namespace gpujoin::base {

// How a device has it.
struct PageLocking {
  bool registers_pages = false;  // that were mapped before
  int32_t threads = 1;           // that fill pages, at most
};
PageLocking page_locking_of(int device_id, int32_t threads);

// Of the current device. Null: there is none left. Throws what CUDA does.
//
// Large blocks are mapped in large pages, filled by several threads, and locked then: CUDA's own
// allocation of 1 GiB takes 350 to 770 ms on an H200's host, this one 80. Blocks of either kind are
// told apart by their sizes.
void* allocate_page_locked(uint64_t bytes, const PageLocking& how);
void free_page_locked(void* pointer, uint64_t bytes, const PageLocking& how) noexcept;

}  // namespace gpujoin::base
