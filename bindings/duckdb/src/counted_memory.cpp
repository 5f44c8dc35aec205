// counted_memory.cpp: host memory for the library that DuckDB counts as its own.
#include "bindings/duckdb/src/counted_memory.hpp"

#include <sys/mman.h>

#include <cstdlib>
#include <duckdb/main/config.hpp>
#include <duckdb/storage/buffer/buffer_pool.hpp>

namespace gpujoin_duckdb {

namespace {

constexpr uint64_t huge_page = uint64_t{2} << 20;

// Large blocks in huge pages, whose first touch is cheap, as the library's own.
void* aligned(uint64_t bytes, uint64_t alignment) {
  bool const is_huge = bytes >= huge_page;
  if (is_huge) alignment = huge_page;
  void* const pointer =
      std::aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment);
  if (is_huge && pointer != nullptr) madvise(pointer, bytes, MADV_HUGEPAGE);
  return pointer;
}

}  // namespace

std::shared_ptr<CountedMemory> CountedMemory::of(duckdb::ClientContext& client) {
  return std::shared_ptr<CountedMemory>(
      new CountedMemory(duckdb::BufferManager::GetBufferManager(client),
                        duckdb::DBConfig::GetConfig(client).buffer_pool));
}

gpujoin_allocator CountedMemory::allocator() {
  gpujoin_allocator functions = GPUJOIN_ALLOCATOR_INIT;
  functions.allocate = allocate;
  functions.deallocate = deallocate;
  functions.user = this;
  return functions;
}

void* CountedMemory::allocate(uint64_t bytes, uint64_t alignment, gpujoin_memory, void*,
                              void* user) {
  auto& self = *static_cast<CountedMemory*>(user);
  try {
    self.buffers_.ReserveMemory(bytes);
  } catch (const std::exception&) {
    return nullptr;
  }
  void* const pointer = aligned(bytes, alignment);
  if (pointer == nullptr) {
    self.free_reserved(bytes);
    return nullptr;
  }
  std::lock_guard<std::mutex> const lock(self.mutex_);
  if (self.given_++ == 0) self.self_ = self.shared_from_this();
  return pointer;
}

void CountedMemory::deallocate(void* pointer, uint64_t bytes, gpujoin_memory, void*, void* user) {
  auto& self = *static_cast<CountedMemory*>(user);
  std::free(pointer);
  self.free_reserved(bytes);
  std::shared_ptr<CountedMemory> last;  // goes after the lock
  std::lock_guard<std::mutex> const lock(self.mutex_);
  if (--self.given_ == 0) last = std::move(self.self_);
}

void CountedMemory::free_reserved(uint64_t bytes) {
  duckdb::BufferPoolReservation reserved(duckdb::MemoryTag::EXTENSION, *pool_);
  reserved.size = bytes;
  reserved.Resize(0);
}

}  // namespace gpujoin_duckdb
