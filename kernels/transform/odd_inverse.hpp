// odd_inverse.hpp: by what a multiplication with an odd number is undone, as host and device both
// see it
#pragma once

#include <cstdint>

namespace gpujoin::kernels {

// The inverse of an odd number modulo 2^bits, by Newton's iteration: each step doubles the correct
// bits.
template <typename Key>
#ifdef __CUDACC__
__host__ __device__
#endif
    constexpr Key
    inverse_of(Key odd) {
  Key inverse = odd;
  for (int step = 0; step < 6; ++step) inverse *= static_cast<Key>(2 - odd * inverse);
  return inverse;
}

}  // namespace gpujoin::kernels
