// spare_blocks.cpp: memory that queries give back, and take again.
#include "bindings/duckdb/src/spare_blocks.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <cstdlib>
#include <new>

namespace gpujoin_duckdb {

namespace {

uint64_t whole_pages(uint64_t bytes) {
  return (bytes + SpareBlocks::huge_page - 1) / SpareBlocks::huge_page * SpareBlocks::huge_page;
}

}  // namespace

SpareBlocks& SpareBlocks::all() {
  static SpareBlocks* const blocks = new SpareBlocks;
  return *blocks;
}

void* SpareBlocks::take(uint64_t bytes) {
  uint64_t const wanted = whole_pages(bytes);
  {
    std::lock_guard<std::mutex> const lock(mutex_);
    auto const found = std::find_if(blocks_.begin(), blocks_.end(),
                                    [&](const Block& block) { return block.bytes == wanted; });
    if (found != blocks_.end()) {
      void* const pointer = found->pointer;
      bytes_ -= wanted;
      blocks_.erase(found);
      return pointer;
    }
  }
  void* const pointer = std::aligned_alloc(huge_page, wanted);
  if (pointer != nullptr) madvise(pointer, wanted, MADV_HUGEPAGE);
  return pointer;
}

void SpareBlocks::give_back(void* pointer, uint64_t bytes) {
  uint64_t const given = whole_pages(bytes);
  // A kernel that cannot take them back is no reason to keep them.
  if (given > most_bytes || madvise(pointer, given, MADV_FREE) != 0) {
    std::free(pointer);
    return;
  }
  std::lock_guard<std::mutex> const lock(mutex_);
  try {
    blocks_.push_back({pointer, given});
  } catch (const std::bad_alloc&) {
    std::free(pointer);
    return;
  }
  bytes_ += given;
  while (bytes_ > most_bytes) {
    std::free(blocks_.front().pointer);
    bytes_ -= blocks_.front().bytes;
    blocks_.pop_front();
  }
}

}  // namespace gpujoin_duckdb
