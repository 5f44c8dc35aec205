// coded_rows.hpp: rows of key columns, and their codes as the kernels make them.
#pragma once

#include <cstdint>
#include <random>
#include <vector>

#include "src/columns/device_column.hpp"
#include "src/keys/encoding.hpp"

namespace gpujoin::tests {

using keys::ColumnRange;
using keys::KeyEncoding;
using Widths = std::vector<int32_t>;
using Row = std::vector<uint64_t>;

inline uint64_t low_bits(int32_t bits) { return bits == 0 ? 0 : ~uint64_t{0} >> (64 - bits); }

inline uint64_t turned(uint64_t value, int32_t width) {
  return value ^ uint64_t { 1 } << (8 * width - 1);
}

inline std::vector<ColumnRange> ranges_of(const std::vector<Row>& rows, const Widths& widths) {
  std::vector<ColumnRange> ranges(widths.size());
  for (Row const& row : rows) {
    for (size_t c = 0; c < widths.size(); ++c) {
      uint64_t const value = turned(row[c], widths[c]);
      ranges[c] = keys::united(ranges[c], {value, value});
    }
  }
  return ranges;
}

// As the kernels make it and take it apart.
struct Codes {
  KeyEncoding encoding;
  kernels::EncodedColumns encoded;

  Codes(const KeyEncoding& from, const Widths& widths) : encoding(from) {
    std::vector<columns::DeviceColumn> columns(widths.size());
    for (size_t c = 0; c < widths.size(); ++c) columns[c].width = widths[c];
    encoded = keys::encoded_columns(from, columns);
  }
  template <typename Code>
  Code code_of(const Row& row, bool* is_outside) const {
    Code code = 0;
    for (int c = 0; c < encoded.count; ++c) {
      kernels::EncodedColumn const& column = encoded.columns[c];
      uint64_t const value = row[static_cast<size_t>(c)];
      code |= column.width == 4 ? column.part_of<Code>(static_cast<uint32_t>(value), is_outside)
                                : column.part_of<Code>(value, is_outside);
    }
    return code;
  }
  template <typename Code>
  Row row_of(Code code) const {
    Row row;
    for (int c = 0; c < encoded.count; ++c) {
      kernels::EncodedColumn const& column = encoded.columns[c];
      row.push_back(column.width == 4 ? column.value_in<uint32_t>(code)
                                      : column.value_in<uint64_t>(code));
    }
    return row;
  }
  uint64_t of(const Row& row, bool* is_outside) const {
    if (encoding.width == 4) return code_of<uint32_t>(row, is_outside);
    return code_of<uint64_t>(row, is_outside);
  }
  Row back(uint64_t code) const {
    if (encoding.width == 4) return row_of(static_cast<uint32_t>(code));
    return row_of(code);
  }
};

inline constexpr uint64_t kMinusOne = ~uint64_t{0};

inline Row random_row(const Widths& widths, const std::vector<int32_t>& bits, const Row& base,
                      std::mt19937_64& random) {
  Row row;
  for (size_t c = 0; c < widths.size(); ++c) {
    uint64_t const value = base[c] + (random() & low_bits(bits[c]));
    row.push_back(widths[c] == 4 ? value & 0xffffffff : value);
  }
  return row;
}

}  // namespace gpujoin::tests
