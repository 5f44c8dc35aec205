// fetch_rows_cuda.cpp: columns by row number on the GPU, through the materialize stage's gather.
#include <utility>

#include "src/base/copy.hpp"
#include "src/base/device.hpp"
#include "src/columns/validity_bits.hpp"
#include "src/execute/fetch_rows.hpp"
#include "src/materialize/materialize.hpp"
#include "src/transfer/transfer.hpp"

namespace gpujoin::execute {

columns::ColumnView copy_to_gpu(base::Queue& queue, const columns::ColumnView& column, int64_t rows,
                                void* ready_event, columns::Storage* data,
                                columns::Storage* validity) {
  base::await(queue, ready_event);
  // Ends when the copies have, also by an exception: the caller's memory is not read after that.
  auto const transport = transfer::explicit_copies(queue);
  columns::DeviceColumn copied = transport->bring(column, rows);
  columns::ColumnView view = column;
  view.data = copied.data;
  view.validity = copied.validity;
  view.validity_bit_offset = copied.validity_bit_offset;
  view.memory = base::Memory::kDevice;
  *data = columns::make_storage(std::move(copied.data_copy));
  *validity = columns::make_storage(std::move(copied.validity_copy));
  return view;
}

columns::ColumnView copy_to_cpu(base::Queue& queue, const columns::ColumnView& column, int64_t rows,
                                void* ready_event, columns::Storage* data,
                                columns::Storage* validity) {
  base::await(queue, ready_event);
  columns::ColumnView view = column;
  view.memory = base::Memory::kHost;
  auto const copy = [&](const void* source, uint64_t bytes) {
    base::Buffer copied = queue.host_pool->allocate(base::Memory::kHost, bytes, "a column's copy");
    base::copy(queue, copied.data(), base::Memory::kHost, source, base::Memory::kDevice, bytes);
    return columns::make_storage(std::move(copied));
  };
  auto const count = static_cast<uint64_t>(rows);
  *data = copy(column.data, base::checked_bytes(count, static_cast<uint64_t>(column.width)));
  view.data = data->get();
  if (column.validity != nullptr) {
    int64_t const first = column.validity_bit_offset / 8;
    view.validity_bit_offset = column.validity_bit_offset % 8;
    *validity =
        copy(column.validity + first, columns::bitmap_bytes(view.validity_bit_offset + rows));
    view.validity = static_cast<const uint8_t*>(validity->get());
  }
  base::finish(queue);
  return view;
}

columns::Storage number_rows_on_gpu(base::Queue& queue, int64_t rows) {
  return materialize::row_numbers(queue, static_cast<uint64_t>(rows));
}

void widen_row_numbers_on_gpu(base::Queue& queue, const uint32_t* rows, uint64_t count,
                              int64_t* wide) {
  materialize::widen_row_numbers(queue, rows, count, wide);
}

std::vector<columns::ResultColumn> gather_on_gpu(
    base::Queue& queue, const std::vector<const columns::ColumnView*>& sources, void* ready_event,
    const uint32_t* rows, uint64_t count) {
  base::await(queue, ready_event);
  std::vector<columns::ResultColumn> targets;
  size_t nullable = 0;
  for (columns::ColumnView const* source : sources) {
    targets.push_back(columns::column_like(*source));
    nullable += source->validity != nullptr ? 1 : 0;
  }
  std::vector<materialize::Request> requests;
  for (size_t i = 0; i < sources.size(); ++i) {
    materialize::Request request;
    request.source.data = sources[i]->data;
    request.source.width = sources[i]->width;
    request.source.validity_bits = sources[i]->validity;
    request.source.validity_bit_offset = sources[i]->validity_bit_offset;
    request.target = &targets[i];
    requests.push_back(request);
  }
  materialize::NullCounts null_counts(queue, nullable);
  materialize::gather(queue, rows, count, requests, null_counts);
  null_counts.finish();
  return targets;
}

}  // namespace gpujoin::execute
