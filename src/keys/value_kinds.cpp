#include "src/keys/value_kinds.hpp"

#include <string_view>

namespace gpujoin::keys {

using columns::ColumnView;

namespace {

int64_t nanoseconds_of(char unit) {
  switch (unit) {
    case 's':
      return 1'000'000'000;
    case 'm':
      return 1'000'000;
    case 'u':
      return 1'000;
    default:
      return 1;
  }
}

}  // namespace

bool is_signed(gpujoin_type type) {
  return type >= GPUJOIN_TYPE_INT8 && type <= GPUJOIN_TYPE_INT64;
}
bool is_unsigned(gpujoin_type type) {
  return type >= GPUJOIN_TYPE_UINT8 && type <= GPUJOIN_TYPE_UINT64;
}
bool is_integer(const ColumnView& column) {
  return is_signed(column.type) || is_unsigned(column.type);
}
bool is_float(gpujoin_type type) {
  return type == GPUJOIN_TYPE_FLOAT16 || type == GPUJOIN_TYPE_FLOAT32 ||
         type == GPUJOIN_TYPE_FLOAT64;
}
bool is_decimal(const ColumnView& column) { return column.arrow_format.starts_with("d:"); }
bool is_text(gpujoin_type type) {
  return type == GPUJOIN_TYPE_UTF8 || type == GPUJOIN_TYPE_LARGE_UTF8 ||
         type == GPUJOIN_TYPE_UTF8_VIEW;
}
bool is_fixed_binary(const ColumnView& column) { return column.arrow_format.starts_with("w:"); }
bool is_binary(const ColumnView& column) {
  return column.type == GPUJOIN_TYPE_BINARY || column.type == GPUJOIN_TYPE_LARGE_BINARY ||
         column.type == GPUJOIN_TYPE_BINARY_VIEW || is_fixed_binary(column);
}

int32_t scale_of(const ColumnView& column) {
  return is_decimal(column) && column.parts != nullptr ? column.parts->scale : 0;
}

TimeUnit unit_of(const ColumnView& column) {
  constexpr int64_t kDay = 86'400'000'000'000;
  std::string_view const format = column.arrow_format;
  if (column.type == GPUJOIN_TYPE_DATE32) return {Clock::kDates, kDay};
  if (column.type == GPUJOIN_TYPE_DATE64) return {Clock::kDates, nanoseconds_of('m')};
  if (format.starts_with("ts") && format.size() >= 4) {
    return {format.size() > 4 ? Clock::kDatesWithZone : Clock::kDates, nanoseconds_of(format[2])};
  }
  if (format.starts_with("tt") && format.size() == 3) {
    return {Clock::kTimes, nanoseconds_of(format[2])};
  }
  if (format.starts_with("tD") && format.size() == 3) {
    return {Clock::kDurations, nanoseconds_of(format[2])};
  }
  return {};
}

}  // namespace gpujoin::keys
