// batch_columns.hpp: columns of batches in every layout, with the bytes that each row has.
#pragma once

#include <algorithm>
#include <cstring>
#include <functional>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "src/columns/column.hpp"
#include "src/columns/types.hpp"
#include "tests/materialize/source_columns.hpp"

namespace gpujoin::tests {

// Memory of no more bytes than are used, so that sanitizers see who reads beyond.
struct BatchColumn {
  columns::ColumnView view;
  Values values;
  std::vector<std::shared_ptr<const void>> held;

  template <typename T>
  const T* hold(std::vector<T> data) {
    data.shrink_to_fit();
    auto kept = std::make_shared<const std::vector<T>>(std::move(data));
    held.push_back(kept);
    return kept->data();
  }
};

struct Drawn {
  size_t rows = 0;
  double nulls = 0;
  bool has_bits = false;  // even where there is no NULL
  int64_t bit_offset = 0;
  int64_t lead = 0;  // first row's offset of text, first row among run ends
  uint64_t seed = 0;
};

inline columns::ColumnView view_of_format(const std::string& format) {
  columns::ArrowType const type = columns::type_of_arrow_format(format);
  columns::ColumnView view;
  view.type = type.type;
  view.width = type.width;
  view.layout = type.layout;
  view.name = "a column";
  view.arrow_format = format;
  if (type.scale != 0 || type.layout == columns::Layout::kText ||
      type.layout == columns::Layout::kViews || type.layout == columns::Layout::kBits) {
    auto parts = std::make_shared<columns::ColumnParts>();
    parts->scale = type.scale;
    if (type.layout == columns::Layout::kText) {
      parts->offset_width = columns::is_large_text(type.type) ? 8 : 4;
    }
    view.parts = std::move(parts);
  }
  return view;
}

inline void add_validity(const Drawn& drawn, BatchColumn* column) {
  bool const any = std::any_of(column->values.begin(), column->values.end(),
                               [](auto const& value) { return !value.has_value(); });
  if (!any && !drawn.has_bits) return;
  column->view.validity =
      column->hold(bits_of(column->values.size(), drawn.bit_offset, 0x5a,
                           [&](size_t row) { return column->values[row].has_value(); }));
  column->view.validity_bit_offset = drawn.bit_offset;
}

inline BatchColumn make_bits(const Drawn& drawn) {
  BatchColumn made;
  made.view = view_of_format("b");
  std::mt19937_64 random(drawn.seed);
  std::bernoulli_distribution is_null(drawn.nulls);
  std::vector<bool> data;
  for (size_t i = 0; i < drawn.rows; ++i) {
    bool const bit = (random() & 1) != 0;
    data.push_back(bit);
    made.values.push_back(is_null(random) ? std::nullopt
                                          : std::optional<std::string>(bit ? "1" : "0"));
  }
  auto parts = std::make_shared<columns::ColumnParts>();
  parts->first_bit = drawn.bit_offset + 3;
  made.view.data =
      made.hold(bits_of(drawn.rows, parts->first_bit, 0xa5, [&](size_t row) { return data[row]; }));
  made.view.parts = std::move(parts);
  add_validity(drawn, &made);
  return made;
}

// Fixed widths, text and views.
inline BatchColumn make_bytes(const std::string& format, const Drawn& drawn) {
  using columns::Layout;
  BatchColumn made;
  made.view = view_of_format(format);
  Shape shape;
  shape.lead = made.view.layout == Layout::kText ? drawn.lead : 0;
  shape.bit_offset = drawn.bit_offset;
  shape.width = made.view.width;
  shape.layout = BytesLayout::kFixed;
  if (made.view.layout == Layout::kViews) shape.layout = BytesLayout::kViews;
  if (made.view.layout == Layout::kText) {
    shape.layout =
        columns::is_large_text(made.view.type) ? BytesLayout::kOffsets64 : BytesLayout::kOffsets32;
  }
  std::mt19937_64 random(drawn.seed);
  std::bernoulli_distribution is_null(drawn.nulls);
  for (size_t i = 0; i < drawn.rows; ++i) {
    size_t const length =
        shape.layout == BytesLayout::kFixed ? static_cast<size_t>(shape.width) : random() % 30;
    made.values.emplace_back(std::string(length, '\0'));
    for (char& byte : *made.values.back()) byte = static_cast<char>(random());
    if (is_null(random)) made.values.back().reset();
  }
  SourceColumn source = make_column(shape, made.values);
  auto parts = std::make_shared<columns::ColumnParts>();
  if (made.view.parts != nullptr) *parts = *made.view.parts;
  auto const* const bytes = made.hold(std::move(source.bytes));
  if (shape.layout == BytesLayout::kFixed) {
    made.view.data = bytes;
  } else if (shape.layout == BytesLayout::kViews) {
    made.view.data = made.hold(std::move(source.places));
    for (auto& buffer : source.buffers) {
      parts->buffer_bytes.push_back(static_cast<int64_t>(buffer.size()));
      parts->buffers.push_back(made.hold(std::move(buffer)));
    }
  } else {
    made.view.data = bytes - shape.lead;
    parts->offsets = made.hold(std::move(source.places));
  }
  made.view.parts = std::move(parts);
  add_validity(drawn, &made);
  return made;
}

inline BatchColumn make_nulls(const Drawn& drawn) {
  BatchColumn made;
  made.view = view_of_format("n");
  made.values.resize(drawn.rows);
  return made;
}

// index: int8_t to uint64_t. Beneath NULLs lie indices of no value.
template <typename Index>
BatchColumn make_dictionary(const std::string& index_format, const BatchColumn& values,
                            const Drawn& drawn) {
  BatchColumn made;
  made.view = view_of_format(index_format);
  made.view.type = GPUJOIN_TYPE_DICTIONARY;
  made.view.layout = columns::Layout::kIndices;
  made.held = values.held;
  std::mt19937_64 random(drawn.seed + 1);
  std::bernoulli_distribution is_null(drawn.nulls);
  std::vector<Index> indices;
  for (size_t i = 0; i < drawn.rows; ++i) {
    bool const none = values.values.empty() || is_null(random);
    size_t const index = none ? 0 : random() % values.values.size();
    indices.push_back(static_cast<Index>(none ? -1 : static_cast<int64_t>(index)));
    made.values.push_back(none ? std::nullopt : std::optional<std::string>("value"));
  }
  add_validity(drawn, &made);  // of the indices, whatever the values are
  for (size_t i = 0; i < drawn.rows; ++i) {
    if (made.values[i]) made.values[i] = values.values[static_cast<size_t>(indices[i])];
  }
  auto parts = std::make_shared<columns::ColumnParts>();
  parts->values = std::make_shared<columns::ColumnView>(values.view);
  parts->value_rows = static_cast<int64_t>(values.values.size());
  made.view.parts = std::move(parts);
  made.view.data = made.hold(std::move(indices));
  return made;
}

// As many runs as there are values, the rows between two ends drawn.
template <typename End>
BatchColumn make_runs(const BatchColumn& values, const Drawn& drawn) {
  BatchColumn made;
  made.view = view_of_format("+r");
  made.view.width = sizeof(End);
  made.held = values.held;
  std::mt19937_64 random(drawn.seed + 2);
  size_t const rows = drawn.rows + static_cast<size_t>(drawn.lead);
  size_t const runs = values.values.size();
  std::vector<End> ends;
  for (size_t i = 0; i < runs; ++i) ends.push_back(static_cast<End>(1 + random() % rows));
  ends.back() = static_cast<End>(rows);
  std::sort(ends.begin(), ends.end());
  size_t run = 0;
  for (size_t row = 0; row < rows; ++row) {
    while (static_cast<size_t>(ends[run]) <= row) ++run;
    if (row >= static_cast<size_t>(drawn.lead)) made.values.push_back(values.values[run]);
  }
  auto parts = std::make_shared<columns::ColumnParts>();
  parts->values = std::make_shared<columns::ColumnView>(values.view);
  parts->value_rows = static_cast<int64_t>(runs);
  parts->first_row = drawn.lead;
  made.view.parts = std::move(parts);
  made.view.data = made.hold(std::move(ends));
  return made;
}

// Every layout; of those that name values, of every kind of values.
using Maker = std::function<BatchColumn(const Drawn&)>;
inline std::vector<Maker> every_maker() {
  std::vector<Maker> makers = {make_bits, make_nulls};
  for (const char* const format :
       {"c",       "s",        "i",      "l",          "w:16", "w:1", "w:3", "w:4", "w:20", "w:0",
        "tsu:UTC", "d:9,2,32", "d:38,4", "d:76,5,256", "u",    "z",   "U",   "Z",   "vu",   "vz"}) {
    makers.push_back([format](const Drawn& drawn) { return make_bytes(format, drawn); });
  }
  auto const some = [](const Drawn& drawn, size_t rows, double nulls) {
    Drawn values = drawn;
    values.rows = rows;
    values.nulls = drawn.nulls == 0 ? 0 : nulls;
    return values;
  };
  makers.push_back([some](const Drawn& drawn) {
    return make_dictionary<int8_t>("c", make_bytes("u", some(drawn, 100, 0.2)), drawn);
  });
  makers.push_back([some](const Drawn& drawn) {
    return make_dictionary<uint16_t>("S", make_bytes("vu", some(drawn, 300, 0)), drawn);
  });
  makers.push_back([some](const Drawn& drawn) {
    return make_dictionary<int32_t>("i", make_bytes("d:38,4", some(drawn, 50, 0.5)), drawn);
  });
  makers.push_back([some](const Drawn& drawn) {
    return make_dictionary<int64_t>("l", make_bits(some(drawn, 70, 0.5)), drawn);
  });
  makers.push_back([some](const Drawn& drawn) {
    return make_dictionary<int32_t>("i", make_nulls(some(drawn, 5, 0)), drawn);
  });
  makers.push_back([some](const Drawn& drawn) {
    return make_runs<int32_t>(make_bytes("U", some(drawn, 1 + drawn.rows / 5, 0.3)), drawn);
  });
  makers.push_back([some](const Drawn& drawn) {
    return make_runs<int16_t>(make_bytes("s", some(drawn, 1 + drawn.rows / 5, 0.3)), drawn);
  });
  makers.push_back([some](const Drawn& drawn) {
    BatchColumn const values =
        make_dictionary<uint8_t>("C", make_bytes("z", some(drawn, 9, 0.3)), some(drawn, 40, 0.2));
    return make_runs<int64_t>(values, drawn);
  });
  makers.push_back([some](const Drawn& drawn) {
    BatchColumn const values =
        make_runs<int32_t>(make_bytes("i", some(drawn, 9, 0.3)), some(drawn, 40, 0));
    return make_dictionary<int32_t>("i", values, drawn);
  });
  return makers;
}

// The bytes of each row of a gathered column, "0" or "1" of bits.
inline Values values_of(const columns::ColumnView& column, int64_t rows) {
  using columns::Layout;
  Values values;
  kernels::ValidityBits const validity{column.validity, column.validity_bit_offset};
  for (int64_t row = 0; row < rows; ++row) {
    auto const* bytes = static_cast<const char*>(column.data);
    std::string value;
    if (column.layout == Layout::kBits) {
      EXPECT_EQ(column.parts->first_bit, 0);
      value = (bytes[row / 8] >> (row % 8) & 1) != 0 ? "1" : "0";
    } else if (column.layout == Layout::kText && column.parts->offset_width == 8) {
      auto const* const offsets = static_cast<const int64_t*>(column.parts->offsets);
      EXPECT_EQ(offsets[0], 0);
      for (int64_t i = offsets[row]; i < offsets[row + 1]; ++i) value.push_back(bytes[i]);
    } else if (column.layout == Layout::kText) {
      auto const* const offsets = static_cast<const int32_t*>(column.parts->offsets);
      EXPECT_EQ(offsets[0], 0);
      for (int32_t i = offsets[row]; i < offsets[row + 1]; ++i) value.push_back(bytes[i]);
    } else if (column.layout != Layout::kNulls && column.width != 0) {
      value.assign(bytes + row * column.width, static_cast<size_t>(column.width));
    }
    if (column.layout != Layout::kNulls &&
        kernels::is_valid(validity, static_cast<uint64_t>(row))) {
      values.emplace_back(std::move(value));
      continue;
    }
    values.emplace_back(std::nullopt);
    // What lies beneath a NULL is the same each time: no text, zeros.
    char const zero = column.layout == Layout::kBits ? '0' : '\0';
    EXPECT_TRUE(value.find_first_not_of(zero) == std::string::npos);
    EXPECT_TRUE(column.layout != Layout::kText || value.empty());
  }
  return values;
}

}  // namespace gpujoin::tests
