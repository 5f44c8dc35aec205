// launch.hpp: grid sizes that cannot overflow, and the check after a launch.
#pragma once

#include <cstdint>

#include "src/base/device.hpp"
#include "src/base/status.hpp"

namespace gpujoin::base {

// Blocks of `tile` rows each. A grid's first dimension holds 2^31 - 1.
inline unsigned grid_of(uint64_t rows, uint64_t tile) {
  uint64_t const blocks = (rows + tile - 1) / tile;
  if (blocks > 0x7fffffffU) {
    fail(GPUJOIN_ERROR_TOO_MANY_ROWS, "%llu rows need more blocks than a grid has",
         static_cast<unsigned long long>(rows));
  }
  return static_cast<unsigned>(blocks);
}

// Calls a function of its argument's key type: uint32_t or uint64_t for key_width 4 or 8.
template <typename Function>
auto with_key_type(int32_t key_width, Function function) {
  if (key_width == 4) return function(uint32_t{});
  if (key_width == 8) return function(uint64_t{});
  fail(GPUJOIN_ERROR_INTERNAL, "key width %d", key_width);
}

}  // namespace gpujoin::base
