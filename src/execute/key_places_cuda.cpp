#include "src/execute/key_places.hpp"
#include "src/transform/key_range.hpp"

namespace gpujoin::execute {

uint64_t places_of_keys(base::Queue& queue, const columns::Relation& rows, int32_t key) {
  columns::ColumnView const& column = rows.columns[static_cast<size_t>(key)];
  auto const range =
      transform::key_range(queue, column.data, column.width, static_cast<uint32_t>(rows.rows));
  return transform::places_of(range, column.width).places;
}

}  // namespace gpujoin::execute
