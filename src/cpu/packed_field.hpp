// packed_field.hpp: one field of the packed rows that a batch of matches points to.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "src/base/prefetch.hpp"
#include "src/cpu/row_layout.hpp"
#include "src/cpu/value_width.hpp"

namespace gpujoin::cpu {

// Rows of a partition of one side, as the entries of matches point to them.
struct PartitionRows {
  const RowLayout* layout = nullptr;
  const std::byte* rows = nullptr;
  bool are_far = false;  // in no cache: they are asked for before it is their turn
};

// What the loop needs is in its arguments: behind references each value would load it again, since
// it may be what the last one was stored to.
template <typename Value, typename Key>
void copy_fields(const std::byte* base, uint64_t row_bytes, const Key* rest, uint32_t rows,
                 std::byte* room) {
  for (uint32_t i = 0; i < rows; ++i) {
    std::memcpy(room + i * sizeof(Value), base + uint64_t{rest[i]} * row_bytes, sizeof(Value));
  }
}

// Whether rows seem to be near each other, by two of them: a cache has them, or hardware asks for
// them by itself.
template <typename Key>
bool are_near(const Key* numbers, uint32_t rows) {
  constexpr Key kNearRows = Key{1} << 16;
  auto const [low, high] = std::minmax(numbers[0], numbers[rows - 1]);
  return high - low <= kNearRows;
}

// The same of rows that are far.
template <typename Value, typename Key>
void copy_far_fields(const std::byte* fields, uint64_t row_bytes, const Key* rest, uint32_t rows,
                     std::byte* room) {
  for (uint32_t first = 0, end; first < rows; first = end) {
    end = std::min(first + base::kRowsAhead, rows);
    uint32_t const next_end = std::min(end + base::kRowsAhead, rows);
    if (end != next_end && !are_near(rest + end, next_end - end)) {
      for (uint32_t i = end; i < next_end; ++i)
        base::ask_for(fields + uint64_t{rest[i]} * row_bytes);
    }
    copy_fields<Value>(fields, row_bytes, rest + first, end - first, room + first * sizeof(Value));
  }
}

// The value at `offset` of the rows of rest[0], rest[1] ...: in place when the matches hold it as
// an array, or in `room`.
template <typename Key>
const std::byte* packed_field(const PartitionRows& side, const Key* rest, uint32_t rows,
                              uint32_t offset, uint32_t width, std::byte* room) {
  RowLayout const& layout = *side.layout;
  if (layout.row_is_entry()) {
    auto const* const base = reinterpret_cast<const std::byte*>(rest) + offset - sizeof(Key);
    if (width == sizeof(Key)) return base;
    with_width(width, [&](auto value) {
      for (uint32_t i = 0; i < rows; ++i) {
        std::memcpy(room + i * sizeof(value), base + uint64_t{i} * sizeof(Key), sizeof(value));
      }
    });
  } else {
    with_width(width, [&](auto value) {
      using Value = decltype(value);
      if (side.are_far) {
        copy_far_fields<Value>(side.rows + offset, layout.row_bytes, rest, rows, room);
      } else {
        copy_fields<Value>(side.rows + offset, layout.row_bytes, rest, rows, room);
      }
    });
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
