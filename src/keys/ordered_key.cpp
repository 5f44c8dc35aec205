#include "src/keys/ordered_key.hpp"

#include <algorithm>

#include "src/keys/derived_key.hpp"
#include "src/keys/value_kinds.hpp"

namespace gpujoin::keys {

namespace {

using columns::ColumnView;
using columns::Layout;
using kernels::OrderedForm;
using kernels::OrderedKey;

OrderedKey key_of(const ColumnView& values, OrderedForm form) {
  OrderedKey key;
  key.width = values.width;
  key.form = form;
  key.is_unsigned = is_unsigned(values.type);
  if (form == OrderedForm::kBit) key.first_bit = values.parts->first_bit;
  return key;
}

Ordering both(const ColumnView& left, const ColumnView& right, OrderedForm form) {
  return {key_of(left, form), key_of(right, form)};
}

Ordering integers(const ColumnView& left, const ColumnView& right) {
  if (is_unsigned(left.type) && is_unsigned(right.type)) {
    return both(left, right, OrderedForm::kUnsigned);
  }
  auto const exceeds = [](const ColumnView& column) {
    return is_unsigned(column.type) && column.width == 8;
  };
  return both(left, right,
              exceeds(left) || exceeds(right) ? OrderedForm::kLong : OrderedForm::kSigned);
}

// No product of a value of 256 bits has more than 512 then. Beyond it a value other than 0 exceeds
// all of the other side's either way.
constexpr int32_t kMostPower = 77;

Ordering decimals(const ColumnView& left, const ColumnView& right) {
  int32_t const scales = scale_of(left) - scale_of(right);
  if (scales == 0 && std::max(left.width, right.width) <= 8 &&
      !(is_unsigned(left.type) && left.width == 8) &&
      !(is_unsigned(right.type) && right.width == 8)) {
    return both(left, right, OrderedForm::kSigned);
  }
  Ordering made = both(left, right, OrderedForm::kLong);
  made.left.power = std::clamp(-scales, 0, kMostPower);
  made.right.power = std::clamp(scales, 0, kMostPower);
  return made;
}

Ordering times(const ColumnView& left, const ColumnView& right) {
  int64_t const left_unit = unit_of(left).nanoseconds;
  int64_t const right_unit = unit_of(right).nanoseconds;
  if (left_unit == right_unit) return both(left, right, OrderedForm::kSigned);
  Ordering made = both(left, right, OrderedForm::kLong);
  if (left_unit > right_unit) made.left.factor = static_cast<uint64_t>(left_unit / right_unit);
  if (right_unit > left_unit) made.right.factor = static_cast<uint64_t>(right_unit / left_unit);
  return made;
}

bool has_order(const ColumnView& values) {
  return is_integer(values) || is_float(values.type) || is_decimal(values) ||
         unit_of(values).clock != Clock::kNone || values.layout == Layout::kBits ||
         values.layout == Layout::kNulls;
}

}  // namespace

bool Extremes::fits() const {
  kernels::LongNumber const span = kernels::minus(greatest, least);
  return std::all_of(std::begin(span.words) + 1, std::end(span.words),
                     [](uint64_t word) { return word == 0; });
}

std::optional<Ordering> order_by(const ColumnView& left_column, const ColumnView& right_column) {
  ColumnView const& left = values_of(left_column);
  ColumnView const& right = values_of(right_column);
  if (!has_order(left) || !has_order(right)) return std::nullopt;
  if (!compare_by(left_column, right_column, 0)) return std::nullopt;
  if (left.layout == Layout::kNulls && right.layout == Layout::kNulls) {
    return both(left, right, OrderedForm::kUnsigned);
  }
  // There is one side's order alone.
  if (left.layout == Layout::kNulls) return order_by(right, right);
  if (right.layout == Layout::kNulls) return order_by(left, left);
  if (left.layout == Layout::kBits) return both(left, right, OrderedForm::kBit);
  if (is_integer(left) && is_integer(right)) return integers(left, right);
  if (is_float(left.type)) return both(left, right, OrderedForm::kFloat);
  if (unit_of(left).clock != Clock::kNone) return times(left, right);
  return decimals(left, right);
}

}  // namespace gpujoin::keys
