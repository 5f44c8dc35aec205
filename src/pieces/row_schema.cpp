#include "src/pieces/row_schema.hpp"

#include <algorithm>
#include <string>
#include <utility>

#include "src/base/status.hpp"
#include "src/columns/types.hpp"

namespace gpujoin::pieces {

namespace {

using base::fail;
using columns::ColumnParts;
using columns::ColumnView;
using columns::Layout;

const ColumnView& innermost(const ColumnView& column) {
  const ColumnView* values = &column;
  while (names_values(*values)) values = values->parts->values.get();
  return *values;
}

int32_t scale_of(const ColumnView& column) {
  return column.parts == nullptr ? 0 : column.parts->scale;
}

// What a column is, without what it has: nothing of a batch may be kept that the caller frees.
ColumnView without_data(const ColumnView& column) {
  ColumnView made;
  made.type = column.type;
  made.width = column.width;
  made.layout = column.layout;
  made.name = column.name;
  made.arrow_format = column.arrow_format;
  if (column.parts == nullptr) return made;
  auto parts = std::make_shared<ColumnParts>();
  parts->offset_width = column.parts->offset_width;
  parts->scale = column.parts->scale;
  if (names_values(column)) {
    parts->values = std::make_shared<ColumnView>(without_data(*column.parts->values));
  }
  made.parts = std::move(parts);
  return made;
}

// expected: values of a layout that is gathered.
ColumnView gathered_like(const ColumnView& column) {
  ColumnView made = without_data(innermost(column));
  made.name = column.name;
  if (made.layout == Layout::kViews) {
    made.type =
        made.type == GPUJOIN_TYPE_UTF8_VIEW ? GPUJOIN_TYPE_LARGE_UTF8 : GPUJOIN_TYPE_LARGE_BINARY;
    made.width = columns::width_of(made.type);
    made.layout = columns::layout_of(made.type);
    made.arrow_format = columns::arrow_format_of(made.type);
  }
  if (made.layout == Layout::kText) {
    auto parts = std::make_shared<ColumnParts>();
    parts->offset_width = columns::is_large_text(made.type) ? 8 : 4;
    made.parts = std::move(parts);
  }
  return made;
}

ColumnView row_numbers_column() {
  ColumnView made;
  made.type = GPUJOIN_TYPE_INT64;
  made.width = columns::width_of(made.type);
  made.layout = columns::layout_of(made.type);
  made.arrow_format = columns::arrow_format_of(made.type);
  return made;
}

// For messages: of dictionaries and runs what their values are, too.
std::string text_of(const ColumnView& column) {
  std::string text =
      std::string(columns::name_of(column.type)) + " \"" + column.arrow_format + "\"";
  if (names_values(column)) text += " of " + text_of(*column.parts->values);
  return text;
}

bool is_gathered_as_it_is(const ColumnView& column) {
  return !names_values(column) && column.layout != Layout::kViews &&
         column.layout != Layout::kOther;
}

bool are_gathered_alike(const ColumnView& one, const ColumnView& other) {
  return one.type == other.type && one.width == other.width && one.layout == other.layout &&
         one.arrow_format == other.arrow_format && scale_of(one) == scale_of(other);
}

}  // namespace

std::shared_ptr<const RowSchema> make_row_schema(const columns::Relation& like,
                                                 bool has_row_numbers) {
  auto schema = std::make_shared<RowSchema>();
  schema->has_row_numbers = has_row_numbers;
  for (size_t i = 0; i < like.columns.size(); ++i) {
    ColumnView const& column = like.columns[i];
    if (innermost(column).layout == Layout::kOther) {
      fail(GPUJOIN_ERROR_UNSUPPORTED,
           "columns[%zu]: rows with values of the Arrow format \"%s\" cannot be gathered", i,
           innermost(column).arrow_format.c_str());
    }
    schema->given.push_back(without_data(column));
    schema->columns.push_back(gathered_like(column));
  }
  if (has_row_numbers) schema->columns.push_back(row_numbers_column());
  return schema;
}

void check_batch(const RowSchema& schema, const columns::Relation& batch, const char* argument) {
  if (batch.columns.size() != schema.given.size()) {
    fail(GPUJOIN_ERROR_INVALID_ARGUMENT, "%s has %zu columns, and the first batch has %zu",
         argument, batch.columns.size(), schema.given.size());
  }
  if (batch.selection != nullptr) {
    fail(GPUJOIN_ERROR_UNSUPPORTED, "%s picks rows of another relation", argument);
  }
  for (size_t i = 0; i < schema.given.size(); ++i) {
    ColumnView const& column = batch.columns[i];
    ColumnView const& expected = schema.given[i];
    // Of most batches; the other way takes a microsecond a column.
    if (is_gathered_as_it_is(column) && column.type == expected.type &&
        are_gathered_alike(column, schema.columns[i])) {
      continue;
    }
    if (column.type == expected.type && innermost(column).layout != Layout::kOther &&
        are_gathered_alike(gathered_like(column), schema.columns[i])) {
      continue;
    }
    fail(GPUJOIN_ERROR_TYPE, "%s.columns[%zu] is %s, and that of the first batch %s", argument, i,
         text_of(column).c_str(), text_of(expected).c_str());
  }
}

bool is_read_where_it_lies(const columns::Relation& batch) {
  // To begin a copy of less costs more than gathering it does.
  constexpr int64_t kLeastCopied = int64_t{1} << 20;
  if (batch.selection != nullptr || batch.columns.empty()) return false;
  bool const is_large = batch.rows >= kLeastCopied;
  return std::all_of(batch.columns.begin(), batch.columns.end(), [&](ColumnView const& column) {
    return (is_large || column.memory == base::Memory::kDevice) && is_gathered_as_it_is(column);
  });
}

bool is_whole_number(gpujoin_type type) {
  switch (type) {
    case GPUJOIN_TYPE_INT8:
    case GPUJOIN_TYPE_INT16:
    case GPUJOIN_TYPE_INT32:
    case GPUJOIN_TYPE_INT64:
    case GPUJOIN_TYPE_UINT8:
    case GPUJOIN_TYPE_UINT16:
    case GPUJOIN_TYPE_UINT32:
    case GPUJOIN_TYPE_UINT64:
      return true;
    default:
      return false;
  }
}

bool lies_on_device(const columns::Relation& batch) {
  return std::any_of(batch.columns.begin(), batch.columns.end(), [](ColumnView const& column) {
    return column.memory == base::Memory::kDevice;
  });
}

uint64_t bytes_of_row(const RowSchema& schema) {
  uint64_t bytes = 0;
  for (ColumnView const& column : schema.columns) {
    bool const is_text = column.layout == columns::Layout::kText;
    bytes += static_cast<uint64_t>(is_text ? column.parts->offset_width : column.width);
  }
  return std::max<uint64_t>(bytes, 1);
}

uint64_t bytes_of_values(const columns::Relation& batch) {
  uint64_t bytes = 0;
  for (ColumnView const& column : batch.columns) {
    bytes += static_cast<uint64_t>(batch.rows) * static_cast<uint64_t>(column.width);
  }
  return bytes;
}

std::shared_ptr<const columns::Relation> relation_of(const RowSchema& schema,
                                                     std::shared_ptr<base::Context> context) {
  auto none = std::make_shared<columns::Relation>();
  none->context = std::move(context);
  none->columns = schema.columns;
  return none;
}

}  // namespace gpujoin::pieces
