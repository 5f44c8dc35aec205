// copy_rows.hpp: a batch on the device becomes rows of our own, whose keys are then known.
#pragma once

#include <cstdint>
#include <span>

#include "src/base/queue.hpp"
#include "src/transform/key_range.hpp"

namespace gpujoin::transform {

// Device memory without NULLs. target: aligned as buffers are.
struct CopiedColumn {
  const void* source = nullptr;  // [rows]
  void* target = nullptr;        // [rows]
  int32_t width = 0;
};

// Whether copy_rows takes so many columns and such keys.
bool can_copy_rows(uint64_t columns, int32_t key_width);

// keys: which of the columns. Waits for the copies. expected: rows, and can_copy_rows.
SeenKeys copy_rows(base::Queue& queue, std::span<const CopiedColumn> columns, size_t keys,
                   uint32_t rows);

}  // namespace gpujoin::transform
