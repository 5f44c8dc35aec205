// value_width.hpp: from a column's width to a type of that width.
#pragma once

#include <cstdint>

namespace gpujoin::cpu {

struct Bytes16 {
  uint64_t low, high;
};

// Calls what(value of the unsigned type of that width).
template <typename What>
void with_width(int32_t width, const What& what) {
  switch (width) {
    case 1:
      return what(uint8_t{});
    case 2:
      return what(uint16_t{});
    case 4:
      return what(uint32_t{});
    case 8:
      return what(uint64_t{});
    default:
      return what(Bytes16{});
  }
}

// The same of keys, which have 4 or 8 bytes.
template <typename What>
void with_key_width(int32_t width, const What& what) {
  if (width == 4) {
    what(uint32_t{});
  } else {
    what(uint64_t{});
  }
}

}  // namespace gpujoin::cpu
