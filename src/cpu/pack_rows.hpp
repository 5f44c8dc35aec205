// pack_rows.hpp: columns to rows, a morsel at a time, in the first cache.
#pragma once

#include <cstddef>
#include <cstdint>

#include "src/columns/column.hpp"
#include "src/cpu/row_layout.hpp"

namespace gpujoin::cpu {

// Rows of a morsel: its packed rows, 8 KiB at 32 bytes, stay in L1 until they are written.
inline constexpr uint32_t kMorselRows = 256;

inline bool is_valid(const columns::ColumnView& column, uint64_t row) {
  if (column.validity == nullptr) return true;
  uint64_t const bit = static_cast<uint64_t>(column.validity_bit_offset) + row;
  return (column.validity[bit / 8] >> (bit % 8) & 1) != 0;
}

// The packed rows of input rows first .. first + count - 1, without those whose key is NULL.
// target: count * row_bytes bytes. hashes: count, or null. Answers how many rows there are.
// expected: count <= kMorselRows.
uint32_t pack_rows(const RowLayout& layout, uint64_t first, uint32_t count, std::byte* target,
                   uint32_t* hashes);

// The same of rows [first, end), any number.
uint32_t pack_range(const RowLayout& layout, uint64_t first, uint64_t end, std::byte* target);

// counts[partition] += rows of that partition, NULL keys left out.
void count_partitions(const columns::ColumnView& key, uint64_t first, uint64_t last,
                      uint32_t radix_bits, uint32_t* counts);

}  // namespace gpujoin::cpu
