// source_columns.hpp: columns of values of any number of bytes, in each layout, the rows that a
// gather is asked for, and what it must answer. Of the tests of both executors.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <functional>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "src/columns/gathered.hpp"

namespace gpujoin::tests {

using kernels::BytesLayout;

using Values = std::vector<std::optional<std::string>>;

// Memory of a column, of no more bytes than its values have, so that sanitizers see who reads
// beyond.
struct SourceColumn {
  BytesLayout layout = BytesLayout::kOffsets32;
  int32_t width = 0;
  Values values;
  std::vector<uint8_t> bytes;
  int64_t lead = 0;  // what the first row's offset is: of the slice of a longer column
  std::vector<uint8_t> places;
  std::vector<std::vector<uint8_t>> buffers;  // of views
  std::vector<uint8_t> bits;                  // empty: no NULLs
  int64_t bit_offset = 0;

  bool is_fixed() const { return layout == BytesLayout::kFixed; }
};

struct Shape {
  BytesLayout layout = BytesLayout::kOffsets32;
  int32_t width = 0;
  int64_t bit_offset = 0;
  int64_t lead = 0;
};

inline std::vector<Shape> every_shape() {
  std::vector<Shape> shapes = {
      {BytesLayout::kOffsets32}, {BytesLayout::kOffsets64}, {BytesLayout::kViews}};
  for (int32_t width : {0, 1, 3, 5, 12, 16, 20, 32, 100}) {
    shapes.push_back({BytesLayout::kFixed, width});
  }
  return shapes;
}

inline std::vector<Shape> shapes_of_any_length() {
  return {{BytesLayout::kOffsets32}, {BytesLayout::kOffsets64}, {BytesLayout::kViews}};
}

template <typename T>
void append_number(std::vector<uint8_t>* to, T number) {
  auto const at = to->size();
  to->resize(at + sizeof(T));
  std::memcpy(to->data() + at, &number, sizeof(T));
}

// Bits of rows with a value, from bit_offset on; those around them say the opposite of what helps.
template <typename Is>
std::vector<uint8_t> bits_of(size_t rows, int64_t bit_offset, uint8_t around, const Is& is_one) {
  auto const offset = static_cast<size_t>(bit_offset);
  std::vector<uint8_t> bits((offset + rows + 7) / 8, around);
  for (size_t row = 0; row < rows; ++row) {
    size_t const bit = offset + row;
    auto const mask = static_cast<uint8_t>(1U << (bit % 8));
    bits[bit / 8] =
        static_cast<uint8_t>(is_one(row) ? bits[bit / 8] | mask : bits[bit / 8] & ~mask);
  }
  return bits;
}

inline void append_view(SourceColumn* column, const std::string& value) {
  append_number(&column->places, static_cast<int32_t>(value.size()));
  if (value.size() <= 12) {
    std::string inside = value;
    inside.resize(12, '\0');
    column->places.insert(column->places.end(), inside.begin(), inside.end());
    return;
  }
  auto const buffer = value.size() % column->buffers.size();
  column->places.insert(column->places.end(), value.begin(), value.begin() + 4);
  append_number(&column->places, static_cast<int32_t>(buffer));
  append_number(&column->places, static_cast<int32_t>(column->buffers[buffer].size()));
  column->buffers[buffer].insert(column->buffers[buffer].end(), value.begin(), value.end());
}

// Of NULLs there is what a producer may leave: bytes in offsets, a view that names no buffer.
inline SourceColumn make_column(const Shape& shape, Values values) {
  SourceColumn column;
  column.layout = shape.layout;
  column.width = shape.width;
  column.lead = shape.lead;
  column.bit_offset = shape.bit_offset;
  column.buffers.resize(3);
  bool has_nulls = false;
  auto const append_offset = [&] {
    auto const offset = column.lead + static_cast<int64_t>(column.bytes.size());
    if (shape.layout == BytesLayout::kOffsets32) {
      append_number(&column.places, static_cast<int32_t>(offset));
    }
    if (shape.layout == BytesLayout::kOffsets64) append_number(&column.places, offset);
  };
  for (auto const& value : values) {
    append_offset();
    has_nulls |= !value.has_value();
    std::string const there =
        value.value_or(std::string(column.is_fixed() ? static_cast<size_t>(shape.width) : 7, '?'));
    if (shape.layout != BytesLayout::kViews) {
      column.bytes.insert(column.bytes.end(), there.begin(), there.end());
    } else if (value.has_value()) {
      append_view(&column, there);
    } else {
      for (int32_t part : {1 << 20, 77, 1 << 30, 77}) append_number(&column.places, part);
    }
  }
  append_offset();
  if (has_nulls) {
    column.bits = bits_of(values.size(), shape.bit_offset, 0x5a,
                          [&](size_t row) { return values[row].has_value(); });
  }
  column.values = std::move(values);
  column.bytes.shrink_to_fit();
  column.bytes.reserve(1);  // so that there is something to count from
  for (auto& buffer : column.buffers) buffer.shrink_to_fit();
  return column;
}

struct Lengths {
  size_t least = 0;
  size_t most = 40;
};

inline Values random_values(const Shape& shape, size_t rows, double nulls, Lengths lengths = {}) {
  std::mt19937_64 random(rows + static_cast<size_t>(shape.width));
  std::bernoulli_distribution is_null(nulls);
  Values values(rows);
  for (auto& value : values) {
    size_t const length = shape.layout == BytesLayout::kFixed
                              ? static_cast<size_t>(shape.width)
                              : lengths.least + random() % (lengths.most - lengths.least + 1);
    if (is_null(random)) continue;
    value.emplace(length, '\0');
    for (char& byte : *value) byte = static_cast<char>(random());
  }
  return values;
}

// Every `missing`-th, on average, is no row; 0: none.
inline std::vector<uint32_t> drawn_rows(size_t count, size_t source_rows, uint64_t missing) {
  std::mt19937_64 random(count + missing);
  std::vector<uint32_t> rows(count);
  for (uint32_t& row : rows) {
    bool const is_missing = source_rows == 0 || (missing != 0 && random() % missing == 0);
    row = is_missing ? GPUJOIN_NO_ROW : static_cast<uint32_t>(random() % source_rows);
  }
  return rows;
}

inline const std::vector<size_t>& gathered_counts() {
  static const std::vector<size_t> counts = {0,   1,    31,   32,   33,    63,    64,    65,
                                             256, 1023, 1024, 1025, 65535, 65536, 65537, 200000};
  return counts;
}

// An answer, in host memory.
struct HostGathered {
  std::vector<uint8_t> data;
  std::vector<int64_t> offsets;
  std::vector<uint8_t> validity;  // whole words
  columns::Gathered gathered;
};

// rows null: the identity.
using Gather = std::function<HostGathered(const SourceColumn&, const std::vector<uint32_t>* rows,
                                          size_t count, uint64_t most_narrow_bytes)>;

inline void expect_validity(const HostGathered& found, const std::vector<bool>& valid) {
  int64_t nulls = 0;
  for (bool const is_valid : valid) nulls += is_valid ? 0 : 1;
  ASSERT_EQ(found.gathered.null_count, nulls);
  ASSERT_EQ(found.gathered.validity == nullptr, nulls == 0);
  if (nulls == 0) return;
  for (size_t i = 0; i < found.validity.size() * 8; ++i) {
    bool const bit = (found.validity[i / 8] >> (i % 8) & 1) != 0;
    ASSERT_EQ(bit, i < valid.size() && valid[i]) << "validity of row " << i;
  }
}

inline void expect_gathered(const Gather& gather, const SourceColumn& column,
                            const std::vector<uint32_t>* rows, size_t count,
                            uint64_t most_narrow_bytes = columns::kMostNarrowBytes) {
  SCOPED_TRACE(testing::Message() << "layout " << static_cast<int>(column.layout) << ", width "
                                  << column.width << ", " << count << " rows");
  std::vector<bool> valid(count);
  std::vector<uint8_t> data;
  std::vector<int64_t> offsets = {0};
  for (size_t i = 0; i < count; ++i) {
    size_t const row = rows != nullptr ? (*rows)[i] : i;
    valid[i] = row != GPUJOIN_NO_ROW && column.values[row].has_value();
    if (valid[i]) data.insert(data.end(), column.values[row]->begin(), column.values[row]->end());
    if (!valid[i] && column.is_fixed())
      data.resize(data.size() + static_cast<size_t>(column.width));
    offsets.push_back(static_cast<int64_t>(data.size()));
  }
  HostGathered const found = gather(column, rows, count, most_narrow_bytes);
  ASSERT_EQ(found.gathered.bytes, data.size());
  ASSERT_EQ(found.gathered.data == nullptr, data.empty());
  if (column.is_fixed()) {
    ASSERT_EQ(found.gathered.offset_width, 0);
    ASSERT_EQ(found.gathered.offsets, nullptr);
  } else {
    bool const is_wide =
        column.layout == BytesLayout::kOffsets64 || data.size() > most_narrow_bytes;
    ASSERT_EQ(found.gathered.offset_width, is_wide ? 8 : 4);
    ASSERT_TRUE(found.offsets == offsets);
  }
  if (found.data != data) {
    size_t at = 0;
    while (found.data[at] == data[at]) ++at;
    FAIL() << "byte " << at << " of " << data.size() << " differs";
  }
  expect_validity(found, valid);
}

// ---- what either executor must do ----

inline void takes_the_named_rows(const Gather& gather, double nulls, uint64_t missing) {
  constexpr size_t kSourceRows = 3000;
  for (Shape const& shape : every_shape()) {
    SourceColumn const column = make_column(shape, random_values(shape, kSourceRows, nulls));
    for (size_t const count : gathered_counts()) {
      std::vector<uint32_t> const rows = drawn_rows(count, kSourceRows, missing);
      ASSERT_NO_FATAL_FAILURE(expect_gathered(gather, column, &rows, count));
    }
  }
}

inline void takes_all_rows(const Gather& gather) {
  for (Shape const& shape : every_shape()) {
    for (double const nulls : {0.0, 0.3}) {
      for (size_t const count : {size_t{0}, size_t{1}, size_t{1025}, size_t{70000}}) {
        SourceColumn const column = make_column(shape, random_values(shape, count, nulls));
        ASSERT_NO_FATAL_FAILURE(expect_gathered(gather, column, nullptr, count));
      }
    }
  }
}

inline void takes_slices(const Gather& gather) {
  for (Shape shape : every_shape()) {
    for (auto const& [bit_offset, lead] :
         {std::pair<int64_t, int64_t>{0, 1}, {1, 0}, {7, 1000}, {8, 3}, {31, 64}, {77, 12345}}) {
      shape.bit_offset = bit_offset;
      shape.lead = lead;
      SourceColumn const column = make_column(shape, random_values(shape, 777, 0.4));
      std::vector<uint32_t> const rows = drawn_rows(3000, 777, 9);
      ASSERT_NO_FATAL_FAILURE(expect_gathered(gather, column, &rows, rows.size()));
      ASSERT_NO_FATAL_FAILURE(expect_gathered(gather, column, nullptr, 777));
    }
  }
}

inline void takes_nothing(const Gather& gather) {
  for (Shape const& shape : every_shape()) {
    SourceColumn const empty = make_column(shape, {});
    SourceColumn const all_null = make_column(shape, Values(500));
    for (size_t const count : {size_t{0}, size_t{1}, size_t{1000}, size_t{2048}}) {
      std::vector<uint32_t> const no_rows(count, GPUJOIN_NO_ROW);
      std::vector<uint32_t> const rows = drawn_rows(count, 500, 0);
      ASSERT_NO_FATAL_FAILURE(expect_gathered(gather, empty, &no_rows, count));
      ASSERT_NO_FATAL_FAILURE(expect_gathered(gather, all_null, &rows, count));
    }
    ASSERT_NO_FATAL_FAILURE(expect_gathered(gather, all_null, nullptr, 500));
  }
}

// Values of a tile that are more than a block takes, and words of many values.
inline void takes_any_length(const Gather& gather) {
  for (Shape const& shape : shapes_of_any_length()) {
    Values long_one = random_values(shape, 2500, 0.1);
    long_one[1234] = std::string(3'000'001, 'x');
    for (size_t i = 0; i < long_one[1234]->size(); ++i) {
      (*long_one[1234])[i] = static_cast<char>(i * i >> 7);
    }
    SourceColumn const one = make_column(shape, long_one);
    ASSERT_NO_FATAL_FAILURE(expect_gathered(gather, one, nullptr, 2500));
    std::vector<uint32_t> twice = drawn_rows(5000, 1234, 0);
    twice[0] = twice[4999] = 1234;
    ASSERT_NO_FATAL_FAILURE(expect_gathered(gather, one, &twice, twice.size()));

    SourceColumn const all = make_column(shape, random_values(shape, 4000, 0.1, {500, 3000}));
    std::vector<uint32_t> const rows = drawn_rows(6000, 4000, 7);
    ASSERT_NO_FATAL_FAILURE(expect_gathered(gather, all, &rows, rows.size()));

    SourceColumn const few = make_column(shape, random_values(shape, 30000, 0.995, {0, 3}));
    ASSERT_NO_FATAL_FAILURE(expect_gathered(gather, few, nullptr, 30000));
    SourceColumn const short_ones = make_column(shape, random_values(shape, 30000, 0, {0, 2}));
    ASSERT_NO_FATAL_FAILURE(expect_gathered(gather, short_ones, nullptr, 30000));

    std::vector<uint32_t> const same(100000, 3);
    ASSERT_NO_FATAL_FAILURE(expect_gathered(gather, short_ones, &same, same.size()));
  }
  // A long value among more tiles than a block has threads.
  Values many = random_values({}, 300, 0.1, {0, 3});
  many[7] = std::string(400'000, 'x');
  for (size_t i = 0; i < many[7]->size(); ++i) (*many[7])[i] = static_cast<char>(i * i >> 5);
  std::vector<uint32_t> rows_of_many = drawn_rows(400'000, 300, 0);
  for (uint32_t& row : rows_of_many) row = row == 7 ? 8 : row;
  rows_of_many[300'000] = rows_of_many[399'999] = 7;
  ASSERT_NO_FATAL_FAILURE(
      expect_gathered(gather, make_column({}, many), &rows_of_many, rows_of_many.size()));

  Shape const wide = {BytesLayout::kFixed, 70001};
  SourceColumn const column = make_column(wide, random_values(wide, 50, 0.2));
  std::vector<uint32_t> const rows = drawn_rows(99, 50, 5);
  ASSERT_NO_FATAL_FAILURE(expect_gathered(gather, column, &rows, rows.size()));
}

inline void widens_offsets(const Gather& gather) {
  for (Shape const& shape : shapes_of_any_length()) {
    SourceColumn const column = make_column(shape, random_values(shape, 1500, 0.2, {1, 40}));
    uint64_t bytes = 0;
    for (auto const& value : column.values) bytes += value.has_value() ? value->size() : 0;
    for (uint64_t const most : {bytes - 1, bytes, bytes + 1}) {
      ASSERT_NO_FATAL_FAILURE(expect_gathered(gather, column, nullptr, 1500, most));
    }
  }
}

// Offsets that go back, or out of what may be read, are values of no bytes.
inline void keeps_within_the_bytes(const Gather& gather) {
  SourceColumn column = make_column({}, {"one", "two", "three", "four", "five"});
  for (auto const& [at, offset] : {std::pair<size_t, int32_t>{1, 2}, {2, 1}, {3, 1 << 30}}) {
    std::memcpy(column.places.data() + 4 * at, &offset, sizeof(offset));
  }
  column.values = {"on", "", "", "", "five"};
  std::vector<uint32_t> const rows = {0, 1, 2, 3, 4, 4, 3, 2, 1, 0};
  ASSERT_NO_FATAL_FAILURE(expect_gathered(gather, column, &rows, rows.size()));
}

}  // namespace gpujoin::tests
