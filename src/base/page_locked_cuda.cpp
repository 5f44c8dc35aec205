#include "src/base/page_locked.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <cstddef>
#include <memory>
#include <thread>
#include <vector>

#include "src/base/device.hpp"

namespace gpujoin::base {

namespace {

constexpr uint64_t kLargePage = uint64_t{2} << 20;
constexpr uint64_t kLeastMapped = kLargePage;
constexpr uint64_t kPage = 4096;

uint64_t in_pages(uint64_t bytes) { return (bytes + kPage - 1) / kPage * kPage; }

// Pages are given, and zeroed, when they are written to first.
void touch(std::byte* begin, uint64_t bytes) noexcept {
  for (uint64_t at = 0; at < bytes; at += kPage) {
    *static_cast<volatile std::byte*>(begin + at) = std::byte{0};
  }
}

// Throws where there is no room for a thread.
void touch_by_threads(std::byte* begin, uint64_t bytes, uint64_t most_threads) {
  uint64_t const pages = (bytes + kLargePage - 1) / kLargePage;
  uint64_t const share = (pages + most_threads - 1) / most_threads * kLargePage;
  std::vector<std::jthread> threads;
  for (uint64_t at = share; at < bytes; at += share) {
    threads.emplace_back(touch, begin + at, std::min(share, bytes - at));
  }
  touch(begin, std::min(share, bytes));
}

struct Unmap {
  uint64_t bytes;
  void operator()(std::byte* pages) const { munmap(pages, bytes); }
};
using Pages = std::unique_ptr<std::byte, Unmap>;

// Begin at a large page. Null: there is no such room.
Pages map_pages(uint64_t bytes) noexcept {
  uint64_t const room = bytes + kLargePage;
  void* const mapped =
      mmap(nullptr, room, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (mapped == MAP_FAILED) return Pages(nullptr, Unmap{0});
  auto* const begin = static_cast<std::byte*>(mapped);
  uint64_t const skipped =
      (kLargePage - reinterpret_cast<uintptr_t>(begin) % kLargePage) % kLargePage;
  if (skipped != 0) munmap(begin, skipped);
  munmap(begin + skipped + bytes, room - skipped - bytes);
  madvise(begin + skipped, bytes, MADV_HUGEPAGE);
  // As CUDA's own: a child that wrote to a copy would leave the device with the parent's old pages.
  madvise(begin + skipped, bytes, MADV_DONTFORK);
  return Pages(begin + skipped, Unmap{bytes});
}

}  // namespace

void* allocate_page_locked(uint64_t bytes, const PageLocking& how) {
  void* pointer = nullptr;
  cudaError_t code;
  if (how.registers_pages && bytes >= kLeastMapped) {
    Pages pages = map_pages(in_pages(bytes));
    if (pages == nullptr) return nullptr;
    touch_by_threads(pages.get(), in_pages(bytes), static_cast<uint64_t>(how.threads));
    code = cudaHostRegister(pages.get(), in_pages(bytes), cudaHostRegisterPortable);
    if (code == cudaSuccess) pointer = pages.release();
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

void free_page_locked(void* pointer, uint64_t bytes, const PageLocking& how) noexcept {
  if (how.registers_pages && bytes >= kLeastMapped) {
    cudaHostUnregister(pointer);
    munmap(pointer, in_pages(bytes));
  } else {
    cudaFreeHost(pointer);
  }
}

PageLocking page_locking_of(int device_id, int32_t threads) {
  int registers = 0;
  int has_pointer = 0;
  check(cudaDeviceGetAttribute(&registers, cudaDevAttrHostRegisterSupported, device_id),
        "asking whether pages can be locked");
  check(
      cudaDeviceGetAttribute(&has_pointer, cudaDevAttrCanUseHostPointerForRegisteredMem, device_id),
      "asking how the device names pages");
  constexpr int32_t kMostThreads = 8;
  return {registers != 0 && has_pointer != 0, std::clamp(threads, 1, kMostThreads)};
}

}  // namespace gpujoin::base
