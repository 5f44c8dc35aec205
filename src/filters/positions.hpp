// positions.hpp: values of keys that count something as integers, by which they have an order and a
// bit each: integers and decimals in units of a scale, dates, times, timestamps and durations in
// units of time, truth values.
#pragma once

#include <cstdint>

#include "src/columns/column.hpp"

namespace gpujoin::filters {

struct PositionUnit {
  enum class Kind : int32_t { kNone, kNumbers, kTimes, kBits };
  Kind kind = Kind::kNone;  // kNone: values have no positions
  int32_t scale = 0;        // of kNumbers: 10^-scale
  int64_t nanoseconds = 0;  // of kTimes

  bool operator==(const PositionUnit&) const = default;
};
PositionUnit position_unit(const columns::ColumnView& column);

// Whether a value is its position as it lies: signed, of 4 or 8 bytes, of the same unit.
bool lie_as_positions(const columns::ColumnView& column, const PositionUnit& unit);

// Of rows `first` to `first + count` of a column that compares with one of the unit. has: 0 of a
// value that is no multiple of the unit, or that 64 bits do not hold. Of NULL any. Any thread;
// allocates nothing.
//
// expected: a column in host memory of kValues, kWide or kBits, whose values have positions.
void write_positions(const columns::ColumnView& column, const PositionUnit& unit, int64_t first,
                     int64_t count, int64_t* positions, uint8_t* has);

}  // namespace gpujoin::filters
