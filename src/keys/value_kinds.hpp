// value_kinds.hpp: what the values of a column are, whichever type holds them: what says which
// columns compare, and in which units.
#pragma once

#include <cstdint>

#include "src/columns/column.hpp"

namespace gpujoin::keys {

bool is_signed(gpujoin_type type);
bool is_unsigned(gpujoin_type type);
bool is_integer(const columns::ColumnView& column);
bool is_float(gpujoin_type type);
bool is_decimal(const columns::ColumnView& column);
bool is_text(gpujoin_type type);
bool is_fixed_binary(const columns::ColumnView& column);
bool is_binary(const columns::ColumnView& column);
// Of a decimal; of anything else 0.
int32_t scale_of(const columns::ColumnView& column);

// What counts time in units: nothing else compares with it.
enum class Clock { kNone, kDates, kDatesWithZone, kTimes, kDurations };
struct TimeUnit {
  Clock clock = Clock::kNone;
  int64_t nanoseconds = 0;
};
TimeUnit unit_of(const columns::ColumnView& column);

}  // namespace gpujoin::keys
