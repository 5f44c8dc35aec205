// row_memory.hpp: where gathered rows lie.
#pragma once

#include <cstdint>
#include <memory>

#include "src/base/memory.hpp"

namespace gpujoin::pieces {

// Host memory, or page-locked one, from which a device copies faster.
struct RowMemory {
  std::shared_ptr<base::Pool> pool;
  base::Memory kind = base::Memory::kHost;
  // Of a block: a buffer that a sixteenth of them has filled gets room for all. 0: it grows.
  int64_t whole_rows = 0;

  base::Buffer allocate(uint64_t bytes) const {
    return pool->allocate(kind, bytes, "gathered rows");
  }
};

}  // namespace gpujoin::pieces
