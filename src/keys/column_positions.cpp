#include "src/keys/column_positions.hpp"

namespace gpujoin::keys {

kernels::Indices indices_of(const columns::ColumnView& column) {
  kernels::Indices indices;
  indices.values = column.data;
  indices.width = column.width;
  // Arrow writes the formats of integers with a sign in small letters.
  indices.is_signed = !column.arrow_format.empty() && column.arrow_format[0] >= 'a';
  indices.validity = {column.validity, column.validity_bit_offset};
  indices.value_rows = static_cast<uint64_t>(column.parts->value_rows);
  return indices;
}

kernels::Runs runs_of(const columns::ColumnView& column) {
  kernels::Runs runs;
  runs.ends = column.data;
  runs.width = column.width;
  runs.first_row = column.parts->first_row;
  runs.run_count = static_cast<uint64_t>(column.parts->value_rows);
  return runs;
}

}  // namespace gpujoin::keys
