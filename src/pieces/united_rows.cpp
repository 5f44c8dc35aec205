#include "src/pieces/united_rows.hpp"

#include <utility>

#include "src/base/copy.hpp"
#include "src/columns/result.hpp"
#include "src/execute/column_work.hpp"
#include "src/pieces/row_schema.hpp"

namespace gpujoin::pieces {

using base::Memory;
using columns::Relation;

std::shared_ptr<const Relation> united(base::Queue& queue,
                                       std::span<const std::shared_ptr<const Relation>> parts) {
  if (parts.size() == 1) return parts.front();
  auto made = std::make_shared<Relation>();
  auto held = std::make_shared<execute::Held>();
  for (auto const& part : parts) {
    if (!has_values_alone(*part)) return nullptr;
    made->rows += part->rows;
  }
  if (made->rows > kMostRowsOfRelation) return nullptr;
  made->context = parts.front()->context;
  for (size_t i = 0; i < parts.front()->columns.size(); ++i) {
    columns::ColumnView column = parts.front()->columns[i];
    auto const width = static_cast<uint64_t>(column.width);
    base::Buffer values = queue.device_pool->try_allocate(
        Memory::kDevice, base::checked_bytes(static_cast<uint64_t>(made->rows), width));
    if (!values) {
      base::finish(queue);
      return nullptr;
    }
    auto* to = values.as<std::byte>();
    for (auto const& part : parts) {
      uint64_t const bytes = static_cast<uint64_t>(part->rows) * width;
      base::copy(queue, to, Memory::kDevice, part->columns[i].data, Memory::kDevice, bytes);
      to += bytes;
    }
    column.data = values.data();
    column.memory = Memory::kDevice;
    made->columns.push_back(std::move(column));
    held->push_back(columns::make_storage(std::move(values)));
  }
  base::finish(queue);
  made->owner = std::move(held);
  return made;
}

}  // namespace gpujoin::pieces
