// copied_rows_cuda.cpp: by one kernel that looks at the keys, or by copies.
#include <algorithm>
#include <utility>
#include <vector>

#include "src/base/copy.hpp"
#include "src/base/device.hpp"
#include "src/columns/result.hpp"
#include "src/execute/column_work.hpp"
#include "src/execute/copied_rows.hpp"
#include "src/transform/copy_rows.hpp"

namespace gpujoin::execute {

namespace {

bool are_on_device(const columns::Relation& rows) {
  return std::all_of(rows.columns.begin(), rows.columns.end(),
                     [](auto const& column) { return column.memory == base::Memory::kDevice; });
}

}  // namespace

CopiedRows copied_on_device(base::Queue& queue, const columns::Relation& batch,
                            std::optional<int32_t> key) {
  base::await(queue, batch.ready_event);
  auto made = std::make_shared<columns::Relation>();
  auto held = std::make_shared<Held>();
  made->context = batch.context;
  made->rows = batch.rows;
  made->columns = batch.columns;
  held->reserve(batch.columns.size());
  for (columns::ColumnView& column : made->columns) {
    base::Buffer buffer = queue.device_pool->try_allocate(
        base::Memory::kDevice, base::checked_bytes(static_cast<uint64_t>(batch.rows),
                                                   static_cast<uint64_t>(column.width)));
    if (!buffer) return {};
    column.data = buffer.data();
    column.memory = base::Memory::kDevice;
    held->push_back(columns::make_storage(std::move(buffer)));
  }
  CopiedRows copied;
  bool const looks = key && are_on_device(batch) &&
                     transform::can_copy_rows(batch.columns.size(),
                                              batch.columns[static_cast<size_t>(*key)].width);
  std::vector<transform::CopiedColumn> columns;
  columns.reserve(batch.columns.size());
  for (size_t i = 0; i < batch.columns.size(); ++i) {
    columns::ColumnView const& from = batch.columns[i];
    auto* const to = const_cast<void*>(made->columns[i].data);
    if (looks) {
      columns.push_back({from.data, to, from.width});
    } else {
      base::copy(queue, to, base::Memory::kDevice, from.data, from.memory,
                 static_cast<uint64_t>(batch.rows) * static_cast<uint64_t>(from.width));
    }
  }
  if (looks) {
    copied.seen = transform::copy_rows(queue, columns, static_cast<size_t>(*key),
                                       static_cast<uint32_t>(batch.rows));
  } else {
    base::finish(queue);
  }
  made->owner = std::move(held);
  copied.rows = std::move(made);
  return copied;
}

}  // namespace gpujoin::execute
