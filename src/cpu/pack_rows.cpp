#include "src/cpu/pack_rows.hpp"

#include <algorithm>
#include <array>
#include <cstring>

#include "src/cpu/key_hash.hpp"
#include "src/cpu/valid_rows.hpp"
#include "src/cpu/value_width.hpp"

namespace gpujoin::cpu {

namespace {

// The rows to take: all from first on, or those listed.
struct Selection {
  uint64_t first;
  const uint32_t* offsets;  // from first; nullptr = 0, 1, 2 ...
  uint32_t rows;
};

template <typename Value, uint32_t kRowBytes>
void spread(const void* column, Selection selection, std::byte* target, uint32_t row_bytes) {
  auto const* values = static_cast<const std::byte*>(column) + selection.first * sizeof(Value);
  uint32_t const stride = kRowBytes != 0 ? kRowBytes : row_bytes;
  for (uint32_t i = 0; i < selection.rows; ++i) {
    uint64_t const row = selection.offsets != nullptr ? selection.offsets[i] : i;
    std::memcpy(target + uint64_t{i} * stride, values + row * sizeof(Value), sizeof(Value));
  }
}

// One column into its place in each row.
void spread_column(const columns::ColumnView& column, Selection selection, std::byte* target,
                   uint32_t row_bytes) {
  with_width(column.width, [&](auto value) {
    using Value = decltype(value);
    if (row_bytes == 8) {
      if constexpr (sizeof(Value) <= 8) spread<Value, 8>(column.data, selection, target, row_bytes);
    } else if (row_bytes == 16) {
      spread<Value, 16>(column.data, selection, target, row_bytes);
    } else {
      spread<Value, 0>(column.data, selection, target, row_bytes);
    }
  });
}

void write_null_bits(const RowLayout& layout, Selection selection, std::byte* target) {
  std::byte* bits = target + layout.null_bits_offset;
  for (CarriedColumn const& each : layout.carried) {
    if (each.null_bit < 0) continue;
    std::byte* byte = bits + each.null_bit / 8;
    int32_t const shift = each.null_bit % 8;
    // The first column of a byte says what the others are beside.
    std::byte const kept{static_cast<unsigned char>(shift == 0 ? 0 : 0xff)};
    for (uint32_t i = 0; i < selection.rows; ++i) {
      uint64_t const row = selection.offsets != nullptr ? selection.offsets[i] : i;
      auto const valid = static_cast<unsigned>(is_valid(*each.column, selection.first + row));
      std::byte& of_row = byte[uint64_t{i} * layout.row_bytes];
      of_row = (of_row & kept) | static_cast<std::byte>(valid << shift);
    }
  }
}

template <typename Key>
void hash_rows(const RowLayout& layout, Selection selection, uint32_t* hashes) {
  Key const* keys = static_cast<const Key*>(layout.key->data) + selection.first;
  if (selection.offsets == nullptr) {
    for (uint32_t i = 0; i < selection.rows; ++i) hashes[i] = hash_of(keys[i]);
  } else {
    for (uint32_t i = 0; i < selection.rows; ++i) hashes[i] = hash_of(keys[selection.offsets[i]]);
  }
}

}  // namespace

uint32_t pack_rows(const RowLayout& layout, uint64_t first, uint32_t count, std::byte* target,
                   uint32_t* hashes) {
  Selection selection{first, nullptr, count};
  std::array<uint32_t, kMorselRows> offsets;
  if (layout.moved_key().validity != nullptr) {
    uint32_t valid = 0;
    each_valid_row(layout.moved_key(), first, first + count, [&](uint64_t row, bool stays) {
      offsets[valid] = static_cast<uint32_t>(row - first);
      valid += stays ? 1 : 0;
    });
    selection = {first, offsets.data(), valid};
  }
  if (hashes != nullptr) {
    auto const hash = layout.key_bytes == 4 ? hash_rows<uint32_t> : hash_rows<uint64_t>;
    hash(layout, selection, hashes);
  }
  if (layout.key_bytes != 0) spread_column(*layout.key, selection, target, layout.row_bytes);
  if (layout.has_row_number) {
    std::byte* numbers = target + layout.row_number_offset;
    for (uint32_t i = 0; i < selection.rows; ++i) {
      uint64_t const row = selection.offsets != nullptr ? selection.offsets[i] : i;
      auto const number = static_cast<uint32_t>(first + row);
      std::memcpy(numbers + uint64_t{i} * layout.row_bytes, &number, sizeof(number));
    }
  }
  for (CarriedColumn const& each : layout.carried) {
    spread_column(*each.column, selection, target + each.offset, layout.row_bytes);
  }
  if (layout.null_bits_bytes != 0) write_null_bits(layout, selection, target);
  return selection.rows;
}

uint32_t pack_range(const RowLayout& layout, uint64_t first, uint64_t end, std::byte* target) {
  uint32_t packed = 0;
  for (uint64_t row = first; row < end; row += kMorselRows) {
    auto const count = static_cast<uint32_t>(std::min<uint64_t>(end - row, kMorselRows));
    packed += pack_rows(layout, row, count, target + uint64_t{packed} * layout.row_bytes, nullptr);
  }
  return packed;
}

namespace {

template <typename Key>
void count_keys(const columns::ColumnView& column, uint64_t first, uint64_t last,
                uint32_t radix_bits, uint32_t* counts) {
  Key const* keys = static_cast<const Key*>(column.data);
  if (column.validity == nullptr) {
    for (uint64_t row = first; row < last; ++row) {
      ++counts[partition_of(hash_of(keys[row]), radix_bits)];
    }
  } else {
    each_valid_row(column, first, last, [&](uint64_t row, bool stays) {
      counts[partition_of(hash_of(keys[row]), radix_bits)] += stays ? 1 : 0;
    });
  }
}

}  // namespace

void count_partitions(const columns::ColumnView& key, uint64_t first, uint64_t last,
                      uint32_t radix_bits, uint32_t* counts) {
  if (key.width == 4) {
    count_keys<uint32_t>(key, first, last, radix_bits, counts);
  } else {
    count_keys<uint64_t>(key, first, last, radix_bits, counts);
  }
}

}  // namespace gpujoin::cpu
