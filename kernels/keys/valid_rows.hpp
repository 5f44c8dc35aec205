// valid_rows.hpp: whether no key of a row is NULL, as host and device both see it
#pragma once

#include <cstdint>

#include "kernels/keys/column_hash.hpp"

namespace gpujoin::kernels {

// Of the key columns that have validity.
struct ValidRows {
  const uint8_t* bits[kMostKeyColumns];
  int64_t offsets[kMostKeyColumns];
  int32_t count;

#ifdef __CUDACC__
  __device__ bool operator()(uint32_t row) const {
    bool valid = true;
#pragma unroll
    for (int i = 0; i < kMostKeyColumns; ++i) {
      if (i >= count) break;
      int64_t const bit = offsets[i] + row;
      valid &= (bits[i][bit / 8] >> (bit % 8) & 1) != 0;
    }
    return valid;
  }
#endif
};

}  // namespace gpujoin::kernels
