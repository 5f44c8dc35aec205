#include "src/columns/arrow_export.hpp"

#include <string>
#include <vector>

#include "src/base/copy.hpp"
#include "src/base/status.hpp"
#include "src/columns/arrow_nodes.hpp"
#include "src/columns/copied_parts.hpp"
#include "src/columns/page.hpp"
#include "src/columns/validity_bits.hpp"

namespace gpujoin::columns {

namespace {

using base::Memory;

// The whole result's columns in export order: the pairs, then the output columns.
std::vector<ExportedColumn> columns_of(base::Queue& queue, const JoinResult& result) {
  std::vector<ExportedColumn> columns;
  columns.reserve(result.columns.size() + 2);
  // The schema of a query does not depend on its data.
  auto const add_rows = [&](const std::string& name, const Storage& rows, bool nullable,
                            const Storage& validity, int64_t missing,
                            const Storage& numbers = nullptr) {
    gpujoin_type const type = numbers == nullptr ? GPUJOIN_TYPE_UINT32 : GPUJOIN_TYPE_INT64;
    ExportedColumn column;
    column.name = name;
    column.arrow_format = arrow_format_of(type);
    column.nullable = nullable;
    column.width = width_of(type);
    column.data = numbers == nullptr ? rows : numbers;
    column.validity = validity;
    column.null_count = missing;
    columns.push_back(std::move(column));
  };
  if (result.has_left_rows()) {
    add_rows("left_row", result.left_rows, result.may_miss_left_rows,
             result.rows_validity(queue, true), result.left_rows_missing, result.left_numbers);
  }
  if (result.has_right_rows() && result.step_rows.empty()) {
    add_rows("right_row", result.right_rows, result.may_miss_right_rows,
             result.rows_validity(queue, false), result.right_rows_missing, result.right_numbers);
  }
  for (size_t i = 0; result.has_pairs && i < result.step_rows.size(); ++i) {
    StepRows const& step = result.step_rows[i];
    if (!step.come_out) continue;
    add_rows("right_row_" + std::to_string(i), step.rows, step.may_miss, step.validity,
             step.missing);
  }
  for (const ResultColumn& column : result.columns) {
    ExportedColumn exported;
    exported.name = column.name;
    exported.arrow_format = column.arrow_format;
    exported.nullable = true;  // even when no NULL came out
    exported.layout = column.layout;
    exported.width = column.width;
    exported.data = column.data;
    exported.validity = column.null_count == 0 ? nullptr : column.validity;
    exported.offsets = column.offsets;
    exported.offset_width = column.offset_width;
    exported.parts = column.parts;
    exported.null_count = column.null_count;
    columns.push_back(std::move(exported));
  }
  return columns;
}

Window window_on(base::Queue& queue, const JoinResult& result, const gpujoin_page& page,
                 const std::vector<ExportedColumn>& columns) {
  PageBytes bytes;
  for (const ExportedColumn& column : columns) {
    bytes.values_per_row += static_cast<uint64_t>(column.width);
    if (column.layout == Layout::kBits) ++bytes.host_bitmaps;
    if (column.layout == Layout::kText && result.rows != 0) {
      bytes.texts.emplace_back(queue, result.memory, column.offsets.get(), column.offset_width);
    }
    if (column.validity != nullptr) ++bytes.host_bitmaps;
  }
  return window_of(page, result.rows, bytes);
}

// Device memory on its way to the host, all columns at once.
class Bringing {
 public:
  explicit Bringing(base::Queue& queue) : queue_(queue) {}

  // A copy of `bytes` bytes, complete after finish(). In page-locked memory where it is small: to
  // page-lock much of it takes longer than to copy it twice.
  Storage on_host(const Storage& source, uint64_t first_byte, uint64_t bytes) {
    if (bytes == 0) return nullptr;
    constexpr uint64_t kMostLocked = uint64_t{4} << 20;
    base::Buffer buffer;
    if (bytes <= kMostLocked) buffer = queue_.device_pool->try_allocate(Memory::kPinned, bytes);
    if (!buffer) buffer = queue_.host_pool->allocate(Memory::kHost, bytes, "the exported page");
    sources_.push_back(source);  // nobody else may have it
    copies_.push_back({buffer.data(), buffer.memory(),
                       static_cast<const std::byte*>(source.get()) + first_byte, Memory::kDevice,
                       bytes});
    return make_storage(std::move(buffer));
  }

  void finish() {
    base::copy(queue_, copies_);
    base::finish(queue_);
    copies_.clear();
    sources_.clear();
  }

 private:
  base::Queue& queue_;
  std::vector<base::Copy> copies_;
  std::vector<Storage> sources_;
};

// Offsets that begin where the copied bytes do.
template <typename Offset>
void rebase(void* offsets, int64_t rows) {
  auto* const values = static_cast<Offset*>(offsets);
  Offset const first = values[0];
  for (int64_t row = 0; row <= rows; ++row) values[row] -= first;
}

// expected: rows > 0.
void bring_text(base::Queue& queue, const Window& window, ExportedColumn& column,
                Bringing& bringing) {
  TextOffsets const text(queue, Memory::kDevice, column.offsets.get(), column.offset_width);
  uint64_t const first_byte = text.at(window.first_row);
  uint64_t const bytes = text.bytes_of(window);
  auto const width = static_cast<uint64_t>(column.offset_width);
  column.data = bringing.on_host(column.data, first_byte, bytes);
  column.offsets = bringing.on_host(column.offsets, static_cast<uint64_t>(window.first_row) * width,
                                    (static_cast<uint64_t>(window.rows) + 1) * width);
  bringing.finish();
  auto* const offsets = const_cast<void*>(column.offsets.get());
  width == 8 ? rebase<int64_t>(offsets, window.rows) : rebase<int32_t>(offsets, window.rows);
}

// Copies the page's rows. It starts at a whole byte of the validity bits, so that none has to be
// shifted; the array's offset skips the few rows before the page.
void bring_to_host(base::Queue& queue, const Window& page, std::vector<ExportedColumn>& columns) {
  int64_t const lead = page.rows == 0 ? 0 : page.first_row % 8;
  Window const window = {page.first_row - lead, page.rows + lead};
  auto const first_row = static_cast<uint64_t>(window.first_row);
  Bringing bringing(queue);
  for (ExportedColumn& column : columns) {
    column.offset = lead;
    if (column.validity != nullptr) {
      column.validity = bringing.on_host(column.validity, first_row / 8, bitmap_bytes(window.rows));
    }
    if (column.layout == Layout::kBits) {
      column.data = bringing.on_host(column.data, first_row / 8, bitmap_bytes(window.rows));
    } else if (column.layout == Layout::kText) {
      if (page.rows != 0) {
        bring_text(queue, window, column, bringing);
      } else {
        column.data = column.offsets = nullptr;
      }
    } else if (column.layout != Layout::kNulls) {
      auto const width = static_cast<uint64_t>(column.width);
      column.data =
          bringing.on_host(column.data, first_row * width,
                           base::checked_bytes(static_cast<uint64_t>(window.rows), width));
    }
  }
  bringing.finish();
}

// What dictionaries and views name lies where it was imported from.
void bring_parts(base::Queue& queue, Memory memory, std::vector<ExportedColumn>& columns) {
  bool const on_device = memory == Memory::kDevice;
  bool any = false;
  for (ExportedColumn& column : columns) {
    if (!names_others(column)) continue;
    if ((column.parts->memory == Memory::kDevice) == on_device) continue;
    column.parts = copied_parts(queue, column, memory);
    any = true;
  }
  if (any) base::finish(queue);
}

// Of no rows there is nothing behind the first.
void start_at(const Window& window, std::vector<ExportedColumn>& columns) {
  for (ExportedColumn& column : columns) column.offset = window.rows == 0 ? 0 : window.first_row;
}

// A page's NULLs are counted where the host can read the bits.
void count_page_nulls(const Window& window, bool readable, std::vector<ExportedColumn>& columns) {
  for (ExportedColumn& column : columns) {
    if (column.layout == Layout::kNulls) {
      column.null_count = window.rows;
    } else if (column.validity == nullptr) {
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
  std::vector<ExportedColumn> columns = columns_of(queue, result);
  bring_parts(queue, Memory::kHost, columns);
  Window const window = window_on(queue, result, page, columns);
  if (result.memory == Memory::kDevice) {
    bring_to_host(queue, window, columns);
  } else {
    start_at(window, columns);
  }
  count_page_nulls(window, true, columns);
  export_columns(columns, window.rows, schema, array);
  advance(page, window);
}

void export_page_device(base::Queue& queue, const JoinResult& result, gpujoin_page& page,
                        ArrowSchema& schema, ArrowDeviceArray& array) {
  std::vector<ExportedColumn> columns = columns_of(queue, result);
  bool const on_device = result.memory == Memory::kDevice;
  bring_parts(queue, result.memory, columns);
  Window const window = window_on(queue, result, page, columns);
  bool const whole = window.rows == result.rows;
  start_at(window, columns);
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
