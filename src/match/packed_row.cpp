#include "src/match/packed_row.hpp"

#include "src/base/packed_row_bytes.hpp"

namespace gpujoin::match {

PackedRow packed_row(const std::vector<TableColumn>& columns, int32_t first_byte,
                     uint32_t build_rows) {
  base::traffic::PackedValues values;
  for (TableColumn const& column : columns) values.add(column.width);
  PackedRow row;
  row.width = static_cast<int32_t>(
      base::traffic::build_row_bytes(static_cast<uint64_t>(first_byte), values, build_rows));
  if (row.width == 0) return {};
  row.bytes.resize(columns.size());
  // Wide ones first: what is behind them is at a multiple of what is narrower.
  int32_t const aligned = values.eights != 0 ? (first_byte + 7) / 8 * 8 : first_byte;
  int32_t in_gap = first_byte;
  int32_t behind = aligned;
  for (int32_t const width : {8, 4, 2, 1}) {
    for (size_t i = 0; i < columns.size(); ++i) {
      if (columns[i].width != width) continue;
      int32_t& next = in_gap + width <= aligned ? in_gap : behind;
      row.bytes[i] = static_cast<uint8_t>(next);
      next += width;
    }
  }
  return row;
}

}  // namespace gpujoin::match
