// key_steps.hpp: keys low, low + 2^shift, low + 2 * 2^shift, ... by their places, as host and
// device both see them
#pragma once

#include <cstdint>

namespace gpujoin::kernels {

template <typename KeyType>
struct KeySteps {
  using Key = KeyType;
  Key low = 0;
  int32_t shift = 0;

#ifdef __CUDACC__
  // Of a key between two steps a place beyond those of all that a table or a filter has room for.
  __device__ Key place_of(Key key) const {
    Key place = key - low;
    // What is below the shift must be zero: rotated to the top it makes a place that none has.
    constexpr int kBits = 8 * sizeof(Key);
    if (shift != 0) place = place >> shift | place << (kBits - shift);
    return place;
  }
#endif
};

}  // namespace gpujoin::kernels
