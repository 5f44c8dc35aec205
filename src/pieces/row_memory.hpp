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

  base::Buffer allocate(uint64_t bytes) const {
    return pool->allocate(kind, bytes, "gathered rows");
  }
};

}  // namespace gpujoin::pieces
