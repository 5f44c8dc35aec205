// output_rows.cpp: results of the library as chunks of DuckDB's.
#include "bindings/duckdb/src/output_rows.hpp"

#include <algorithm>
#include <cstring>

#include "bindings/duckdb/src/duckdb_versions.hpp"

namespace gpujoin_duckdb {

namespace {

bool bit_at(const uint8_t* bits, size_t position) {
  return (bits[position / 8] >> (position % 8) & 1) != 0;
}

void put_out_validity(const ArrowArray& column, size_t first, size_t rows, duckdb::Vector& vector) {
  if (column.null_count == 0 || column.buffers[0] == nullptr) return;
  auto const* bits = static_cast<const uint8_t*>(column.buffers[0]);
  auto& validity = validity_to_write(vector);
  validity.Initialize(STANDARD_VECTOR_SIZE);
  if (first % 8 == 0) {
    std::memcpy(validity.GetData(), bits + first / 8, (rows + 7) / 8);
    return;
  }
  for (size_t row = 0; row < rows; ++row) validity.Set(row, bit_at(bits, first + row));
}

void put_out_bits(const ArrowArray& column, size_t first, size_t rows, duckdb::Vector& vector) {
  auto const* bits = static_cast<const uint8_t*>(column.buffers[1]);
  auto* values = values_to_write<bool>(vector);
  for (size_t row = 0; row < rows; ++row) values[row] = bit_at(bits, first + row);
}

template <class Offset>
void put_out_text(const ArrowArray& column, size_t first, size_t rows, duckdb::Vector& vector) {
  auto const* offsets = static_cast<const Offset*>(column.buffers[1]) + first;
  auto const* bytes = static_cast<const char*>(column.buffers[2]);
  auto* strings = values_to_write<duckdb::string_t>(vector);
  for (size_t row = 0; row < rows; ++row) {
    auto const length = static_cast<uint32_t>(offsets[row + 1] - offsets[row]);
    strings[row] =
        length == 0 ? duckdb::string_t() : duckdb::string_t(bytes + offsets[row], length);
  }
}

}  // namespace

ExportedResult::ExportedResult(gpujoin_result* result) {
  gpujoin_error error;
  check(gpujoin_result_export(result, nullptr, &schema_, &array_, &error), error);
}

ExportedResult::~ExportedResult() {
  schema_.release(&schema_);
  array_.release(&array_);
}

void OutputRows::begin(Result result) {
  int64_t rows = 0;
  gpujoin_error error;
  check(gpujoin_result_get_rows(result.get(), &rows, &error), error);
  exported_ = rows == 0 ? nullptr : std::make_shared<ExportedResult>(result.get());
  row_ = 0;
  rows_ = static_cast<size_t>(rows);
}

void OutputRows::put_out(duckdb::DataChunk& chunk) {
  size_t const rows = std::min<size_t>(rows_ - row_, STANDARD_VECTOR_SIZE);
  for (size_t i = 0; i < chunk.ColumnCount(); ++i) {
    auto& vector = chunk.data[i];
    auto const& column = exported_->column(i);
    size_t const first = static_cast<size_t>(column.offset) + row_;
    set_size(vector, rows);
    put_out_validity(column, first, rows, vector);
    switch (exported_->format(i)[0]) {
      case 'b':
        put_out_bits(column, first, rows, vector);
        break;
      case 'U':
      case 'Z':
        put_out_text<int64_t>(column, first, rows, vector);
        keep_with(vector, exported_);
        break;
      case 'u':
      case 'z':
        put_out_text<int32_t>(column, first, rows, vector);
        keep_with(vector, exported_);
        break;
      default: {
        size_t const width = duckdb::GetTypeIdSize(vector.GetType().InternalType());
        auto const* values = static_cast<const char*>(column.buffers[1]);
        std::memcpy(bytes_to_write(vector), values + first * width, rows * width);
      }
    }
  }
  chunk.SetChildCardinality(rows);
  row_ += rows;
  if (is_at_end()) exported_.reset();
}

}  // namespace gpujoin_duckdb
