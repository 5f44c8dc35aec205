// host_views.hpp: host columns as the library sees them, and what of them the device sees.
#pragma once

#include <vector>

#include "src/columns/column.hpp"
#include "src/columns/device_column.hpp"
#include "tests/gpu_fixture.hpp"

namespace gpujoin::tests {

inline columns::ColumnView view_of(const HostColumn& column, base::Memory memory) {
  columns::ColumnView view;
  view.type = column.type;
  view.width = column.width;
  view.data = column.data.data();
  if (!column.bits.empty()) {
    view.validity = column.bits.data();
    view.validity_bit_offset = column.bit_offset;
  }
  view.memory = memory;
  view.name = "price";
  return view;
}

// What the device reads as validity, one byte a row.
inline std::vector<unsigned char> valid_rows(base::Queue& queue,
                                             const columns::DeviceColumn& column, size_t rows) {
  size_t const offset = static_cast<size_t>(column.validity_bit_offset);
  std::vector<uint8_t> const bits =
      download<uint8_t>(queue, column.validity, (offset + rows + 7) / 8);
  std::vector<unsigned char> valid(rows);
  for (size_t row = 0; row < rows; ++row) {
    valid[row] = bits[(offset + row) / 8] >> ((offset + row) % 8) & 1;
  }
  return valid;
}

}  // namespace gpujoin::tests
