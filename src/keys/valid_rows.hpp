// valid_rows.hpp: the validity of key columns as kernels take it.
#pragma once

#include <span>

#include "kernels/keys/valid_rows.hpp"
#include "src/columns/device_column.hpp"

namespace gpujoin::keys {

// expected: kernels::kMostKeyColumns columns at most.
inline kernels::ValidRows valid_rows(std::span<const columns::DeviceColumn> keys) {
  kernels::ValidRows valid{};
  for (columns::DeviceColumn const& key : keys) {
    if (key.validity == nullptr) continue;
    valid.bits[valid.count] = key.validity;
    valid.offsets[valid.count] = key.validity_bit_offset;
    ++valid.count;
  }
  return valid;
}

}  // namespace gpujoin::keys
