// drawn_tables.hpp: tables of random rows, joins of them in one call, and their rows as text.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "src/base/status.hpp"
#include "src/columns/arrow_export.hpp"
#include "src/columns/fetch_page.hpp"
#include "src/columns/join_kind.hpp"
#include "src/columns/types.hpp"
#include "src/columns/validity_bits.hpp"
#include "src/execute/execute.hpp"
#include "tests/own_queue.hpp"

namespace gpujoin::tests {

// Keys of 4 and 8 bytes, a number, and text; the keys and the text with NULLs.
struct Table {
  std::vector<int32_t> key;
  std::vector<int64_t> second;
  std::vector<int32_t> number;
  std::vector<int32_t> offsets = {0};
  std::string text;
  std::vector<uint8_t> key_valid, second_valid, text_valid;
};

struct Drawing {
  int64_t rows = 0;
  int64_t keys = 1;  // different ones
  double hot = 0;    // of the rows have key 0
  double nulls = 0;
  uint64_t seed = 0;
};

inline std::shared_ptr<Table> draw(const Drawing& drawn) {
  auto table = std::make_shared<Table>();
  std::mt19937_64 random(drawn.seed);
  std::bernoulli_distribution is_null(drawn.nulls);
  std::bernoulli_distribution is_hot(drawn.hot);
  std::uniform_int_distribution<int64_t> key(0, drawn.keys - 1);
  auto const bytes = columns::bitmap_bytes(drawn.rows) + 1;
  table->key_valid.assign(bytes, 0);
  table->second_valid.assign(bytes, 0);
  table->text_valid.assign(bytes, 0);
  auto const add_bit = [&](std::vector<uint8_t>& bits, int64_t row) {
    if (!is_null(random)) bits[row / 8] |= static_cast<uint8_t>(1 << row % 8);
  };
  for (int64_t row = 0; row < drawn.rows; ++row) {
    table->key.push_back(is_hot(random) ? 0 : static_cast<int32_t>(key(random)));
    table->second.push_back(key(random) % 3);
    table->number.push_back(static_cast<int32_t>(random() % 1000));
    table->text += std::string(random() % 20, static_cast<char>('a' + row % 26));
    table->offsets.push_back(static_cast<int32_t>(table->text.size()));
    add_bit(table->key_valid, row);
    add_bit(table->second_valid, row);
    add_bit(table->text_valid, row);
  }
  return table;
}

inline columns::ColumnView plain(gpujoin_type type, const void* data, const uint8_t* validity) {
  columns::ColumnView view;
  view.type = type;
  view.width = columns::width_of(type);
  view.layout = columns::layout_of(type);
  view.data = data;
  view.validity = validity;
  view.name = "c";
  view.arrow_format = columns::arrow_format_of(type);
  return view;
}

inline std::shared_ptr<const columns::Relation> relation_of(
    const std::shared_ptr<base::Context>& context, const std::shared_ptr<Table>& table) {
  auto relation = std::make_shared<columns::Relation>();
  relation->context = context;
  relation->rows = static_cast<int64_t>(table->key.size());
  relation->owner = table;
  relation->columns.push_back(
      plain(GPUJOIN_TYPE_INT32, table->key.data(), table->key_valid.data()));
  relation->columns.push_back(
      plain(GPUJOIN_TYPE_INT64, table->second.data(), table->second_valid.data()));
  relation->columns.push_back(plain(GPUJOIN_TYPE_INT32, table->number.data(), nullptr));
  columns::ColumnView text = plain(GPUJOIN_TYPE_UTF8, table->text.data(), table->text_valid.data());
  auto parts = std::make_shared<columns::ColumnParts>();
  parts->offsets = table->offsets.data();
  parts->offset_width = 4;
  text.parts = std::move(parts);
  relation->columns.push_back(std::move(text));
  return relation;
}

inline bool is_set(const void* bits, int64_t row) {
  return (static_cast<const uint8_t*>(bits)[row / 8] >> (row % 8) & 1) != 0;
}

template <typename T>
std::string number_at(const ArrowArray& array, int64_t row) {
  return std::to_string(static_cast<const T*>(array.buffers[1])[row]);
}

// A value of an exported column.
inline std::string value_of(const std::string& format, const ArrowArray& array, int64_t of_row) {
  int64_t const row = array.offset + of_row;
  if (array.buffers[0] != nullptr && !is_set(array.buffers[0], row)) return "NULL";
  if (format == "b") return is_set(array.buffers[1], row) ? "true" : "false";
  if (format == "i") return number_at<int32_t>(array, row);
  if (format == "I") return number_at<uint32_t>(array, row);
  if (format == "l") return number_at<int64_t>(array, row);
  EXPECT_EQ(format, "u");
  auto const* const offsets = static_cast<const int32_t*>(array.buffers[1]);
  auto const* const bytes = static_cast<const char*>(array.buffers[2]);
  return "'" + std::string(bytes + offsets[row], bytes + offsets[row + 1]) + "'";
}

// How often each row comes.
using Rows = std::map<std::string, int64_t>;

inline void add_rows(const columns::JoinResult& result, Rows* rows) {
  if (result.rows == 0) return;
  OwnQueue const queue(result.context);
  gpujoin_page page = GPUJOIN_PAGE_INIT;
  ArrowSchema schema;
  ArrowArray array;
  columns::export_page(queue, result, page, schema, array);
  for (int64_t row = 0; row < result.rows; ++row) {
    std::string text;
    for (int64_t i = 0; i < array.n_children; ++i) {
      text += value_of(schema.children[i]->format, *array.children[i], row) + " ";
    }
    ++(*rows)[text];
  }
  schema.release(&schema);
  array.release(&array);
}

inline std::shared_ptr<base::Context> make_context(uint64_t limit,
                                                   gpujoin_device device = GPUJOIN_DEVICE_CPU) {
  gpujoin_context_options options = GPUJOIN_CONTEXT_OPTIONS_INIT;
  options.device = device;
  options.cpu_threads = 2;
  options.memory_limit_bytes = limit;
  return base::create_context(options);
}

inline Rows one_call(const std::shared_ptr<base::Context>& context,
                     const std::shared_ptr<Table>& left, const std::shared_ptr<Table>& right,
                     const columns::JoinSpec& spec) {
  OwnQueue const queue(context);
  Rows rows;
  auto const plan =
      execute::make_plan(queue, relation_of(context, left), relation_of(context, right), spec,
                         GPUJOIN_PLAN_OPTIONS_INIT);
  add_rows(*execute::execute(queue, plan), &rows);
  return rows;
}

inline columns::JoinSpec spec_of(columns::JoinKind kind, bool two_keys, bool null_equal,
                                 bool pairs) {
  columns::JoinSpec spec;
  spec.kind = kind;
  spec.left_keys = spec.right_keys = {0};
  if (two_keys) spec.left_keys = spec.right_keys = {0, 1};
  spec.key_flags.assign(spec.left_keys.size(), 0);
  if (null_equal) spec.key_flags.back() = columns::kNullEqual;
  if (kind == columns::JoinKind::kCross) {
    spec.left_keys.clear();
    spec.right_keys.clear();
    spec.key_flags.clear();
  }
  spec.pairs = pairs;
  spec.materialize = true;
  if (columns::rows_of(kind, true) != columns::RowsOfSide::kNone) spec.left_columns = {2, 3};
  if (columns::rows_of(kind, false) != columns::RowsOfSide::kNone) spec.right_columns = {3, 0};
  return spec;
}

inline std::string text_of(const Rows& rows) {
  std::string text;
  for (auto const& [row, count] : rows) text += std::to_string(count) + "x " + row + "\n";
  return text.substr(0, 2000);
}

// What one has and the other has not.
inline Rows without(const Rows& some, const Rows& others) {
  Rows left;
  for (auto const& [row, count] : some) {
    auto const found = others.find(row);
    int64_t const missing = count - (found == others.end() ? 0 : found->second);
    if (missing > 0) left[row] = missing;
  }
  return left;
}

// Of a single join that fails in one call.
inline bool has_several(const std::shared_ptr<base::Context>& context,
                        const std::shared_ptr<Table>& left, const std::shared_ptr<Table>& right,
                        const columns::JoinSpec& spec) {
  try {
    one_call(context, left, right, spec);
  } catch (const base::Error& error) {
    EXPECT_EQ(error.status(), GPUJOIN_ERROR_SEVERAL_MATCHES) << error.what();
    return true;
  }
  return false;
}

// Null where there is no device.
inline std::shared_ptr<base::Context> gpu_context(uint64_t limit) {
  try {
    return make_context(limit, GPUJOIN_DEVICE_CUDA);
  } catch (const base::Error& error) {
    if (error.status() != GPUJOIN_ERROR_NO_DEVICE) throw;
    return nullptr;
  }
}

}  // namespace gpujoin::tests
