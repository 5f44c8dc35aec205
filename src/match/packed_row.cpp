#include "src/match/packed_row.hpp"

#include "src/base/traffic.hpp"

namespace gpujoin::match {

PackedRow packed_row(const std::vector<TableColumn>& columns, int32_t first_byte) {
  uint64_t fours = 0;
  uint64_t eights = 0;
  for (TableColumn const& column : columns) {
    if (column.width != 4 && column.width != 8) return {};
    ++(column.width == 8 ? eights : fours);
  }
  PackedRow row;
  row.width = static_cast<int32_t>(
      base::traffic::packed_row_bytes(static_cast<uint64_t>(first_byte), fours, eights));
  if (row.width == 0) return {};
  // A value of 8 bytes is stored at once.
  int32_t const aligned = (first_byte + 7) / 8 * 8;
  int32_t next_eight = aligned;
  int32_t const behind = aligned + 8 * static_cast<int32_t>(eights);
  int32_t next_four = eights != 0 && aligned == first_byte ? behind : first_byte;
  for (TableColumn const& column : columns) {
    int32_t& next = column.width == 8 ? next_eight : next_four;
    row.words.push_back(static_cast<uint8_t>(next / 4));
    next += column.width;
    if (eights != 0 && next_four == aligned) next_four = behind;
  }
  return row;
}

}  // namespace gpujoin::match
