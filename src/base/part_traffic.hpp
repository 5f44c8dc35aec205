// part_traffic.hpp: traffic.hpp, of parts of a direct table.
#pragma once

#include <cstdint>

#include "src/base/traffic.hpp"

namespace gpujoin::base::traffic {

// Keys are read for a count, and with so many bytes of columns to be moved; an address of 4 bytes
// is written with these.
constexpr Traffic move_to_parts(uint64_t rows, uint64_t key_width, uint64_t columns_width) {
  return {rows * (2 * key_width + columns_width + 4 + columns_width), 0};
}

// Moved rows of both sides are read, and output rows written.
constexpr Traffic match_parts(uint64_t build_rows, uint64_t build_row_bytes, uint64_t probe_rows,
                              uint64_t probe_row_bytes, uint64_t output_width, uint64_t pairs) {
  return {build_rows * build_row_bytes + probe_rows * probe_row_bytes + pairs * output_width, 0};
}

}  // namespace gpujoin::base::traffic
