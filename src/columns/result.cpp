#include "src/columns/result.hpp"

#include <utility>

namespace gpujoin::columns {

Storage make_storage(base::Buffer buffer) {
  auto owner = std::make_shared<base::Buffer>(std::move(buffer));
  const void* first_byte = owner->data();
  return Storage(std::move(owner), first_byte);
}

ResultColumn column_like(const ColumnView& view) {
  ResultColumn column;
  column.name = view.name;
  column.arrow_format = view.arrow_format;
  column.type = view.type;
  column.layout = view.layout;
  column.width = view.width;
  // A decimal's scale, too, of any width.
  if (is_moved_as_values(view.layout) || view.layout == Layout::kWide) column.parts = view.parts;
  return column;
}

}  // namespace gpujoin::columns
