// row_fingerprint.hpp: a sum over rows that does not depend on their order, for tests that compare
// so many results that sorting them all would take most of the time. Two sets of rows with one sum
// differ with a chance of 2^-64.
#pragma once

#include <tbb/blocked_range.h>
#include <tbb/parallel_reduce.h>

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "tests/join/reference_join.hpp"

namespace gpujoin::tests {

struct RowFingerprint {
  uint64_t rows = 0;
  uint64_t sum = 0;
  bool operator==(const RowFingerprint&) const = default;
};

// Cells one after the other; the row's last step spreads it over all bits, so that sums do not
// cancel.
inline uint64_t add_cell(uint64_t row, std::string_view cell) {
  return (row ^ std::hash<std::string_view>()(cell)) * 0x9e3779b97f4a7c15 + 1;
}
inline uint64_t end_row(uint64_t row) {
  row = (row ^ (row >> 30)) * 0xbf58476d1ce4e5b9;
  row = (row ^ (row >> 27)) * 0x94d049bb133111eb;
  return row ^ (row >> 31);
}

inline RowFingerprint fingerprint_of(const std::vector<Row>& rows) {
  RowFingerprint found{rows.size(), 0};
  for (Row const& row : rows) {
    uint64_t value = 0;
    for (std::string const& cell : row) value = add_cell(value, cell);
    found.sum += end_row(value);
  }
  return found;
}

inline RowFingerprint fingerprint_of(base::Queue& queue, const columns::JoinResult& result) {
  struct Column {
    std::vector<unsigned char> values;
    std::vector<unsigned char> bits;
    size_t width = 0;
    bool is_row_number = false;
    bool is_valid(size_t row) const {
      return bits.empty() || (bits[row / 8] >> (row % 8) & 1) != 0;
    }
    uint64_t add_to(uint64_t value, size_t row) const {
      if (!is_valid(row)) return add_cell(value, "NULL");
      if (!is_row_number) {
        return add_cell(value, {reinterpret_cast<const char*>(&values[row * width]), width});
      }
      uint32_t number = 0;
      std::memcpy(&number, &values[row * width], sizeof(number));
      return add_cell(value, std::to_string(number));
    }
  };
  auto const rows = static_cast<size_t>(result.rows);
  auto const fetch = [&](const columns::Storage& storage, size_t bytes) {
    return host_bytes(queue, result, storage, bytes);
  };
  std::vector<Column> columns;
  if (result.has_pairs) {
    columns.push_back({fetch(result.left_rows, rows * 4), {}, 4, true});
    columns.push_back({fetch(result.right_rows, rows * 4), {}, 4, true});
  }
  for (columns::ResultColumn const& column : result.columns) {
    auto const width = static_cast<size_t>(column.width);
    Column fetched{fetch(column.data, rows * width), {}, width, false};
    if (column.validity != nullptr) fetched.bits = fetch(column.validity, (rows + 7) / 8);
    columns.push_back(std::move(fetched));
  }
  RowFingerprint found{rows, 0};
  size_t column_number = result.has_pairs ? 2 : 0;
  for (columns::ResultColumn const& column : result.columns) {
    Column const& fetched = columns[column_number++];
    int64_t nulls = 0;
    for (size_t row = 0; row < rows && !fetched.bits.empty(); ++row)
      nulls += !fetched.is_valid(row);
    if (nulls != column.null_count) found.rows = ~uint64_t{0};
  }
  constexpr size_t kGrain = 2048;
  found.sum = tbb::parallel_reduce(
      tbb::blocked_range<size_t>(0, rows, kGrain), uint64_t{0},
      [&](const tbb::blocked_range<size_t>& range, uint64_t sum) {
        for (size_t row = range.begin(); row != range.end(); ++row) {
          uint64_t value = 0;
          for (Column const& column : columns) value = column.add_to(value, row);
          sum += end_row(value);
        }
        return sum;
      },
      std::plus<>());
  return found;
}

}  // namespace gpujoin::tests
