// packed_row.hpp: build columns of a row side by side, so that one random access reads them all.
#pragma once

#include <cstdint>
#include <vector>

#include "src/match/table_columns.hpp"

namespace gpujoin::match {

struct PackedRow {
  int32_t width = 0;           // of the row, 4, 8 or 16 bytes; 0: columns stay apart
  std::vector<uint8_t> bytes;  // the first of each column
};

// After so many bytes that the row begins with, a multiple of 4. Columns stay apart where a row
// does not hold them, or base::traffic::packs_build_row says so.
PackedRow packed_row(const std::vector<TableColumn>& columns, int32_t first_byte,
                     uint32_t build_rows);

}  // namespace gpujoin::match
