// gathered.hpp: output columns by row number, of values that have any number of bytes, or a bit:
// what they are made of, and what comes out.
#pragma once

#include <cstdint>

#include "kernels/bytes_column.hpp"
#include "src/columns/result.hpp"

namespace gpujoin::columns {

// So many bytes of values are counted by offsets of 4 bytes; more by offsets of 8.
inline constexpr uint64_t kMostNarrowBytes = INT32_MAX;

struct GatherSource {
  kernels::BytesColumn values;
  kernels::ValidityBits validity;
  uint64_t most_narrow_bytes = kMostNarrowBytes;  // lower in tests, which would be gigabytes
};

struct BitsSource {
  const uint8_t* bits = nullptr;
  int64_t offset = 0;  // of row 0's bit
  kernels::ValidityBits validity;
};

// Rows without a value, those of GPUJOIN_NO_ROW among them, are NULL. They have no bytes; where all
// values have as many, zeros; of bits a 0.
struct Gathered {
  Storage data;              // null: no bytes
  Storage offsets;           // [rows + 1] from 0 on, of values that have a length each; else null
  int32_t offset_width = 0;  // 4 or 8
  uint64_t bytes = 0;        // of data
  // Bits from bit 0 on, those after the last row 0, in words of 4 bytes (CPU: 8); null: no NULLs.
  Storage validity;
  int64_t null_count = 0;
};

}  // namespace gpujoin::columns
