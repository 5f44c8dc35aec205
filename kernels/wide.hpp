// wide.hpp: a value of 16 bytes, of which the caller promises alignment to 8 only.
#pragma once

#include <cstdint>

namespace gpujoin::kernels {

struct Wide {
  uint64_t low;
  uint64_t high;
};

}  // namespace gpujoin::kernels
