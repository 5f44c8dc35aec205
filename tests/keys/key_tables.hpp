// key_tables.hpp: key columns on the host and on the device, for the tests of encodings.
#pragma once

#include <algorithm>
#include <optional>

#include "src/columns/device_column.hpp"
#include "src/keys/encoding.hpp"
#include "tests/gpu_fixture.hpp"

namespace gpujoin::tests {

struct KeyTable {
  std::vector<HostColumn> hosts;
  std::vector<columns::DeviceColumn> keys;
  size_t rows = 0;

  // offsets: of each column, so many values beyond an aligned address.
  void place_all(base::Queue& queue, size_t values_beyond = 0) {
    for (HostColumn const& host : hosts) {
      keys.push_back(place(queue, host, values_beyond * static_cast<size_t>(host.width)));
    }
  }
  uint64_t value(size_t column, size_t row) const {
    HostColumn const& host = hosts[column];
    uint64_t value = 0;
    std::memcpy(&value, &host.data[row * static_cast<size_t>(host.width)],
                static_cast<size_t>(host.width));
    return value;
  }
  bool is_valid(size_t row) const {
    return std::all_of(hosts.begin(), hosts.end(),
                       [row](HostColumn const& host) { return host.is_valid(row); });
  }
  std::vector<uint32_t> valid_rows() const {
    std::vector<uint32_t> found;
    for (size_t row = 0; row < rows; ++row) {
      if (is_valid(row)) found.push_back(static_cast<uint32_t>(row));
    }
    return found;
  }
  std::vector<int32_t> widths() const {
    std::vector<int32_t> found;
    for (HostColumn const& host : hosts) found.push_back(host.width);
    return found;
  }
  // By hand, for whom the kernels answer to.
  std::vector<keys::ColumnRange> ranges(const std::vector<uint32_t>& of_rows) const {
    std::vector<keys::ColumnRange> found(hosts.size());
    for (size_t c = 0; c < hosts.size(); ++c) {
      uint64_t const sign = uint64_t{1} << (8 * hosts[c].width - 1);
      for (uint32_t const row : of_rows) {
        uint64_t const turned = value(c, row) ^ sign;
        found[c].low = std::min(found[c].low, turned);
        found[c].high = std::max(found[c].high, turned);
      }
    }
    return found;
  }
};

// Columns of values base - 2^(bits - 1) to base + 2^(bits - 1), and where nulls is not 0 so many of
// each are NULL, with any value of their type.
inline KeyTable key_table(size_t rows, const std::vector<int32_t>& widths, int32_t bits,
                          uint64_t seed, double nulls = 0) {
  KeyTable table;
  table.rows = rows;
  for (size_t c = 0; c < widths.size(); ++c) {
    std::mt19937_64 random(seed * 100 + c);
    std::vector<uint64_t> values(rows);
    for (uint64_t& value : values) {
      value = 1000 * c + (random() & ((uint64_t{1} << bits) - 1)) - (uint64_t{1} << (bits - 1));
    }
    std::vector<unsigned char> const valid = random_valid(rows, nulls, seed + c);
    for (size_t row = 0; row < rows; ++row) {
      if (valid[row] == 0) values[row] = random();
    }
    table.hosts.push_back(key_column(values, widths[c]));
    if (nulls > 0) set_valid(&table.hosts.back(), valid, static_cast<int64_t>(3 * c + 1));
  }
  return table;
}

// The code that a row must have, as encoding_test.cpp holds it against keys, or its hash.
inline uint64_t code_of(const kernels::EncodedColumns& encoded, const KeyTable& table, size_t row,
                        bool* is_outside) {
  uint64_t code = 0;
  kernels::HashSum sum = encoded.hash.start;
  for (int c = 0; c < encoded.count; ++c) {
    uint64_t const value = table.value(static_cast<size_t>(c), row);
    kernels::EncodedColumn const& column = encoded.columns[c];
    encoded.hash.add(&sum, c, value);
    code |= column.width == 4 ? column.part_of<uint64_t>(static_cast<uint32_t>(value), is_outside)
                              : column.part_of<uint64_t>(value, is_outside);
  }
  if (encoded.hashed) return encoded.hash.of(sum) | encoded.hash.ones;
  return encoded.code_width == 4 ? code & 0xffffffff : code;
}

inline std::vector<uint64_t> codes_of(const keys::KeyEncoding& encoding, const KeyTable& table,
                                      const std::vector<uint32_t>& rows, bool* is_outside) {
  kernels::EncodedColumns const encoded = keys::encoded_columns(encoding, table.keys);
  std::vector<uint64_t> codes;
  for (uint32_t const row : rows) codes.push_back(code_of(encoded, table, row, is_outside));
  return codes;
}

inline std::vector<uint64_t> download_codes(base::Queue& queue, const void* codes, int32_t width,
                                            size_t rows) {
  if (width == 8) return download<uint64_t>(queue, codes, rows);
  std::vector<uint32_t> const narrow = download<uint32_t>(queue, codes, rows);
  return {narrow.begin(), narrow.end()};
}

}  // namespace gpujoin::tests
