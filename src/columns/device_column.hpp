// device_column.hpp: a column where the device can read it.
#pragma once

#include <cstdint>

#include "src/base/memory.hpp"

namespace gpujoin::columns {

// A column in device memory: the caller's own, or a copy that lives here.
struct DeviceColumn {
  const void* data = nullptr;         // [rows] values of `width` bytes
  const uint8_t* validity = nullptr;  // bits, or null: no NULLs
  int64_t validity_bit_offset = 0;
  int32_t width = 0;
  base::Buffer data_copy;
  base::Buffer validity_copy;
};

}  // namespace gpujoin::columns
