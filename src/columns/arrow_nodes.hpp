// arrow_nodes.hpp: structs of the Arrow C data interface that own what they point to.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "gpujoin.h"
#include "src/columns/result.hpp"

namespace gpujoin::columns {

// One exported column: rows `offset` to `offset + rows - 1` of the buffers.
struct ExportedColumn {
  std::string name;
  std::string arrow_format;
  bool nullable = false;
  Layout layout = Layout::kValues;
  int32_t width = 0;
  Storage data;
  Storage validity;  // null: no NULLs
  Storage offsets;   // of text
  int32_t offset_width = 0;
  std::shared_ptr<const ColumnParts> parts;  // of dictionaries and views
  int64_t offset = 0;
  int64_t null_count = 0;  // -1: not counted
};

// Whether its values name what lies in parts->memory: a dictionary, or buffers.
inline bool names_others(const ExportedColumn& column) {
  return column.layout == Layout::kIndices ||
         (column.layout == Layout::kViews && !column.parts->buffers.empty());
}

// Fill an uninitialised struct. Each child owns its own share, so that a consumer may move it out
// and release it later than its parent, on any thread.
void make_struct_schema(const std::vector<ExportedColumn>& columns, ArrowSchema& schema);
// Of one column.
void make_column_array(const ExportedColumn& column, int64_t rows, ArrowArray& array);
void make_struct_array(const std::vector<ExportedColumn>& columns, int64_t rows, ArrowArray& array);

}  // namespace gpujoin::columns
