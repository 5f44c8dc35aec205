// packed_row_bytes.hpp: which columns of a build row lie side by side in a table.
#pragma once

#include <cstdint>

#include "kernels/limits.hpp"

namespace gpujoin::base::traffic {

// How many values of each width lie side by side; of others none do.
struct PackedValues {
  uint64_t ones = 0;
  uint64_t twos = 0;
  uint64_t fours = 0;
  uint64_t eights = 0;
  uint64_t others = 0;

  constexpr void add(int32_t width) {
    ++(width == 1 ? ones : width == 2 ? twos : width == 4 ? fours : width == 8 ? eights : others);
  }
  constexpr bool has_narrow() const { return ones + twos != 0; }
};

// Bytes of a row of them, which begins with so many others, a multiple of 4: 4, 8 or 16, or 0 where
// they do not fit. Each is at a multiple of its width; narrower ones fill the gap before those of 8
// bytes.
constexpr uint64_t packed_row_bytes(uint64_t first_bytes, const PackedValues& values) {
  if (values.others != 0) return 0;
  const uint64_t narrow = 2 * values.twos + values.ones;
  const uint64_t gap = first_bytes % 8 != 0 && values.eights != 0 ? 4 : 0;
  const uint64_t in_gap = values.fours != 0 ? gap : narrow < gap ? narrow : gap;
  const uint64_t row = first_bytes + gap - in_gap + narrow + 4 * values.fours + 8 * values.eights;
  return row <= 4 ? 4 : row <= 8 ? 8 : row <= 16 ? 16 : 0;
}

// Whether columns of a build row lie side by side in a table, where they fit. Narrow ones of few
// rows, which a multiprocessor's own cache holds, stay apart. H200, rows by 7*10^6 others or more,
// apart and side by side: 2.6*10^4 rows of 1 + 1 bytes 0.41 and 0.44 ms, 2*10^5 of 1 + 1 0.86 and
// 0.62, 10^6 of 2 + 2 1.02 and 0.67, 4*10^6 of four of 1 byte 2.13 and 1.20.
constexpr bool packs_build_row(bool has_narrow, uint64_t build_rows) {
  return !has_narrow || build_rows > kernels::kSmallBuildRows;
}
// The bytes of such a row; 0: its columns stay apart.
constexpr uint64_t build_row_bytes(uint64_t first_bytes, const PackedValues& values,
                                   uint64_t build_rows) {
  return packs_build_row(values.has_narrow(), build_rows) ? packed_row_bytes(first_bytes, values)
                                                          : 0;
}

}  // namespace gpujoin::base::traffic
