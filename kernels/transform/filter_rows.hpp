// filter_rows.hpp: the keys that both sides may have, as host and device both see them.
#pragma once

#include <cstdint>

#include "kernels/transform/key_steps.hpp"

namespace gpujoin::kernels {

// A bit for each of `places` steps.
template <typename Key>
struct KeyBitsFilter : KeySteps<Key> {
  uint64_t places;
  uint32_t* bits;  // [(places + 31) / 32]
};

}  // namespace gpujoin::kernels
