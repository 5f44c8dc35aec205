// counted_memory.hpp: host memory for the library that DuckDB counts as its own.
#pragma once

#include <atomic>
#include <duckdb/main/client_context.hpp>
#include <duckdb/storage/buffer_manager.hpp>
#include <memory>

#include "gpujoin.h"

namespace gpujoin_duckdb {

// Counted under the tag EXTENSION: to make room DuckDB writes blocks of its own to files, and there
// is none where its memory_limit would be passed. Results of the library may outlive the database.
class CountedMemory : public std::enable_shared_from_this<CountedMemory> {
 public:
  static std::shared_ptr<CountedMemory> of(duckdb::ClientContext& client);

  // Good as long as this is, and what it gave until it has that back.
  gpujoin_allocator allocator();

 private:
  CountedMemory(duckdb::BufferManager& buffers, duckdb::shared_ptr<duckdb::BufferPool> pool)
      : buffers_(buffers), pool_(std::move(pool)) {}

  static void* allocate(uint64_t bytes, uint64_t alignment, gpujoin_memory memory, void* stream,
                        void* user);
  static void deallocate(void* pointer, uint64_t bytes, gpujoin_memory memory, void* stream,
                         void* user);
  void free_reserved(uint64_t bytes);

  // Of the database, which is there while its queries run.
  duckdb::BufferManager& buffers_;
  duckdb::shared_ptr<duckdb::BufferPool> pool_;
  // While somebody has memory of this.
  std::shared_ptr<CountedMemory> self_;
  size_t given_ = 0;
  std::mutex mutex_;
};

}  // namespace gpujoin_duckdb
