#include "src/base/page_locked.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <cstddef>
#include <system_error>
#include <thread>
#include <vector>

#include "src/base/device.hpp"

namespace gpujoin::base {

namespace {

constexpr uint64_t kLargePage = uint64_t{2} << 20;
constexpr uint64_t kLeastMapped = 2 * kLargePage;
constexpr uint64_t kMostThreads = 8;
constexpr uint64_t kPage = 4096;

uint64_t in_pages(uint64_t bytes) { return (bytes + kPage - 1) / kPage * kPage; }

// Pages are given, and zeroed, when they are written to first.
void touch(std::byte* begin, uint64_t bytes) noexcept {
  for (uint64_t at = 0; at < bytes; at += kPage) {
    *static_cast<volatile std::byte*>(begin + at) = std::byte{0};
  }
}

void touch_by_threads(std::byte* begin, uint64_t bytes) noexcept {
  uint64_t const pages = (bytes + kLargePage - 1) / kLargePage;
  uint64_t const share = (pages + kMostThreads - 1) / kMostThreads * kLargePage;
  try {
    std::vector<std::jthread> threads;
    for (uint64_t at = share; at < bytes; at += share) {
      threads.emplace_back(touch, begin + at, std::min(share, bytes - at));
    }
    touch(begin, std::min(share, bytes));
  } catch (const std::exception&) {
    touch(begin, bytes);  // there was no room for a thread
  }
}

// Begins at a large page. Null: there is no such room.
std::byte* map_pages(uint64_t bytes) noexcept {
  uint64_t const room = bytes + kLargePage;
  void* const mapped =
      mmap(nullptr, room, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (mapped == MAP_FAILED) return nullptr;
  auto* const begin = static_cast<std::byte*>(mapped);
  uint64_t const skipped =
      (kLargePage - reinterpret_cast<uintptr_t>(begin) % kLargePage) % kLargePage;
  if (skipped != 0) munmap(begin, skipped);
  munmap(begin + skipped + bytes, room - skipped - bytes);
  madvise(begin + skipped, bytes, MADV_HUGEPAGE);
  // As CUDA's own: a child that wrote to a copy would leave the device with the parent's old pages.
  madvise(begin + skipped, bytes, MADV_DONTFORK);
  return begin + skipped;
}

}  // namespace

void* allocate_page_locked(uint64_t bytes, bool may_register) {
  void* pointer = nullptr;
  cudaError_t code;
  if (may_register && bytes >= kLeastMapped) {
    uint64_t const whole = in_pages(bytes);
    std::byte* const mapped = map_pages(whole);
    if (mapped == nullptr) return nullptr;
    touch_by_threads(mapped, whole);
    code = cudaHostRegister(mapped, whole, cudaHostRegisterPortable);
    if (code != cudaSuccess) munmap(mapped, whole);
    pointer = mapped;
  } else {
    code = cudaMallocHost(&pointer, bytes);
  }
  if (code == cudaErrorMemoryAllocation) {
    cudaGetLastError();
    return nullptr;
  }
  check(code, "page-locking memory");
  return pointer;
}

void free_page_locked(void* pointer, uint64_t bytes, bool may_register) noexcept {
  if (may_register && bytes >= kLeastMapped) {
    cudaHostUnregister(pointer);
    munmap(pointer, in_pages(bytes));
  } else {
    cudaFreeHost(pointer);
  }
}

bool may_register_pages(int device_id) {
  int registers = 0;
  int has_pointer = 0;
  check(cudaDeviceGetAttribute(&registers, cudaDevAttrHostRegisterSupported, device_id),
        "asking whether pages can be locked");
  check(
      cudaDeviceGetAttribute(&has_pointer, cudaDevAttrCanUseHostPointerForRegisteredMem, device_id),
      "asking how the device names pages");
  return registers != 0 && has_pointer != 0;
}

}  // namespace gpujoin::base
