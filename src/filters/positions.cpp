#include "src/filters/positions.hpp"

#include <algorithm>
#include <cstring>

#include "src/keys/value_kinds.hpp"
#include "src/pieces/exact_number.hpp"

namespace gpujoin::filters {

namespace {

using columns::ColumnView;
using columns::Layout;
using kernels::Wide;
using Kind = PositionUnit::Kind;

__extension__ typedef __int128 TwoWords;

constexpr int32_t kMostPower = 18;  // 10^18 is the greatest that a signed word holds

int64_t power_of_ten(int32_t exponent) {
  int64_t power = 1;
  for (; exponent > 0; --exponent) power *= 10;
  return power;
}

// mantissa * 10^exponent as an integer of 64 bits, if it is one.
bool as_integer(int64_t mantissa, int32_t exponent, int64_t* made) {
  if (mantissa == 0) {
    *made = 0;
    return true;
  }
  if (exponent < -kMostPower || exponent > kMostPower) return false;
  int64_t const power = power_of_ten(exponent < 0 ? -exponent : exponent);
  if (exponent >= 0) return !__builtin_mul_overflow(mantissa, power, made);
  *made = mantissa / power;
  return mantissa % power == 0;
}

template <typename Value>
Value value_at(const ColumnView& column, int64_t row) {
  Value value;
  std::memcpy(&value,
              static_cast<const uint8_t*>(column.data) + row * static_cast<int64_t>(sizeof(Value)),
              sizeof(Value));
  return value;
}

struct Written {
  const ColumnView& column;
  int64_t first;
  int64_t count;
  int64_t* positions;
  uint8_t* has;

  // of_value(value, position): whether it has one.
  template <typename Value, typename OfValue>
  void for_values(OfValue of_value) const {
    for (int64_t i = 0; i < count; ++i) {
      has[i] = of_value(value_at<Value>(column, first + i), positions + i) ? 1 : 0;
    }
  }
};

template <typename Value>
void write_integers(const Written& to, const PositionUnit& unit, int32_t own_scale) {
  if (own_scale == unit.scale) {
    return to.for_values<Value>([](Value value, int64_t* made) {
      *made = static_cast<int64_t>(value);
      return sizeof(Value) < 8 || Value(-1) < 0 || *made >= 0;
    });
  }
  int32_t const shift = unit.scale - own_scale;
  to.for_values<Value>([&](Value value, int64_t* made) {
    if constexpr (sizeof(Value) == 8 && Value(-1) > 0) {
      if (value >> 63 != 0) {
        auto const number = pieces::exact_number(Wide{{value, 0, 0, 0}}, own_scale);
        return pieces::is_short(number.mantissa) &&
               as_integer(static_cast<int64_t>(number.mantissa.words[0]),
                          number.exponent + unit.scale, made);
      }
    }
    return as_integer(static_cast<int64_t>(value), shift, made);
  });
}

template <int kWords>
void write_long_decimals(const Written& to, const PositionUnit& unit, int32_t own_scale) {
  struct Given {
    uint64_t words[kWords];
  };
  to.for_values<Given>([&](const Given& given, int64_t* made) {
    bool const is_negative = static_cast<int64_t>(given.words[kWords - 1]) < 0;
    Wide mantissa;
    for (int i = 0; i < 4; ++i) {
      mantissa.words[i] = i < kWords ? given.words[i] : is_negative ? ~uint64_t{0} : 0;
    }
    auto const number = pieces::exact_number(mantissa, own_scale);
    return pieces::is_short(number.mantissa) &&
           as_integer(static_cast<int64_t>(number.mantissa.words[0]), number.exponent + unit.scale,
                      made);
  });
}

template <typename Value>
void write_times(const Written& to, const PositionUnit& unit, int64_t nanoseconds) {
  to.for_values<Value>([&](Value value, int64_t* made) {
    if (nanoseconds == unit.nanoseconds) {
      *made = value;
      return true;
    }
    TwoWords const moment = TwoWords{value} * nanoseconds;
    TwoWords const position = moment / unit.nanoseconds;
    *made = static_cast<int64_t>(position);
    return moment % unit.nanoseconds == 0 && *made == position;
  });
}

void write_numbers(const Written& to, const PositionUnit& unit) {
  ColumnView const& column = to.column;
  int32_t const scale = keys::scale_of(column);
  bool const is_unsigned = keys::is_unsigned(column.type);
  switch (column.width) {
    case 1:
      return is_unsigned ? write_integers<uint8_t>(to, unit, scale)
                         : write_integers<int8_t>(to, unit, scale);
    case 2:
      return is_unsigned ? write_integers<uint16_t>(to, unit, scale)
                         : write_integers<int16_t>(to, unit, scale);
    case 4:
      return is_unsigned ? write_integers<uint32_t>(to, unit, scale)
                         : write_integers<int32_t>(to, unit, scale);
    case 8:
      return is_unsigned ? write_integers<uint64_t>(to, unit, scale)
                         : write_integers<int64_t>(to, unit, scale);
    case 16:
      return write_long_decimals<2>(to, unit, scale);
    default:
      return write_long_decimals<4>(to, unit, scale);
  }
}

}  // namespace

PositionUnit position_unit(const ColumnView& column) {
  if (keys::is_integer(column) || keys::is_decimal(column)) {
    return {Kind::kNumbers, keys::scale_of(column), 0};
  }
  if (keys::TimeUnit const unit = keys::unit_of(column); unit.clock != keys::Clock::kNone) {
    return {Kind::kTimes, 0, unit.nanoseconds};
  }
  if (column.layout == Layout::kBits) return {Kind::kBits, 0, 0};
  return {};
}

bool lie_as_positions(const ColumnView& column, const PositionUnit& unit) {
  return column.layout == Layout::kValues && (column.width == 4 || column.width == 8) &&
         !keys::is_unsigned(column.type) && position_unit(column) == unit;
}

void write_positions(const ColumnView& column, const PositionUnit& unit, int64_t first,
                     int64_t count, int64_t* positions, uint8_t* has) {
  Written const to = {column, first, count, positions, has};
  if (unit.kind == Kind::kNumbers) return write_numbers(to, unit);
  if (unit.kind == Kind::kTimes) {
    int64_t const nanoseconds = keys::unit_of(column).nanoseconds;
    return column.width == 4 ? write_times<int32_t>(to, unit, nanoseconds)
                             : write_times<int64_t>(to, unit, nanoseconds);
  }
  auto const* const bits = static_cast<const uint8_t*>(column.data);
  for (int64_t i = 0; i < count; ++i) {
    int64_t const bit = column.parts->first_bit + first + i;
    positions[i] = bits[bit / 8] >> (bit % 8) & 1;
    has[i] = 1;
  }
}

}  // namespace gpujoin::filters
