#include "src/pieces/brought_rows.hpp"

#include <utility>

#include "src/base/copy.hpp"
#include "src/execute/column_work.hpp"
#include "src/pieces/row_schema.hpp"

namespace gpujoin::pieces {

using columns::Relation;

std::shared_ptr<const Relation> brought(base::Queue& queue,
                                        const std::shared_ptr<const Relation>& rows,
                                        base::Memory memory) {
  auto const work = execute::make_column_work(queue, memory);
  if (rows->ready_event != nullptr) execute::column_work_on_gpu(queue)->await(rows->ready_event);
  auto made = std::make_shared<Relation>();
  auto held = std::make_shared<execute::Held>();
  made->context = rows->context;
  made->rows = rows->rows;
  held->push_back(rows);
  for (columns::ColumnView const& column : rows->columns) {
    made->columns.push_back(execute::bring_column(queue, *work, column, rows->rows, held.get()));
  }
  made->owner = std::move(held);
  return made;
}

std::shared_ptr<const Relation> in_host(base::Queue& queue,
                                        const std::shared_ptr<const Relation>& rows) {
  if (!lies_on_device(*rows)) return rows;
  auto made = brought(queue, rows, base::Memory::kHost);
  base::finish(queue);
  return made;
}

int64_t number_of_row(base::Queue& queue, const Relation& rows, int64_t row) {
  columns::ColumnView const& numbers = rows.columns.back();
  int64_t number = 0;
  base::copy(queue, &number, base::Memory::kHost, static_cast<const int64_t*>(numbers.data) + row,
             numbers.memory, sizeof(number));
  base::finish(queue);
  return number;
}

std::shared_ptr<const Relation> only_columns(const std::shared_ptr<const Relation>& rows,
                                             const std::vector<int32_t>& columns) {
  auto made = std::make_shared<Relation>();
  made->context = rows->context;
  made->rows = rows->rows;
  made->ready_event = rows->ready_event;
  made->owner = std::const_pointer_cast<Relation>(rows);
  for (int32_t const column : columns) {
    made->columns.push_back(rows->columns[static_cast<size_t>(column)]);
  }
  return made;
}

}  // namespace gpujoin::pieces
