#include "src/execute/aggregate_types.hpp"

#include <array>
#include <memory>
#include <string>

#include "src/keys/derived_key.hpp"
#include "src/keys/value_kinds.hpp"

namespace gpujoin::execute {

using columns::ColumnView;
using columns::Layout;
using columns::ResultColumn;
using kernels::NumberForm;
using keys::is_decimal;
using keys::is_float;
using keys::is_unsigned;
using keys::values_of;

const char* name_of_function(gpujoin_function function) {
  constexpr std::array<const char*, 9> kNames = {"",    "count", "count", "sum",   "min",
                                                 "max", "avg",   "any",   "exists"};
  return kNames[static_cast<size_t>(function)];
}

bool has_column(gpujoin_function function) {
  return function != GPUJOIN_FUNCTION_COUNT_ROWS && function != GPUJOIN_FUNCTION_EXISTS;
}

std::string type_of_values(const ColumnView& column) {
  ColumnView const& values = values_of(column);
  if (values.type != 0) return columns::name_of(values.type);
  return "Arrow format \"" + values.arrow_format + "\"";
}

bool has_sum(const ColumnView& column) {
  ColumnView const& values = values_of(column);
  return keys::is_integer(values) || is_float(values.type) || is_decimal(values);
}

bool has_order(const ColumnView& column) {
  ColumnView const& values = values_of(column);
  bool const is_interval = values.type >= GPUJOIN_TYPE_INTERVAL_MONTHS &&
                           values.type <= GPUJOIN_TYPE_INTERVAL_MONTH_DAY_NANO;
  return values.type != 0 && !is_interval && values.layout != Layout::kOther;
}

bool has_ordinals(const ColumnView& column) {
  ColumnView const& values = values_of(column);
  return values.layout == Layout::kValues && values.width <= 8 &&
         values.type != GPUJOIN_TYPE_FIXED_BINARY;
}

kernels::RowsForm rows_form_of(const ColumnView& column) {
  ColumnView const& values = values_of(column);
  if (values.layout == Layout::kBits) return kernels::RowsForm::kBits;
  if (has_ordinals(values)) return kernels::RowsForm::kNumbers;
  return is_decimal(values) ? kernels::RowsForm::kSigned : kernels::RowsForm::kBytes;
}

kernels::Numbers numbers_of(const ColumnView& column) {
  kernels::Numbers numbers;
  numbers.values = static_cast<const uint8_t*>(column.data);
  numbers.width = column.width;
  if (is_float(column.type)) numbers.form = NumberForm::kFloat;
  if (is_unsigned(column.type)) numbers.form = NumberForm::kUnsigned;
  return numbers;
}

ResultColumn total_like(const columns::Aggregate& aggregate, const ColumnView* column) {
  ResultColumn made;
  made.name = aggregate.name;
  switch (aggregate.function) {
    case GPUJOIN_FUNCTION_SUM: {
      ColumnView const& values = values_of(*column);
      if (is_decimal(values)) {
        made.type = GPUJOIN_TYPE_BYTES16;
        auto parts = std::make_shared<columns::ColumnParts>();
        parts->scale = keys::scale_of(values);
        made.arrow_format = "d:38," + std::to_string(parts->scale);
        made.parts = std::move(parts);
      } else if (is_float(values.type)) {
        made.type = GPUJOIN_TYPE_FLOAT64;
      } else {
        made.type = is_unsigned(values.type) ? GPUJOIN_TYPE_UINT64 : GPUJOIN_TYPE_INT64;
      }
      break;
    }
    case GPUJOIN_FUNCTION_AVG:
      made.type = GPUJOIN_TYPE_FLOAT64;
      break;
    case GPUJOIN_FUNCTION_EXISTS:
      made.type = GPUJOIN_TYPE_BOOL;
      break;
    default:
      made.type = GPUJOIN_TYPE_INT64;
  }
  if (made.arrow_format.empty()) made.arrow_format = columns::arrow_format_of(made.type);
  made.layout = columns::layout_of(made.type);
  made.width = columns::width_of(made.type);
  return made;
}

}  // namespace gpujoin::execute
