// travellers.hpp: what travels from join to join of a sequence beside the next foreign key.
#pragma once

#include <memory>
#include <utility>

#include "src/columns/column.hpp"
#include "src/columns/result.hpp"
#include "src/execute/sequence_layout.hpp"

namespace gpujoin::execute {

struct Traveller {
  Travels what;
  columns::ResultColumn values;
};

inline columns::ResultColumn row_numbers_of(columns::Storage rows) {
  columns::ResultColumn column;
  column.name = "row numbers";
  column.arrow_format = columns::arrow_format_of(GPUJOIN_TYPE_UINT32);
  column.type = GPUJOIN_TYPE_UINT32;
  column.width = columns::width_of(GPUJOIN_TYPE_UINT32);
  column.data = std::move(rows);
  return column;
}

// A column that a join or a gather wrote, of any layout, as one to be read.
inline columns::ColumnView view_of(const columns::ResultColumn& column, base::Memory memory) {
  columns::ColumnView view;
  view.type = column.type;
  view.layout = column.layout;
  view.width = column.width;
  view.data = column.data.get();
  view.validity = static_cast<const uint8_t*>(column.validity.get());
  view.memory = memory;
  view.name = column.name;
  view.arrow_format = column.arrow_format;
  view.parts = column.parts;
  if (column.layout == columns::Layout::kText || column.layout == columns::Layout::kBits) {
    auto parts = std::make_shared<columns::ColumnParts>();
    parts->offsets = column.offsets.get();
    parts->offset_width = column.offset_width;
    view.parts = std::move(parts);
  }
  return view;
}

}  // namespace gpujoin::execute
