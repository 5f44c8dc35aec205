// reference_join.hpp: what a join must answer, in as few lines as can be checked by eye.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "src/columns/result.hpp"
#include "tests/join/random_relation.hpp"

namespace gpujoin::tests {

// One output row: left row number, right row number, then the output columns' values.
using Row = std::vector<std::string>;

// The bytes of the row's key columns, which have fixed widths; empty when one of them is NULL.
inline std::string key_of(const HostRelation& relation, const std::vector<int32_t>& keys,
                          size_t row) {
  std::string key;
  for (int32_t const number : keys) {
    HostColumn const& column = relation.columns[static_cast<size_t>(number)];
    if (!column.is_valid(row)) return "";
    key += column.at(row);
  }
  return key;
}

inline std::vector<Row> reference_join(const HostRelation& left, const HostRelation& right,
                                       const columns::JoinSpec& spec) {
  std::vector<Row> rows;
  std::multimap<std::string, size_t> right_rows;
  for (size_t r = 0; r < right.rows; ++r) {
    std::string const key = key_of(right, spec.right_keys, r);
    if (!key.empty()) right_rows.emplace(key, r);
  }
  for (size_t l = 0; l < left.rows; ++l) {
    auto const [first, last] = right_rows.equal_range(key_of(left, spec.left_keys, l));
    for (auto match = first; match != last; ++match) {
      Row row;
      if (spec.pairs) row = {std::to_string(l), std::to_string(match->second)};
      for (int32_t c : spec.left_columns) row.push_back(left.columns[static_cast<size_t>(c)].at(l));
      for (int32_t c : spec.right_columns) {
        row.push_back(right.columns[static_cast<size_t>(c)].at(match->second));
      }
      rows.push_back(std::move(row));
    }
  }
  std::sort(rows.begin(), rows.end());
  return rows;
}

// Bytes of a result's column; zeros where it has none.
inline std::vector<unsigned char> host_bytes(base::Queue& queue, const columns::JoinResult& result,
                                             const columns::Storage& storage, size_t bytes) {
  std::vector<unsigned char> host(bytes);
  if (storage != nullptr) {
    base::copy(queue, host.data(), base::Memory::kHost, storage.get(), result.memory, bytes);
    base::finish(queue);
  }
  return host;
}

// The rows of a result, sorted as the reference's are.
inline std::vector<Row> rows_of(base::Queue& queue, const columns::JoinResult& result) {
  auto const rows = static_cast<size_t>(result.rows);
  auto const fetch = [&](const columns::Storage& storage, size_t bytes) {
    return host_bytes(queue, result, storage, bytes);
  };
  std::vector<Row> found(rows);
  if (result.has_pairs) {
    for (auto const* side : {&result.left_rows, &result.right_rows}) {
      std::vector<unsigned char> const numbers = fetch(*side, rows * 4);
      for (size_t row = 0; row < rows; ++row) {
        uint32_t number = 0;
        std::memcpy(&number, &numbers[row * 4], 4);
        found[row].push_back(std::to_string(number));
      }
    }
  }
  for (columns::ResultColumn const& column : result.columns) {
    auto const width = static_cast<size_t>(column.width);
    bool const has_bits = column.layout == columns::Layout::kBits;
    std::vector<unsigned char> const values =
        fetch(column.data, has_bits ? (rows + 7) / 8 : rows * width);
    auto const value_at = [&](size_t row) {
      if (has_bits) return std::string((values[row / 8] >> (row % 8) & 1) != 0 ? "true" : "false");
      auto const* const value = reinterpret_cast<const char*>(values.data()) + row * width;
      return std::string(value, width);
    };
    std::vector<unsigned char> bits;
    if (column.validity != nullptr) bits = fetch(column.validity, (rows + 7) / 8);
    int64_t nulls = 0;
    for (size_t row = 0; row < rows; ++row) {
      bool const valid = bits.empty() || (bits[row / 8] >> (row % 8) & 1) != 0;
      nulls += valid ? 0 : 1;
      found[row].push_back(valid ? value_at(row) : "NULL");
    }
    if (nulls != column.null_count) found.push_back({"null_count is wrong"});
  }
  std::sort(found.begin(), found.end());
  return found;
}

}  // namespace gpujoin::tests
