// packed_row.hpp: build columns of a row side by side, so that one random access reads them all.
#pragma once

#include <cstdint>
#include <vector>

#include "src/match/table_columns.hpp"

namespace gpujoin::match {

struct PackedRow {
  int32_t width = 0;           // of the row, 8 or 16 bytes; 0: columns stay apart
  std::vector<uint8_t> words;  // the first of each column, in words of 4 bytes
};

// After so many bytes that the row begins with. Columns stay apart where words do not hold them.
PackedRow packed_row(const std::vector<TableColumn>& columns, int32_t first_byte);

}  // namespace gpujoin::match
