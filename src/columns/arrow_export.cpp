#include "src/columns/arrow_export.hpp"

#include <string>
#include <vector>

#include "src/base/copy.hpp"
#include "src/base/status.hpp"
#include "src/columns/arrow_nodes.hpp"
#include "src/columns/page.hpp"
#include "src/columns/validity_bits.hpp"

namespace gpujoin::columns {

namespace {

using base::Memory;

// The whole result's columns in export order: the pairs, then the output columns.
std::vector<ExportedColumn> columns_of(const JoinResult& result) {
  std::vector<ExportedColumn> columns;
  columns.reserve(result.columns.size() + 2);
  // The schema of a query does not depend on its data.
  auto const add_rows = [&](const std::string& name, const Storage& rows, bool nullable,
                            const Storage& validity, int64_t missing) {
    columns.push_back({name, "I", nullable, 4, rows, validity, 0, missing});
  };
  if (result.has_left_rows()) {
    add_rows("left_row", result.left_rows, result.may_miss_left_rows, result.left_rows_validity,
             result.left_rows_missing);
  }
  if (result.has_right_rows() && result.step_rows.empty()) {
    add_rows("right_row", result.right_rows, result.may_miss_right_rows, result.right_rows_validity,
             result.right_rows_missing);
  }
  for (size_t i = 0; result.has_pairs && i < result.step_rows.size(); ++i) {
    add_rows("right_row_" + std::to_string(i), result.step_rows[i], false, nullptr, 0);
  }
  for (const ResultColumn& column : result.columns) {
    // Nullable even when no NULL came out.
    columns.push_back({column.name, column.arrow_format, true, column.width, column.data,
                       column.null_count == 0 ? nullptr : column.validity, 0, column.null_count});
  }
  return columns;
}

Window window_on(const JoinResult& result, const gpujoin_page& page,
                 const std::vector<ExportedColumn>& columns) {
  PageBytes bytes;
  for (const ExportedColumn& column : columns) {
    bytes.values_per_row += static_cast<uint64_t>(column.width);
    if (column.width == 0) ++bytes.host_bitmaps;
    if (column.validity != nullptr) ++bytes.host_bitmaps;
  }
  return window_of(page, result.rows, bytes);
}

// A copy of `bytes` bytes of device memory in page-locked memory, complete after base::finish.
Storage on_host(base::Queue& queue, const Storage& source, uint64_t first_byte, uint64_t bytes) {
  if (bytes == 0) return nullptr;
  base::Buffer buffer = queue.device_pool->allocate(Memory::kPinned, bytes, "the exported page");
  base::copy(queue, buffer.data(), Memory::kPinned,
             static_cast<const std::byte*>(source.get()) + first_byte, Memory::kDevice, bytes);
  return make_storage(std::move(buffer));
}

// Copies the page's rows. It starts at a whole byte of the validity bits, so that none has to be
// shifted; the array's offset skips the few rows before the page.
void bring_to_host(base::Queue& queue, const Window& window, std::vector<ExportedColumn>& columns) {
  int64_t const lead = window.rows == 0 ? 0 : window.first_row % 8;
  auto const first_row = static_cast<uint64_t>(window.first_row - lead);
  int64_t const rows = window.rows + lead;
  for (ExportedColumn& column : columns) {
    auto const width = static_cast<uint64_t>(column.width);
    bool const is_bits = width == 0;
    column.data = on_host(
        queue, column.data, is_bits ? first_row / 8 : first_row * width,
        is_bits ? bitmap_bytes(rows) : base::checked_bytes(static_cast<uint64_t>(rows), width));
    if (column.validity != nullptr) {
      column.validity = on_host(queue, column.validity, first_row / 8, bitmap_bytes(rows));
    }
    column.offset = lead;
  }
  base::finish(queue);
}

// A page's NULLs are counted where the host can read the bits.
void count_page_nulls(const Window& window, bool readable, std::vector<ExportedColumn>& columns) {
  for (ExportedColumn& column : columns) {
    if (column.validity == nullptr) {
      column.null_count = 0;
    } else if (readable) {
      column.null_count = count_nulls(static_cast<const uint8_t*>(column.validity.get()),
                                      column.offset, window.rows);
    } else {
      column.null_count = -1;
    }
  }
}

void export_columns(const std::vector<ExportedColumn>& columns, int64_t rows, ArrowSchema& schema,
                    ArrowArray& array) {
  ArrowArray made{};
  make_struct_array(columns, rows, made);
  // The schema is made last, into the caller's struct: nothing after it can fail. Should it throw,
  // the array is let go of first.
  struct Undo {
    ArrowArray* array;
    ~Undo() {
      if (array != nullptr) array->release(array);
    }
  } undo{&made};
  make_struct_schema(columns, schema);
  undo.array = nullptr;
  array = made;
}

}  // namespace

void export_page(base::Queue& queue, const JoinResult& result, gpujoin_page& page,
                 ArrowSchema& schema, ArrowArray& array) {
  std::vector<ExportedColumn> columns = columns_of(result);
  Window const window = window_on(result, page, columns);
  if (result.memory == Memory::kDevice) {
    bring_to_host(queue, window, columns);
  } else {
    for (ExportedColumn& column : columns) column.offset = window.first_row;
  }
  count_page_nulls(window, true, columns);
  export_columns(columns, window.rows, schema, array);
  advance(page, window);
}

void export_page_device(const JoinResult& result, gpujoin_page& page, ArrowSchema& schema,
                        ArrowDeviceArray& array) {
  std::vector<ExportedColumn> columns = columns_of(result);
  Window const window = window_on(result, page, columns);
  bool const on_device = result.memory == Memory::kDevice;
  bool const whole = window.rows == result.rows;
  for (ExportedColumn& column : columns) column.offset = window.first_row;
  if (!on_device || !whole) count_page_nulls(window, !on_device, columns);

  ArrowDeviceArray made{};
  export_columns(columns, window.rows, schema, made.array);
  made.device_type = on_device ? ARROW_DEVICE_CUDA : ARROW_DEVICE_CPU;
  made.device_id = on_device ? result.context->facts.cuda_device_id : -1;
  made.sync_event = nullptr;  // execute returned after the stream had finished
  array = made;
  advance(page, window);
}

}  // namespace gpujoin::columns
