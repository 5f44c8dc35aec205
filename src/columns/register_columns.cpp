#include "src/columns/register_columns.hpp"

#include <algorithm>
#include <string>

#include "src/base/copy.hpp"
#include "src/base/status.hpp"

namespace gpujoin::columns {

namespace {

using base::fail;
using base::Memory;

// Where the column lies. Data and validity are read by the same kernels, so they lie together.
Memory memory_of_column(base::Context& context, const gpujoin_column& column,
                        const std::string& argument) {
  if (column.memory == GPUJOIN_MEMORY_DEVICE && context.is_cuda() &&
      column.cuda_device_id != context.facts.cuda_device_id) {
    fail(GPUJOIN_ERROR_INVALID_ARGUMENT, "%s.cuda_device_id is %d and the context's device is %d",
         argument.c_str(), column.cuda_device_id, context.facts.cuda_device_id);
  }
  Memory const data =
      base::memory_of(context, column.data, column.memory, (argument + ".data").c_str());
  if (column.validity == nullptr) return data;
  Memory const validity =
      base::memory_of(context, column.validity, column.memory, (argument + ".validity").c_str());
  if ((data == Memory::kDevice) != (validity == Memory::kDevice)) {
    fail(GPUJOIN_ERROR_INVALID_ARGUMENT,
         "%s: one of data and validity lies in device memory, the other one does not",
         argument.c_str());
  }
  return data;
}

ColumnView view_of(base::Context& context, int64_t rows, const gpujoin_column& column,
                   const std::string& argument) {
  ColumnView view;
  view.type = column.type;
  view.width = width_of(column.type);
  if (view.width == 0) {
    fail(GPUJOIN_ERROR_TYPE, "%s.type: %d is not a GPUJOIN_TYPE_* of this version",
         argument.c_str(), column.type);
  }
  if (column.memory < GPUJOIN_MEMORY_AUTOMATIC || column.memory > GPUJOIN_MEMORY_PINNED) {
    fail(GPUJOIN_ERROR_INVALID_ARGUMENT, "%s.memory: %d is not a GPUJOIN_MEMORY_*",
         argument.c_str(), column.memory);
  }
  if (column.validity_bit_offset < 0 || column.validity_bit_offset > kMostPosition) {
    fail(GPUJOIN_ERROR_INVALID_ARGUMENT, "%s.validity_bit_offset is %lld, allowed are 0 to 2^50",
         argument.c_str(), static_cast<long long>(column.validity_bit_offset));
  }
  view.arrow_format = arrow_format_of(column.type);
  if (column.name != nullptr) view.name = column.name;
  if (rows == 0) return view;  // nobody reads its pointers
  if (column.data == nullptr) {
    fail(GPUJOIN_ERROR_INVALID_ARGUMENT, "%s.data is NULL and there are %lld rows",
         argument.c_str(), static_cast<long long>(rows));
  }
  check_alignment(column.data, view.width, (argument + ".data").c_str());
  view.memory = memory_of_column(context, column, argument);
  view.data = column.data;
  view.validity = column.validity;
  view.validity_bit_offset = column.validity == nullptr ? 0 : column.validity_bit_offset;
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
  auto const alignment = static_cast<uintptr_t>(std::min(width, 8));
  if (reinterpret_cast<uintptr_t>(data) % alignment != 0) {
    fail(GPUJOIN_ERROR_INVALID_ARGUMENT, "%s is not aligned to %d bytes", what,
         static_cast<int>(alignment));
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
    relation->columns.push_back(
        view_of(*context, rows, columns[i], "columns[" + std::to_string(i) + "]"));
  }
  return relation;
}

}  // namespace gpujoin::columns
