// filter_rows.hpp: the keys that both sides may have, as host and device both see them.
#pragma once

#include <cstdint>

namespace gpujoin::kernels {

// A bit for each key low, low + 2^shift, ..., `places` of them.
template <typename Key>
struct KeyBitsFilter {
  Key low;
  int32_t shift;
  uint64_t places;
  uint32_t* bits;  // [(places + 31) / 32]
};

}  // namespace gpujoin::kernels
