// condition_tables.hpp: columns of each type for the tests of conditions, and conditions written by
// hand.
#pragma once

#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "src/columns/column.hpp"
#include "src/columns/condition.hpp"
#include "src/columns/types.hpp"

namespace gpujoin::tests {

__extension__ typedef __int128 Integer;

// A column with its memory, of any type, as Arrow has it: behind some rows that are not its own.
struct ArrowColumn {
  columns::ColumnView view;
  std::vector<uint64_t> data;
  std::vector<uint8_t> text;
  std::vector<uint8_t> validity;
  std::vector<uint64_t> offsets;
  std::vector<std::vector<uint8_t>> buffers;
  std::vector<std::shared_ptr<ArrowColumn>> children;
};

// What is written of each row: integers of any width (bools, dates, decimals unscaled), floats,
// bytes. None: NULL.
using Integers = std::vector<std::optional<Integer>>;
using Floats = std::vector<std::optional<double>>;
using Texts = std::vector<std::optional<std::string>>;

inline constexpr size_t kRowsBefore = 3;  // bits of validity before the first row's

inline void put_validity(ArrowColumn* column, const std::vector<bool>& valid) {
  bool any = false;
  column->validity.assign((valid.size() + kRowsBefore) / 8 + 1, 0);
  for (size_t i = 0; i < valid.size(); ++i) {
    any = any || !valid[i];
    size_t const bit = i + kRowsBefore;
    if (valid[i]) column->validity[bit / 8] |= static_cast<uint8_t>(1U << (bit % 8));
  }
  if (!any) return;
  column->view.validity = column->validity.data();
  column->view.validity_bit_offset = kRowsBefore;
}

template <typename Values>
std::vector<bool> which_are_there(const Values& values) {
  std::vector<bool> there;
  for (auto const& value : values) there.push_back(value.has_value());
  return there;
}

inline std::shared_ptr<ArrowColumn> of_format(const std::string& format) {
  columns::ArrowType const type = columns::type_of_arrow_format(format);
  auto made = std::make_shared<ArrowColumn>();
  made->view.type = type.type;
  made->view.width = type.width;
  made->view.layout = type.layout;
  made->view.arrow_format = format;
  made->view.name = format;
  auto parts = std::make_shared<columns::ColumnParts>();
  parts->scale = type.scale;
  made->view.parts = std::move(parts);
  return made;
}

inline columns::ColumnParts& parts_of(ArrowColumn* column) {
  return const_cast<columns::ColumnParts&>(*column->view.parts);
}

inline std::shared_ptr<ArrowColumn> integers(const std::string& format, const Integers& values) {
  auto made = of_format(format);
  if (made->view.layout == columns::Layout::kBits) {
    constexpr size_t kFirstBit = 5;
    made->text.assign((values.size() + kFirstBit) / 8 + 1, 0);
    for (size_t i = 0; i < values.size(); ++i) {
      size_t const bit = i + kFirstBit;
      if (values[i].value_or(1) != 0) made->text[bit / 8] |= static_cast<uint8_t>(1U << (bit % 8));
    }
    parts_of(made.get()).first_bit = kFirstBit;
    made->view.data = made->text.data();
  } else {
    auto const width = static_cast<size_t>(made->view.width);
    made->data.resize((values.size() * width) / 8 + 1);
    for (size_t i = 0; i < values.size(); ++i) {
      // Beneath a NULL is what would overflow.
      Integer const value = values[i].value_or(Integer{1} << (8 * std::min(width, size_t{15}) - 1));
      Integer const words[2] = {value, value < 0 ? Integer{-1} : Integer{0}};
      std::memcpy(reinterpret_cast<char*>(made->data.data()) + i * width, words, width);
    }
    made->view.data = made->data.data();
  }
  put_validity(made.get(), which_are_there(values));
  return made;
}

inline std::shared_ptr<ArrowColumn> floats(const std::string& format, const Floats& values) {
  auto made = of_format(format);
  auto const width = static_cast<size_t>(made->view.width);
  made->data.resize((values.size() * width) / 8 + 1);
  for (size_t i = 0; i < values.size(); ++i) {
    double const wide = values[i].value_or(0);
    auto const narrow = static_cast<float>(wide);
    auto const half = static_cast<_Float16>(wide);
    const void* const from = width == 8   ? static_cast<const void*>(&wide)
                             : width == 4 ? static_cast<const void*>(&narrow)
                                          : static_cast<const void*>(&half);
    std::memcpy(reinterpret_cast<char*>(made->data.data()) + i * width, from, width);
  }
  made->view.data = made->data.data();
  put_validity(made.get(), which_are_there(values));
  return made;
}

// Text, binary, views, and of a width.
inline std::shared_ptr<ArrowColumn> texts(const std::string& format, const Texts& values) {
  auto made = of_format(format);
  ArrowColumn& column = *made;
  auto const append = [](std::vector<uint8_t>* to, const std::string& bytes) {
    for (char const byte : bytes) to->push_back(static_cast<uint8_t>(byte));
  };
  if (column.view.layout == columns::Layout::kText) {
    append(&column.text, "before");
    auto const width = static_cast<size_t>(format == "u" || format == "z" ? 4 : 8);
    column.offsets.resize((values.size() + 1) * width / 8 + 1);
    for (size_t i = 0; i <= values.size(); ++i) {
      uint64_t const offset = column.text.size();
      std::memcpy(reinterpret_cast<char*>(column.offsets.data()) + i * width, &offset, width);
      if (i < values.size()) append(&column.text, values[i].value_or("beneath"));
    }
    parts_of(made.get()).offsets = column.offsets.data();
    parts_of(made.get()).offset_width = static_cast<int32_t>(width);
    column.view.data = column.text.data();
  } else if (column.view.layout == columns::Layout::kViews) {
    column.buffers.resize(2);
    column.data.resize(2 * values.size() + 1);
    for (size_t i = 0; i < values.size(); ++i) {
      uint8_t view[16];
      std::memset(view, 0xee, sizeof(view));  // beneath a NULL nobody may look
      if (values[i]) {
        auto const size = static_cast<int32_t>(values[i]->size());
        auto& buffer = column.buffers[i % 2];
        int32_t const place[2] = {static_cast<int32_t>(i % 2), static_cast<int32_t>(buffer.size())};
        std::memcpy(view, &size, 4);
        if (size <= 12) {
          std::memcpy(view + 4, values[i]->data(), values[i]->size());
        } else {
          std::memcpy(view + 4, values[i]->data(), 4);
          std::memcpy(view + 8, place, 8);
          append(&buffer, *values[i]);
        }
      }
      std::memcpy(&column.data[2 * i], view, sizeof(view));
    }
    for (auto const& buffer : column.buffers) {
      parts_of(made.get()).buffers.push_back(buffer.data());
      parts_of(made.get()).buffer_bytes.push_back(static_cast<int64_t>(buffer.size()));
    }
    column.view.data = column.data.data();
  } else {
    auto const width = static_cast<size_t>(column.view.width);
    column.data.resize(values.size() * width / 8 + 1);
    for (size_t i = 0; i < values.size(); ++i) {
      std::string bytes = values[i].value_or("");
      bytes.resize(width, '\0');
      std::memcpy(reinterpret_cast<char*>(column.data.data()) + i * width, bytes.data(), width);
    }
    column.view.data = column.data.data();
  }
  put_validity(made.get(), which_are_there(values));
  return made;
}

inline std::shared_ptr<ArrowColumn> nulls() { return of_format("n"); }

// Indices of a byte each; a NULL one, and one that lies outside, is a NULL.
inline std::shared_ptr<ArrowColumn> dictionary(std::shared_ptr<ArrowColumn> values,
                                               int64_t value_rows, const Integers& indices) {
  auto made = integers("c", indices);
  made->view.layout = columns::Layout::kIndices;
  made->view.type = GPUJOIN_TYPE_DICTIONARY;
  parts_of(made.get()).values = std::make_shared<columns::ColumnView>(values->view);
  parts_of(made.get()).value_rows = value_rows;
  made->children.push_back(std::move(values));
  return made;
}

// Of a slice that begins at first_row.
inline std::shared_ptr<ArrowColumn> runs(std::shared_ptr<ArrowColumn> values,
                                         const std::vector<int32_t>& ends, int64_t first_row) {
  auto made = of_format("+r");
  made->view.layout = columns::Layout::kRuns;
  made->view.type = GPUJOIN_TYPE_RUN_END_ENCODED;
  made->view.width = 4;
  made->data.resize(ends.size() / 2 + 1);
  std::memcpy(made->data.data(), ends.data(), ends.size() * sizeof(int32_t));
  made->view.data = made->data.data();
  parts_of(made.get()).values = std::make_shared<columns::ColumnView>(values->view);
  parts_of(made.get()).value_rows = static_cast<int64_t>(ends.size());
  parts_of(made.get()).first_row = first_row;
  made->children.push_back(std::move(values));
  return made;
}

struct ArrowTable {
  std::vector<std::shared_ptr<ArrowColumn>> columns;

  std::shared_ptr<columns::Relation> relation(int64_t rows) const {
    auto made = std::make_shared<columns::Relation>();
    made->rows = rows;
    for (auto const& column : columns) made->columns.push_back(column->view);
    made->owner = std::make_shared<std::vector<std::shared_ptr<ArrowColumn>>>(columns);
    return made;
  }
};

// A condition in postfix order: each call adds a node.
class Written {
 public:
  Written& left(int32_t column) { return add(GPUJOIN_OPERATOR_COLUMN, 0, true, column, nullptr); }
  Written& right(int32_t column) { return add(GPUJOIN_OPERATOR_COLUMN, 0, false, column, nullptr); }
  Written& constant(const std::shared_ptr<ArrowColumn>& column) {
    return add(GPUJOIN_OPERATOR_CONSTANT, 0, false, 0, ArrowTable{{column}}.relation(1));
  }
  Written& in(const std::shared_ptr<ArrowColumn>& column, int64_t rows) {
    return add(GPUJOIN_OPERATOR_IN, 1, false, 0, ArrowTable{{column}}.relation(rows));
  }
  Written& of(gpujoin_operator operation, int32_t count) {
    return add(operation, count, false, 0, nullptr);
  }
  operator const columns::Condition&() const { return condition_; }
  columns::Condition& condition() { return condition_; }

 private:
  Written& add(gpujoin_operator operation, int32_t count, bool of_left, int32_t column,
               std::shared_ptr<const columns::Relation> values) {
    condition_.nodes.push_back({operation, count, of_left, column, std::move(values)});
    return *this;
  }
  columns::Condition condition_;
};

}  // namespace gpujoin::tests
