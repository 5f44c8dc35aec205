// positions.hpp: which value of a dictionary, or of a column of runs, a row has, as host and device
// both see it
//
// Source   Apache Arrow's columnar format, "Dictionary-encoded Layout" and "Run-End Encoded Layout"
// In       indices or run ends as they lie
// Out      4 bytes a row, kNoPosition where there is no value: a NULL index, or one that lies
//          outside of the dictionary
#pragma once

#include <cstdint>

#include "kernels/bytes_column.hpp"

#ifdef __CUDACC__
#define GPUJOIN_POSITION __host__ __device__ inline
#else
#define GPUJOIN_POSITION inline
#endif

namespace gpujoin::kernels {

constexpr uint32_t kNoPosition = 0xffffffffU;

struct Indices {
  const void* values = nullptr;
  int32_t width = 0;  // 1, 2, 4, 8
  bool is_signed = true;
  ValidityBits validity;
  uint64_t value_rows = 0;
};

// Read without a sign, a negative index of `width` bytes lies outside as any other that does.
GPUJOIN_POSITION uint32_t position_of(const Indices& indices, uint64_t row) {
  if (!is_valid(indices.validity, row)) return kNoPosition;
  uint64_t index = 0;
  switch (indices.width) {
    case 1: {
      auto const value = static_cast<const uint8_t*>(indices.values)[row];
      index = indices.is_signed && value > 0x7f ? ~uint64_t{0} : value;
      break;
    }
    case 2: {
      auto const value = static_cast<const uint16_t*>(indices.values)[row];
      index = indices.is_signed && value > 0x7fff ? ~uint64_t{0} : value;
      break;
    }
    case 4: {
      auto const value = static_cast<const uint32_t*>(indices.values)[row];
      index = indices.is_signed && value > 0x7fffffff ? ~uint64_t{0} : value;
      break;
    }
    default:
      index = static_cast<const uint64_t*>(indices.values)[row];
  }
  return index < indices.value_rows && index < kNoPosition ? static_cast<uint32_t>(index)
                                                           : kNoPosition;
}

struct Runs {
  const void* ends = nullptr;
  int32_t width = 0;      // 2, 4, 8
  int64_t first_row = 0;  // of the column, among those that ends count
  uint64_t run_count = 0;
};

GPUJOIN_POSITION int64_t end_of(const Runs& runs, uint64_t run) {
  if (runs.width == 2) return static_cast<const int16_t*>(runs.ends)[run];
  if (runs.width == 4) return static_cast<const int32_t*>(runs.ends)[run];
  return static_cast<const int64_t*>(runs.ends)[run];
}

// The first run that ends behind the row, by bisection.
GPUJOIN_POSITION uint32_t position_of(const Runs& runs, uint64_t row) {
  int64_t const logical = runs.first_row + static_cast<int64_t>(row);
  uint64_t low = 0;
  uint64_t high = runs.run_count;
  while (low < high) {
    uint64_t const middle = low + (high - low) / 2;
    if (end_of(runs, middle) > logical) {
      high = middle;
    } else {
      low = middle + 1;
    }
  }
  return low < runs.run_count ? static_cast<uint32_t>(low) : kNoPosition;
}

// The position that a row of a column has which names the row of another one.
struct Composed {
  const uint32_t* rows = nullptr;  // kNoPosition: none
  const uint32_t* positions = nullptr;
};
GPUJOIN_POSITION uint32_t position_of(const Composed& composed, uint64_t row) {
  uint32_t const through = composed.rows[row];
  return through == kNoPosition ? kNoPosition : composed.positions[through];
}

}  // namespace gpujoin::kernels

#undef GPUJOIN_POSITION
