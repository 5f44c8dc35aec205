// device_column.hpp: a column where the device can read it.
#pragma once

#include <cstdint>
#include <memory>

#include "src/base/memory.hpp"

namespace gpujoin::columns {

// A column that kernels can read: the caller's own, or a copy that lives here.
struct DeviceColumn {
  const void* data = nullptr;         // [rows] values of `width` bytes
  const uint8_t* validity = nullptr;  // bits, or null: no NULLs
  int64_t validity_bit_offset = 0;
  int32_t width = 0;
  base::Buffer data_copy;
  base::Buffer validity_copy;
  // Of a column on its way: what transfer::Transport::await takes; 0: it is there.
  uint64_t arrival = 0;
  // Pages of the caller's, registered for as long as this is held.
  std::shared_ptr<const void> data_held;
  std::shared_ptr<const void> validity_held;
};

}  // namespace gpujoin::columns
