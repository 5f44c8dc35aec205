// value_type.hpp: from a column's width to the type that kernels move.
#pragma once

#include <cstdint>

#include "kernels/wide.hpp"

namespace gpujoin::transform {

// Calls a function of a value of the type: 1, 2, 4, 8 or 16 bytes.
template <typename Function>
auto with_value_type(int32_t width, Function function) {
  switch (width) {
    case 1:
      return function(uint8_t{});
    case 2:
      return function(uint16_t{});
    case 4:
      return function(uint32_t{});
    case 8:
      return function(uint64_t{});
    default:
      return function(kernels::Wide{});
  }
}

}  // namespace gpujoin::transform
