// packed_row_bytes.hpp: which columns of a build row lie side by side in a table.
#pragma once

#include <cstdint>

#include "kernels/limits.hpp"

namespace gpujoin::base::traffic {

// How many values of each width lie side by side.
struct PackedValues {
  uint64_t ones = 0;
  uint64_t twos = 0;
  uint64_t fours = 0;
  uint64_t eights = 0;
  constexpr uint64_t count() const { return ones + twos + fours + eights; }
};

// Bytes of a row of them, which begins with so many others, a multiple of 4: 4, 8 or 16, or 0 where
// they do not fit. Each is at a multiple of its width; narrower ones fill the gap before those of 8
// bytes.
constexpr uint64_t packed_row_bytes(uint64_t first_bytes, const PackedValues& values) {
  const uint64_t narrow = 2 * values.twos + values.ones;
  const uint64_t gap = first_bytes % 8 != 0 && values.eights != 0 ? 4 : 0;
  const uint64_t in_gap = values.fours != 0 ? gap : narrow < gap ? narrow : gap;
  const uint64_t row = first_bytes + gap - in_gap + narrow + 4 * values.fours + 8 * values.eights;
  return row <= 4 ? 4 : row <= 8 ? 8 : row <= 16 ? 16 : 0;
}

// Whether columns of a build row lie side by side in a table, where they fit. Narrow ones of few
// rows, which a multiprocessor's own cache holds, stay apart. H200, rows by 10^7 others or more,
// apart and side by side: 2.6*10^4 rows of 1 + 1 bytes 0.41 and 0.44 ms, 2*10^5 of 1 + 1 0.86 and
// 0.62, 10^6 of 2 + 2 1.02 and 0.67, 4*10^6 of four of 1 byte 2.13 and 1.20.
constexpr bool packs_build_row(bool has_narrow, uint64_t build_rows) {
  return !has_narrow || build_rows > kernels::kSmallBuildRows;
}

}  // namespace gpujoin::base::traffic
