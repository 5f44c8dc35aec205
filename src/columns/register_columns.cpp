#include "src/columns/register_columns.hpp"

#include <algorithm>
#include <memory>
#include <string>
#include <utility>

#include "src/base/copy.hpp"
#include "src/base/status.hpp"

namespace gpujoin::columns {

namespace {

using base::fail;
using base::Memory;

bool is_aligned(const void* data, int32_t width) {
  return reinterpret_cast<uintptr_t>(data) % static_cast<uintptr_t>(std::min(width, 8)) == 0;
}

// What a column is called in messages. Of columns that are right none is made.
struct Argument {
  size_t number;
  std::string text(const char* field = "") const {
    return "columns[" + std::to_string(number) + "]" + field;
  }
};

// Where the column lies. Data and validity are read by the same kernels, so they lie together.
Memory memory_of_column(base::Context& context, const gpujoin_column& column,
                        const Argument& argument) {
  if (column.memory == GPUJOIN_MEMORY_DEVICE && context.is_cuda() &&
      column.cuda_device_id != context.facts.cuda_device_id) {
    fail(GPUJOIN_ERROR_INVALID_ARGUMENT, "%s.cuda_device_id is %d and the context's device is %d",
         argument.text().c_str(), column.cuda_device_id, context.facts.cuda_device_id);
  }
  if (column.memory == GPUJOIN_MEMORY_HOST) return Memory::kHost;
  if (column.memory == GPUJOIN_MEMORY_PINNED) return Memory::kPinned;
  // Text of no bytes has no data.
  const void* const first = column.data != nullptr ? column.data : column.offsets;
  Memory const data =
      base::memory_of(context, first, column.memory, argument.text(".data").c_str());
  auto const check_beside = [&](const void* other, const char* field) {
    if (other == nullptr) return;
    Memory const lies =
        base::memory_of(context, other, column.memory, (argument.text(".") + field).c_str());
    if ((data == Memory::kDevice) == (lies == Memory::kDevice)) return;
    fail(GPUJOIN_ERROR_INVALID_ARGUMENT,
         "%s: one of data and %s lies in device memory, the other one does not",
         argument.text().c_str(), field);
  };
  check_beside(column.validity, "validity");
  if (layout_of(column.type) == Layout::kText) check_beside(column.offsets, "offsets");
  return data;
}

void check_bit(int64_t bit, const Argument& argument, const char* field) {
  if (bit >= 0 && bit <= kMostPosition) return;
  fail(GPUJOIN_ERROR_INVALID_ARGUMENT, "%s.%s is %lld, allowed are 0 to 2^50",
       argument.text().c_str(), field, static_cast<long long>(bit));
}

bool is_decimal(const gpujoin_column& column) {
  return (column.type >= GPUJOIN_TYPE_DECIMAL32 && column.type <= GPUJOIN_TYPE_DECIMAL256) ||
         (column.type == GPUJOIN_TYPE_BYTES16 && column.decimal_precision != 0);
}

void take_decimal(const gpujoin_column& column, const Argument& argument, ColumnView& view,
                  ColumnParts& parts) {
  int32_t most = 9;
  if (view.width == 8) most = 18;
  if (view.width == 16) most = 38;
  if (view.width == 32) most = 76;
  if (column.decimal_precision < 1 || column.decimal_precision > most) {
    fail(GPUJOIN_ERROR_INVALID_ARGUMENT, "%s.decimal_precision is %d, allowed are 1 to %d",
         argument.text().c_str(), column.decimal_precision, most);
  }
  if (column.decimal_scale < -most || column.decimal_scale > most) {
    fail(GPUJOIN_ERROR_INVALID_ARGUMENT, "%s.decimal_scale is %d, allowed are %d to %d",
         argument.text().c_str(), column.decimal_scale, -most, most);
  }
  parts.scale = column.decimal_scale;
  view.arrow_format =
      "d:" + std::to_string(column.decimal_precision) + "," + std::to_string(column.decimal_scale);
  if (view.width != 16) view.arrow_format += "," + std::to_string(view.width * 8);
}

// What a layout has beside data and validity.
void take_parts(const gpujoin_column& column, const Argument& argument, ColumnView& view) {
  view.arrow_format = arrow_format_of(column.type);
  auto parts = std::make_shared<ColumnParts>();
  if (view.layout == Layout::kBits) {
    check_bit(column.first_bit, argument, "first_bit");
    parts->first_bit = column.first_bit;
  } else if (view.layout == Layout::kText) {
    parts->offsets = column.offsets;
    parts->offset_width = is_large_text(column.type) ? 8 : 4;
  } else if (column.type == GPUJOIN_TYPE_FIXED_BINARY) {
    if (column.value_width < 1) {
      fail(GPUJOIN_ERROR_INVALID_ARGUMENT, "%s.value_width is %d and FIXED_BINARY has 1 or more",
           argument.text().c_str(), column.value_width);
    }
    view.width = column.value_width;
    view.arrow_format = "w:" + std::to_string(view.width);
    return;
  } else if (is_decimal(column)) {
    take_decimal(column, argument, view, *parts);
  } else {
    return;
  }
  view.parts = std::move(parts);
}

ColumnView view_of(base::Context& context, int64_t rows, const gpujoin_column& column,
                   const Argument& argument) {
  ColumnView view;
  view.type = column.type;
  view.layout = layout_of(column.type);
  view.width = width_of(column.type);
  bool const is_arrows = view.layout == Layout::kOther || view.layout == Layout::kViews ||
                         view.layout == Layout::kIndices || view.layout == Layout::kRuns;
  if (is_arrows) {
    fail(GPUJOIN_ERROR_TYPE, "%s.type: %d is not a GPUJOIN_TYPE_* that a plain column has",
         argument.text().c_str(), column.type);
  }
  if (column.memory < GPUJOIN_MEMORY_AUTOMATIC || column.memory > GPUJOIN_MEMORY_PINNED) {
    fail(GPUJOIN_ERROR_INVALID_ARGUMENT, "%s.memory: %d is not a GPUJOIN_MEMORY_*",
         argument.text().c_str(), column.memory);
  }
  check_bit(column.validity_bit_offset, argument, "validity_bit_offset");
  take_parts(column, argument, view);
  if (column.name != nullptr) view.name = column.name;
  if (rows == 0) return view;  // nobody reads its pointers
  if (view.layout == Layout::kNulls) return view;
  if (column.data == nullptr && view.layout != Layout::kText) {
    fail(GPUJOIN_ERROR_INVALID_ARGUMENT, "%s.data is NULL and there are %lld rows",
         argument.text().c_str(), static_cast<long long>(rows));
  }
  if (view.layout == Layout::kValues && !is_aligned(column.data, view.width)) {
    check_alignment(column.data, view.width, argument.text(".data").c_str());
  }
  view.memory = memory_of_column(context, column, argument);
  view.data = column.data;
  view.validity = column.validity;
  view.validity_bit_offset = column.validity == nullptr ? 0 : column.validity_bit_offset;
  if (view.layout == Layout::kText) check_text(view, rows, argument.text().c_str());
  return view;
}

}  // namespace

void check_row_count(int64_t rows, const char* what) {
  if (rows < 0) fail(GPUJOIN_ERROR_INVALID_ARGUMENT, "%s is negative", what);
  if (rows >= int64_t{UINT32_MAX}) {
    fail(GPUJOIN_ERROR_TOO_MANY_ROWS, "%s: %lld, and an input relation has at most 2^32 - 2", what,
         static_cast<long long>(rows));
  }
}

void check_alignment(const void* data, int32_t width, const char* what) {
  if (is_aligned(data, width)) return;
  fail(GPUJOIN_ERROR_INVALID_ARGUMENT, "%s is not aligned to %d bytes", what, std::min(width, 8));
}

void check_text(const ColumnView& column, int64_t rows, const char* what) {
  ColumnParts const& parts = *column.parts;
  if (parts.offsets == nullptr) {
    fail(GPUJOIN_ERROR_INVALID_ARGUMENT, "%s has no offsets", what);
  }
  check_alignment(parts.offsets, parts.offset_width, what);
  if (column.memory == Memory::kDevice) return;
  auto const [first, last] = first_and_last_offset(parts, rows);
  if (first < 0 || last < first) {
    fail(GPUJOIN_ERROR_INVALID_ARGUMENT, "%s: offsets begin at %lld and end at %lld", what,
         static_cast<long long>(first), static_cast<long long>(last));
  }
  if (last > first && column.data == nullptr) {
    fail(GPUJOIN_ERROR_INVALID_ARGUMENT, "%s has %lld bytes of values and no data", what,
         static_cast<long long>(last - first));
  }
}

std::shared_ptr<Relation> register_columns(const std::shared_ptr<base::Context>& context,
                                           int64_t rows, std::span<const gpujoin_column> columns) {
  check_row_count(rows, "rows");
  auto relation = std::make_shared<Relation>();
  relation->context = context;
  relation->rows = rows;
  relation->columns.reserve(columns.size());
  for (size_t i = 0; i < columns.size(); ++i) {
    relation->columns.push_back(view_of(*context, rows, columns[i], {i}));
  }
  return relation;
}

}  // namespace gpujoin::columns
