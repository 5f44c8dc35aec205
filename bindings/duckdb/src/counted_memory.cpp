// counted_memory.cpp: host memory for the library that DuckDB counts as its own.
#include "bindings/duckdb/src/counted_memory.hpp"

#include <cstdlib>
#include <duckdb/main/config.hpp>
#include <duckdb/storage/buffer/buffer_pool.hpp>

#include "bindings/duckdb/src/spare_blocks.hpp"

namespace gpujoin_duckdb {

namespace {

// Large blocks in huge pages, whose first touch is cheap, as the library's own.
bool is_large(uint64_t bytes) { return bytes >= SpareBlocks::huge_page; }

void* aligned(uint64_t bytes, uint64_t alignment) {
  if (is_large(bytes)) return SpareBlocks::all().take(bytes);
  return std::aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment);
}

void free_aligned(void* pointer, uint64_t bytes) {
  if (is_large(bytes)) return SpareBlocks::all().give_back(pointer, bytes);
  std::free(pointer);
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
  free_aligned(pointer, bytes);
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
