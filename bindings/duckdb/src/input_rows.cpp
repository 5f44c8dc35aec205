// input_rows.cpp: chunks of one side of a join as relations of the library.
#include "bindings/duckdb/src/input_rows.hpp"

#include "bindings/duckdb/src/duckdb_versions.hpp"

namespace gpujoin_duckdb {

namespace {

gpujoin_column column_of_type(const ColumnType& type) {
  gpujoin_column column = GPUJOIN_COLUMN_INIT;
  column.type = type.type;
  column.memory = GPUJOIN_MEMORY_HOST;
  column.decimal_precision = type.decimal_precision;
  column.decimal_scale = type.decimal_scale;
  return column;
}

Relation relation_of_columns(gpujoin_context* context, size_t rows,
                             const std::vector<gpujoin_column>& columns) {
  gpujoin_relation* made = nullptr;
  gpujoin_error error;
  check(gpujoin_relation_create(context, static_cast<int64_t>(rows), columns.data(),
                                static_cast<int32_t>(columns.size()), &made, &error),
        error);
  return Relation(made);
}

}  // namespace

Relation empty_relation(gpujoin_context* context, const SideLayout& side) {
  static constexpr int64_t no_offset = 0;
  std::vector<gpujoin_column> columns;
  for (auto const& type : side.types) {
    columns.push_back(column_of_type(type));
    if (type.is_text()) columns.back().offsets = &no_offset;
  }
  return relation_of_columns(context, 0, columns);
}

InputRows::InputRows(duckdb::ClientContext& client, Context context, const SideLayout& side)
    : context_(std::move(context)), side_(side), executor_(client, side.expressions) {
  values_.Initialize(client, side.logical_types());
  texts_.resize(side.types.size());
}

const gpujoin_relation* InputRows::relation_of(duckdb::DataChunk& chunk) {
  values_.Reset();
  executor_.Execute(chunk, values_);
  values_.Flatten();
  size_t const rows = chunk.size();
  std::vector<gpujoin_column> columns;
  for (size_t i = 0; i < side_.types.size(); ++i) {
    auto& vector = values_.data[i];
    gpujoin_column column = column_of_type(side_.types[i]);
    auto const& validity = duckdb::FlatVector::Validity(vector);
    if (can_have_null(validity)) {
      column.validity = reinterpret_cast<const uint8_t*>(validity.GetData());
    }
    if (side_.types[i].is_text()) {
      describe_text(vector, rows, texts_[i], column);
    } else {
      column.data = duckdb::FlatVector::GetData(vector);
    }
    columns.push_back(column);
  }
  relation_ = relation_of_columns(context_.get(), rows, columns);
  return relation_.get();
}

void InputRows::describe_text(duckdb::Vector& vector, size_t rows, Text& text,
                              gpujoin_column& column) {
  auto const* strings = duckdb::FlatVector::GetData<duckdb::string_t>(vector);
  auto const& validity = duckdb::FlatVector::Validity(vector);
  text.offsets.resize(rows + 1);
  text.offsets[0] = 0;
  text.bytes.clear();
  text.bytes.reserve(1);  // its address is asked for even where all rows are empty
  for (size_t row = 0; row < rows; ++row) {
    if (validity.RowIsValid(row)) {
      auto const* first = strings[row].GetData();
      text.bytes.insert(text.bytes.end(), first, first + strings[row].GetSize());
    }
    text.offsets[row + 1] = static_cast<int64_t>(text.bytes.size());
  }
  column.offsets = text.offsets.data();
  column.data = text.bytes.data();
}

}  // namespace gpujoin_duckdb
