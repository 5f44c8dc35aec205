#include "src/keys/derived_key.hpp"

#include <algorithm>

#include "src/keys/value_kinds.hpp"

namespace gpujoin::keys {

namespace {

using columns::ColumnView;
using columns::Layout;
using kernels::KeyOp;

KeyStep step(KeyOp op) {
  KeyStep made;
  made.op = op;
  return made;
}
KeyPart part(KeyOp left, KeyOp right, int32_t width) { return {step(left), step(right), width}; }

// The column as it is where it is so wide already.
KeyOp extend(const ColumnView& column, int32_t width) {
  if (column.width == width) return KeyOp::kAsIs;
  return is_signed(column.type) ? KeyOp::kSigned : KeyOp::kUnsigned;
}

Comparison integers(const ColumnView& left, const ColumnView& right) {
  int32_t width = std::max({left.width, right.width, 4});
  if (is_signed(left.type) != is_signed(right.type)) {
    ColumnView const& plain = is_signed(left.type) ? right : left;
    if (plain.width == 8) {
      KeyOp const beside_left = is_signed(left.type) ? KeyOp::kIsNegative : KeyOp::kZero;
      KeyOp const beside_right = is_signed(right.type) ? KeyOp::kIsNegative : KeyOp::kZero;
      return {{part(extend(left, 8), extend(right, 8), 8), part(beside_left, beside_right, 4)}};
    }
    if (plain.width == 4) width = 8;
  }
  return {{part(extend(left, width), extend(right, width), width)}};
}

Comparison floats(const ColumnView& left, const ColumnView& right, int32_t flags) {
  KeyPart made = part(KeyOp::kFloat, KeyOp::kFloat, std::max({left.width, right.width, 4}));
  if ((flags & columns::kIeeeFloat) != 0) {
    made.left.nan = 1;
    made.right.nan = 2;
  }
  return {{made}};
}

// The one of the larger scale is divided, which no value is too large for; with a remainder it has
// no equal.
Comparison decimals(const ColumnView& left, const ColumnView& right) {
  int32_t const scales = scale_of(left) - scale_of(right);
  if (scales == 0 && left.width == right.width && is_decimal(left) && is_decimal(right)) {
    if (left.width <= 8) return {{part(KeyOp::kAsIs, KeyOp::kAsIs, left.width)}};
    if (left.width == 16) {
      return {{part(KeyOp::kLow, KeyOp::kLow, 8), part(KeyOp::kHigh, KeyOp::kHigh, 8)}};
    }
  }
  auto const bytes = [](const ColumnView& column) {
    return is_unsigned(column.type) && column.width == 8 ? 16 : column.width;
  };
  auto const of = [&](const ColumnView& column, KeyOp op, int32_t word, int32_t power) {
    KeyStep made = step(op);
    made.word = word;
    made.power = std::max(power, 0);
    made.is_unsigned = is_unsigned(column.type);
    return made;
  };
  Comparison made;
  int32_t const words = (std::max(bytes(left), bytes(right)) + 7) / 8;
  for (int32_t word = 0; word < words; ++word) {
    made.parts.push_back(
        {of(left, KeyOp::kDecimal, word, scales), of(right, KeyOp::kDecimal, word, -scales), 8});
  }
  if (scales == 0) return made;
  KeyStep const zero = step(KeyOp::kZero);
  made.parts.push_back({scales > 0 ? of(left, KeyOp::kDecimalLeft, 0, scales) : zero,
                        scales < 0 ? of(right, KeyOp::kDecimalLeft, 0, -scales) : zero, 4});
  return made;
}

// As decimals: the finer one is divided.
Comparison times(const ColumnView& left, const ColumnView& right) {
  int64_t const left_unit = unit_of(left).nanoseconds;
  int64_t const right_unit = unit_of(right).nanoseconds;
  int32_t const width = std::max(left.width, right.width);
  auto const widened = [&](const ColumnView& column) {
    return step(column.width == width ? KeyOp::kAsIs : KeyOp::kSigned);
  };
  if (left_unit == right_unit) return {{{widened(left), widened(right), width}}};
  bool const left_is_finer = left_unit < right_unit;
  KeyStep quotient = step(KeyOp::kQuotient);
  quotient.divisor = left_is_finer ? right_unit / left_unit : left_unit / right_unit;
  KeyStep remains = quotient;
  remains.op = KeyOp::kRemains;
  KeyStep const zero = step(KeyOp::kZero);
  if (left_is_finer) return {{{quotient, widened(right), width}, {remains, zero, 4}}};
  return {{{widened(left), quotient, width}, {zero, remains, 4}}};
}

Comparison bytes(const ColumnView& left, const ColumnView& right) {
  bool const fits = is_fixed_binary(left) && is_fixed_binary(right) && left.width == right.width &&
                    left.width <= 16;
  if (!fits) return {{}, true};
  if (left.width == 16 && left.layout == Layout::kValues) {
    return {{part(KeyOp::kLow, KeyOp::kLow, 8), part(KeyOp::kHigh, KeyOp::kHigh, 8)}};
  }
  Comparison made;
  int32_t word = 0;
  do {
    KeyPart of_word = part(KeyOp::kBytes, KeyOp::kBytes, left.width - 8 * word <= 4 ? 4 : 8);
    of_word.left.word = of_word.right.word = word;
    made.parts.push_back(of_word);
    ++word;
  } while (8 * word < left.width);
  return made;
}

}  // namespace

const ColumnView& values_of(const ColumnView& column) {
  const ColumnView* found = &column;
  while (names_values(*found)) found = found->parts->values.get();
  return *found;
}

std::optional<Comparison> compare_by(const ColumnView& left_column, const ColumnView& right_column,
                                     int32_t flags) {
  ColumnView const& left = values_of(left_column);
  ColumnView const& right = values_of(right_column);
  if (left.layout == Layout::kOther || right.layout == Layout::kOther) return std::nullopt;
  if (left.layout == Layout::kNulls || right.layout == Layout::kNulls) {
    return Comparison{{part(KeyOp::kZero, KeyOp::kZero, 4)}};
  }
  if (is_integer(left) && is_integer(right)) return integers(left, right);
  if (is_float(left.type) && is_float(right.type)) return floats(left, right, flags);
  bool const left_is_number = is_integer(left) || is_decimal(left);
  bool const right_is_number = is_integer(right) || is_decimal(right);
  if (left_is_number && right_is_number) return decimals(left, right);
  if (is_text(left.type) && is_text(right.type)) return Comparison{{}, true};
  if (is_binary(left) && is_binary(right)) return bytes(left, right);
  if (TimeUnit const unit = unit_of(left); unit.clock != Clock::kNone) {
    if (unit_of(right).clock != unit.clock) return std::nullopt;
    return times(left, right);
  }
  if (left.type != right.type) return std::nullopt;
  // 16 bytes are decimals or binary values.
  if (is_decimal(left) != is_decimal(right)) return std::nullopt;
  if (left.layout == Layout::kBits) return Comparison{{part(KeyOp::kBit, KeyOp::kBit, 4)}};
  if (left.width == 16) {
    return Comparison{{part(KeyOp::kLow, KeyOp::kLow, 8), part(KeyOp::kHigh, KeyOp::kHigh, 8)}};
  }
  return Comparison{{part(KeyOp::kAsIs, KeyOp::kAsIs, left.width)}};
}

}  // namespace gpujoin::keys
