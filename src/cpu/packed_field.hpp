// packed_field.hpp: one field of the packed rows that a batch of matches points to.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "src/cpu/row_layout.hpp"
#include "src/cpu/value_width.hpp"

namespace gpujoin::cpu {

// Rows of a partition of one side, as the entries of matches point to them.
struct PartitionRows {
  const RowLayout* layout = nullptr;
  const std::byte* rows = nullptr;
};

// The value at `offset` of the rows of rest[0], rest[1] ...: in place when the matches hold it as
// an array, or in `room`.
template <typename Key>
const std::byte* packed_field(const PartitionRows& side, const Key* rest, uint32_t rows,
                              uint32_t offset, uint32_t width, std::byte* room) {
  RowLayout const& layout = *side.layout;
  auto const copy_from = [&](const std::byte* base, const auto& at) {
    with_width(width, [&](auto value) {
      for (uint32_t i = 0; i < rows; ++i) {
        std::memcpy(room + i * sizeof(value), base + at(i), sizeof(value));
      }
    });
  };
  if (layout.row_is_entry()) {
    auto const* const base = reinterpret_cast<const std::byte*>(rest) + offset - sizeof(Key);
    if (width == sizeof(Key)) return base;
    copy_from(base, [](uint32_t i) { return uint64_t{i} * sizeof(Key); });
  } else {
    copy_from(side.rows + offset, [&](uint32_t i) { return uint64_t{rest[i]} * layout.row_bytes; });
  }
  return room;
}

// expected: the rows carry their numbers.
template <typename Key>
const uint32_t* packed_row_numbers(const PartitionRows& side, const Key* rest, uint32_t rows,
                                   uint32_t* room) {
  return reinterpret_cast<const uint32_t*>(
      packed_field(side, rest, rows, side.layout->row_number_offset, sizeof(uint32_t),
                   reinterpret_cast<std::byte*>(room)));
}

}  // namespace gpujoin::cpu
