// byte_values.hpp: columns of byte strings in each layout for the tests of their codes, and what
// those codes have to be.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <optional>
#include <random>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "src/keys/interned_side.hpp"

namespace gpujoin::tests {

using kernels::BytesLayout;
using Values = std::vector<std::optional<std::string>>;  // none: NULL

// In host memory. Of NULLs there is something in every buffer, and views of them point anywhere:
// nobody may read it.
struct ByteColumn {
  BytesLayout layout = BytesLayout::kOffsets32;
  int32_t width = 0;
  Values values;
  size_t rows_before = 0;      // of the array that this one is a slice of
  std::vector<uint8_t> bytes;  // of fixed width and offsets
  std::vector<int32_t> offsets32;
  std::vector<int64_t> offsets64;
  std::vector<uint8_t> views;
  std::vector<std::vector<uint8_t>> buffers;
  std::vector<const uint8_t*> buffer_pointers;
  std::vector<uint8_t> bits;
  int64_t bit_offset = 0;

  const void* places() const {
    if (layout == BytesLayout::kOffsets32) return offsets32.data();
    if (layout == BytesLayout::kOffsets64) return offsets64.data();
    return layout == BytesLayout::kViews ? views.data() : nullptr;
  }
  size_t place_bytes() const {
    return offsets32.size() * sizeof(int32_t) + offsets64.size() * sizeof(int64_t) + views.size();
  }
  size_t one_place_bytes() const {
    if (layout == BytesLayout::kFixed) return 0;
    return layout == BytesLayout::kViews ? 16 : layout == BytesLayout::kOffsets64 ? 8 : 4;
  }

  // As it is described where its buffers begin at these addresses.
  keys::InternedSide side(const uint8_t* bytes_at, const void* places_at,
                          const uint8_t* const* buffers_at, const uint8_t* bits_at) const {
    keys::InternedSide side;
    side.rows = values.size();
    side.validity = {bits.empty() ? nullptr : bits_at, bit_offset};
    side.values.layout = layout;
    side.values.width = width;
    if (layout == BytesLayout::kViews) {
      side.values.buffers = buffers_at;
    } else {
      auto const before = layout == BytesLayout::kFixed ? rows_before : 0;
      side.values.bytes = bytes_at + before * static_cast<size_t>(width);
      side.values.first = bytes_at;
      side.values.end = bytes_at + bytes.size();
    }
    if (places_at != nullptr) {
      side.values.places = static_cast<const uint8_t*>(places_at) + rows_before * one_place_bytes();
    }
    return side;
  }
  keys::InternedSide side() const {
    return side(bytes.data(), places(), buffer_pointers.data(), bits.data());
  }
};

namespace byte_values {

inline std::string random_bytes(std::mt19937_64& random, size_t count) {
  std::string bytes(count, '\0');
  for (char& byte : bytes) byte = static_cast<char>(random());
  return bytes;
}

inline void append(std::vector<uint8_t>* to, const std::string& bytes) {
  for (char const byte : bytes) to->push_back(static_cast<uint8_t>(byte));
}

// Into one of three buffers, or into the view, with something behind it.
inline void append_view(ByteColumn* column, std::mt19937_64& random, const std::string& value) {
  std::string view = random_bytes(random, 16);
  auto const put = [&](size_t at, int32_t number) {
    std::memcpy(&view[at], &number, sizeof(number));
  };
  put(0, static_cast<int32_t>(value.size()));
  if (value.size() <= 12) {
    std::copy(value.begin(), value.end(), view.begin() + 4);
  } else {
    size_t const which = random() % column->buffers.size();
    std::copy_n(value.begin(), 4, view.begin() + 4);
    put(8, static_cast<int32_t>(which));
    put(12, static_cast<int32_t>(column->buffers[which].size()));
    append(&column->buffers[which], value);
  }
  append(&column->views, view);
}

inline void append_null(ByteColumn* column, std::mt19937_64& random) {
  if (column->layout == BytesLayout::kViews) {
    std::string view = random_bytes(random, 16);
    view[3] = 0x10;  // a length that is no length
    append(&column->views, view);
    return;
  }
  bool const is_fixed = column->layout == BytesLayout::kFixed;
  append(&column->bytes,
         random_bytes(random, is_fixed ? static_cast<size_t>(column->width) : random() % 10));
}

}  // namespace byte_values

// Of fixed width: all values have as many bytes as the first one. A slice has other rows before
// it, and its validity begins within a byte.
inline ByteColumn byte_column(BytesLayout layout, Values values, size_t rows_before = 0) {
  using namespace byte_values;
  std::mt19937_64 random(values.size() + rows_before);
  ByteColumn column;
  column.layout = layout;
  column.rows_before = rows_before;
  for (auto const& value : values) {
    if (layout == BytesLayout::kFixed && value) column.width = static_cast<int32_t>(value->size());
  }
  column.buffers.resize(layout == BytesLayout::kViews ? 3 : 0);
  // Offsets need not begin at 0 even where nothing is before them.
  if (layout != BytesLayout::kFixed && layout != BytesLayout::kViews && rows_before != 0) {
    append(&column.bytes, "before");
  }
  auto const place_row = [&] {
    if (layout == BytesLayout::kOffsets32) {
      column.offsets32.push_back(static_cast<int32_t>(column.bytes.size()));
    } else if (layout == BytesLayout::kOffsets64) {
      column.offsets64.push_back(static_cast<int64_t>(column.bytes.size()));
    }
  };
  for (size_t i = 0; i < rows_before; ++i) {
    place_row();
    append_null(&column, random);
  }
  for (auto const& value : values) {
    place_row();
    if (!value) {
      append_null(&column, random);
    } else if (layout == BytesLayout::kViews) {
      append_view(&column, random, *value);
    } else {
      append(&column.bytes, *value);
    }
  }
  place_row();
  bool const any_null = std::find(values.begin(), values.end(), std::nullopt) != values.end();
  if (any_null || rows_before != 0) {
    column.bit_offset = static_cast<int64_t>(rows_before);
    column.bits.resize((rows_before + values.size() + 7) / 8);
    for (size_t row = 0; row < values.size(); ++row) {
      size_t const bit = rows_before + row;
      if (values[row]) column.bits[bit / 8] |= static_cast<uint8_t>(1U << (bit % 8));
    }
  }
  // Where a sanitizer sees them, buffers end where the values do.
  column.bytes.shrink_to_fit();
  column.views.shrink_to_fit();
  for (std::vector<uint8_t>& buffer : column.buffers) {
    buffer.shrink_to_fit();
    column.buffer_pointers.push_back(buffer.data());
  }
  column.values = std::move(values);
  return column;
}

inline const std::vector<BytesLayout>& layouts_of_any_length() {
  static const std::vector<BytesLayout> layouts = {BytesLayout::kOffsets32, BytesLayout::kOffsets64,
                                                   BytesLayout::kViews};
  return layouts;
}

// Of `length` bytes: values that differ in one of them, and zeros.
inline Values close_values(size_t length, uint64_t seed) {
  std::mt19937_64 random(seed + length);
  std::string const base = byte_values::random_bytes(random, length);
  Values values = {base, std::string(length, '\0'), std::string(length, '\xff')};
  for (size_t const at : {size_t{0}, length / 2, length - 1}) {
    if (length == 0) break;
    std::string changed = base;
    changed[at] = static_cast<char>(changed[at] ^ (at % 2 == 0 ? 1 : 0x80));
    values.emplace_back(std::move(changed));
  }
  return values;
}

// Values whose lengths are beside those of pieces, words, views, that differ in the last byte or in
// length alone, or in zeros at their end.
inline Values close_values_of_all_lengths() {
  Values values;
  for (size_t const length : {0,  1,  6,  7,  8,  9,  11, 12, 13, 14, 15,  16,   17,
                              18, 20, 21, 22, 55, 56, 57, 63, 64, 65, 999, 1000, 1001}) {
    for (auto const& value : close_values(length, 1)) {
      values.push_back(value);
      values.emplace_back(*value + '\0');
      if (length != 0) values.emplace_back(value->substr(0, length - 1));
    }
  }
  return values;
}

// `rows` of some of the values, NULL with the chance that is named.
inline Values drawn(const Values& from, size_t rows, uint64_t seed, double nulls = 0) {
  std::mt19937_64 random(seed);
  std::bernoulli_distribution is_null(nulls);
  Values values;
  for (size_t row = 0; row < rows; ++row) {
    values.push_back(is_null(random) ? std::nullopt : from[random() % from.size()]);
  }
  return values;
}

// Numbers as text, as long as they are.
inline Values counted(size_t first, size_t rows) {
  Values values;
  for (size_t i = 0; i < rows; ++i) {
    values.emplace_back("Customer#" + std::to_string((first + i) * 7));
  }
  return values;
}

struct InternCase {
  std::string name;
  ByteColumn table;
  ByteColumn other;
};

// Half of the other side's values are not the table's.
inline InternCase case_of(std::string name, BytesLayout of_table, BytesLayout of_other,
                          const Values& values, size_t table_rows, size_t other_rows, double nulls,
                          size_t rows_before) {
  Values const half(values.begin(),
                    values.begin() + static_cast<std::ptrdiff_t>((values.size() + 1) / 2));
  return {std::move(name), byte_column(of_table, drawn(half, table_rows, 1, nulls), rows_before),
          byte_column(of_other, drawn(values, other_rows, 2, nulls), rows_before / 2)};
}

// Small ones, which every executor runs.
inline std::vector<InternCase> intern_cases() {
  std::vector<InternCase> cases;
  Values values = close_values_of_all_lengths();
  std::shuffle(values.begin(), values.end(), std::mt19937_64(3));
  for (BytesLayout const of_table : layouts_of_any_length()) {
    for (BytesLayout const of_other : layouts_of_any_length()) {
      for (size_t const before : {0, 13}) {
        cases.push_back(case_of("layouts " + std::to_string(static_cast<int>(of_table)) + " and " +
                                    std::to_string(static_cast<int>(of_other)) + ", " +
                                    std::to_string(before) + " rows before",
                                of_table, of_other, values, 1000, 1500, before == 0 ? 0 : 0.2,
                                before));
      }
    }
  }
  for (size_t const width : {0, 1, 3, 7, 8, 12, 13, 16, 31, 56, 1000}) {
    for (size_t const before : {0, 5}) {
      cases.push_back(
          case_of("width " + std::to_string(width) + ", " + std::to_string(before) + " rows before",
                  BytesLayout::kFixed, before == 0 ? BytesLayout::kFixed : BytesLayout::kViews,
                  close_values(width, 5), 200, 300, before == 0 ? 0 : 0.2, before));
    }
  }
  for (size_t const rows : {0, 1, 2, 31, 32, 33, 255, 256, 257, 4095, 4096, 4097}) {
    for (size_t const other_rows : {size_t{0}, size_t{1}, rows + 100}) {
      cases.push_back(case_of(std::to_string(rows) + " and " + std::to_string(other_rows) + " rows",
                              layouts_of_any_length()[rows % 3], BytesLayout::kOffsets32,
                              counted(0, rows + 10), rows, other_rows, 0.05, 3));
    }
  }
  Values const nulls(100, std::nullopt);
  cases.push_back({"NULLs alone", byte_column(BytesLayout::kOffsets32, nulls),
                   byte_column(BytesLayout::kViews, nulls)});
  cases.push_back({"NULLs and values", byte_column(BytesLayout::kViews, nulls, 3),
                   byte_column(BytesLayout::kOffsets64, counted(0, 100), 9)});
  return cases;
}

// Each of the two codes of a value is the same everywhere, names a row of the table's that has it,
// and is no row's where the table has none.
inline void expect_codes(const Values& table, const Values& other,
                         const std::vector<uint32_t>& of_table,
                         const std::vector<uint32_t>& of_other) {
  ASSERT_EQ(of_table.size(), table.size());
  ASSERT_EQ(of_other.size(), other.size());
  std::unordered_map<std::string, uint32_t> codes;
  for (size_t row = 0; row < table.size(); ++row) {
    uint32_t const code = of_table[row];
    if (!table[row]) {
      ASSERT_EQ(code, 0U) << "NULL in row " << row;
      continue;
    }
    ASSERT_LT(code, table.size()) << row;
    ASSERT_EQ(table[code], table[row]) << row;
    ASSERT_EQ(codes.try_emplace(*table[row], code).first->second, code) << row;
  }
  for (size_t row = 0; row < other.size(); ++row) {
    uint64_t expected = 0;
    if (other[row]) {
      auto const found = codes.find(*other[row]);
      uint64_t const rows = table.size();
      expected = found != codes.end() ? found->second : rows + row % ((uint64_t{1} << 32) - rows);
    }
    ASSERT_EQ(of_other[row], expected) << "row " << row << " of the other side";
  }
}

}  // namespace gpujoin::tests
