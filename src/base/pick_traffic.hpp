// pick_traffic.hpp: traffic.hpp, of rows that a selection picks.
#pragma once

#include <algorithm>
#include <cstdint>

#include "src/base/traffic.hpp"

namespace gpujoin::base::traffic {

// A bitmap is read for counts and for rows.
constexpr Traffic pick_by_bits(uint64_t rows) { return {2 * ((rows + 7) / 8), 0}; }

// Row numbers are read, and written in 4 bytes.
constexpr Traffic pick_by_numbers(uint64_t picked) { return {2 * kRowIdBytes * picked, 0}; }

// A column's values in picked rows, in order: no sector is read twice.
constexpr Traffic pick_column(uint64_t rows, uint64_t picked, uint64_t width) {
  return {picked * width + std::min(rows * width, picked * sector_bytes(width)), 0};
}

}  // namespace gpujoin::base::traffic
