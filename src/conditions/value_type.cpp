#include "src/conditions/value_type.hpp"

#include <algorithm>

#include "src/keys/derived_key.hpp"
#include "src/keys/value_kinds.hpp"

namespace gpujoin::conditions {

namespace {

using columns::ColumnView;
using columns::Layout;
using kernels::Limits;
using kernels::ValueClass;
using kernels::ValueForm;

ValueClass class_of_integer(gpujoin_type type) {
  return type == GPUJOIN_TYPE_UINT64 ? ValueClass::kInt128 : ValueClass::kInt64;
}

Kind kind_of(keys::Clock clock) {
  switch (clock) {
    case keys::Clock::kDates:
      return Kind::kDates;
    case keys::Clock::kDatesWithZone:
      return Kind::kDatesWithZone;
    case keys::Clock::kTimes:
      return Kind::kTimes;
    default:
      return Kind::kDurations;
  }
}

ValueClass class_of_decimal(int32_t width) {
  if (width <= 8) return ValueClass::kInt64;
  return width == 16 ? ValueClass::kInt128 : ValueClass::kInt256;
}

ValueType finer(const ValueType& one, const ValueType& other) {
  return one.unit <= other.unit ? one : other;
}

}  // namespace

ValueType bool_type() { return {Kind::kBool, ValueClass::kBool, GPUJOIN_TYPE_BOOL, 0, 0}; }
ValueType float_type() { return {Kind::kFloat, ValueClass::kFloat64, GPUJOIN_TYPE_FLOAT64, 0, 0}; }
ValueType integer_type(gpujoin_type type) {
  return {Kind::kInteger, class_of_integer(type), type, 0, 0};
}
ValueType decimal_type(int32_t scale) {
  return {Kind::kDecimal, ValueClass::kInt128, GPUJOIN_TYPE_BYTES16, scale, 0};
}

std::optional<ValueType> type_of(const ColumnView& column) {
  ColumnView const& values = keys::values_of(column);
  gpujoin_type const type = values.type;
  if (values.layout == Layout::kNulls) return ValueType{};
  if (values.layout == Layout::kOther) return std::nullopt;
  if (keys::is_integer(values)) return integer_type(type);
  if (keys::is_decimal(values)) {
    return ValueType{Kind::kDecimal, class_of_decimal(values.width), type, keys::scale_of(values),
                     0};
  }
  if (keys::is_text(type)) return ValueType{Kind::kText, ValueClass::kBytes, type, 0, 0};
  if (keys::is_binary(values)) return ValueType{Kind::kBinary, ValueClass::kBytes, type, 0, 0};
  if (keys::is_float(type)) return ValueType{Kind::kFloat, ValueClass::kFloat64, type, 0, 0};
  if (type == GPUJOIN_TYPE_BOOL) return bool_type();
  keys::TimeUnit const unit = keys::unit_of(values);
  if (unit.clock != keys::Clock::kNone) {
    return ValueType{kind_of(unit.clock), ValueClass::kInt64, type, 0, unit.nanoseconds};
  }
  return std::nullopt;
}

ValueForm form_of(const ColumnView& column) {
  ColumnView const& values = keys::values_of(column);
  auto const type = type_of(values);
  if (!type || type->kind == Kind::kNull) return ValueForm::kNulls;
  switch (type->of) {
    case ValueClass::kBool:
      return ValueForm::kBit;
    case ValueClass::kBytes:
      return ValueForm::kBytes;
    case ValueClass::kInt256:
      return ValueForm::kInt256;
    case ValueClass::kInt128:
      return values.width == 8 ? ValueForm::kUint64 : ValueForm::kInt128;
    case ValueClass::kFloat64:
      if (values.width == 2) return ValueForm::kFloat16;
      return values.width == 4 ? ValueForm::kFloat32 : ValueForm::kFloat64;
    default:
      break;
  }
  bool const has_sign = type->kind != Kind::kInteger || keys::is_signed(values.type);
  if (values.width == 1) return has_sign ? ValueForm::kInt8 : ValueForm::kUint8;
  if (values.width == 2) return has_sign ? ValueForm::kInt16 : ValueForm::kUint16;
  if (values.width == 4) return has_sign ? ValueForm::kInt32 : ValueForm::kUint32;
  return ValueForm::kInt64;
}

std::string name_of(const ValueType& type) {
  if (type.kind != Kind::kDecimal) return columns::name_of(type.type);
  constexpr const char* kNames[] = {"DECIMAL64", "DECIMAL128", "DECIMAL256"};
  auto const at = static_cast<size_t>(type.of) - static_cast<size_t>(ValueClass::kInt64);
  return std::string(kNames[at]) + " of scale " + std::to_string(type.scale);
}

Limits limits_of(const ValueType& type) {
  if (type.kind == Kind::kDecimal) return Limits::kDigits38;
  switch (type.type) {
    case GPUJOIN_TYPE_INT8:
      return Limits::kInt8;
    case GPUJOIN_TYPE_INT16:
      return Limits::kInt16;
    case GPUJOIN_TYPE_INT32:
    case GPUJOIN_TYPE_DATE32:
      return Limits::kInt32;
    case GPUJOIN_TYPE_UINT8:
      return Limits::kUint8;
    case GPUJOIN_TYPE_UINT16:
      return Limits::kUint16;
    case GPUJOIN_TYPE_UINT32:
      return Limits::kUint32;
    case GPUJOIN_TYPE_UINT64:
      return Limits::kUint64;
    default:
      return type.of == ValueClass::kFloat64 ? Limits::kNone : Limits::kInt64;
  }
}

std::optional<ValueType> comparable(const ValueType& one, const ValueType& other) {
  if (one.kind == Kind::kNull) return other;
  if (other.kind == Kind::kNull) return one;
  if (one.is_number() && other.is_number()) {
    if (one.kind == Kind::kFloat || other.kind == Kind::kFloat) return float_type();
    ValueType made = one.scale >= other.scale ? one : other;
    made.of = std::max(one.of, other.of);
    // The product by a power of ten needs the room.
    if (one.scale != other.scale) made.of = std::max(made.of, ValueClass::kInt128);
    return made;
  }
  if (one.kind != other.kind) return std::nullopt;
  ValueType made = one.counts_time() ? finer(one, other) : one;
  made.of = std::max(one.of, other.of);
  if (one.unit != other.unit) made.of = ValueClass::kInt128;
  return made;
}

std::optional<ValueType> common(const ValueType& one, const ValueType& other) {
  if (one.kind == Kind::kNull) return other;
  if (other.kind == Kind::kNull) return one;
  if (one.is_number() && other.is_number()) {
    if (one.kind == Kind::kFloat || other.kind == Kind::kFloat) return float_type();
    if (one.kind == Kind::kInteger && other.kind == Kind::kInteger) {
      bool const is_one_unsigned_64 =
          one.type == GPUJOIN_TYPE_UINT64 || other.type == GPUJOIN_TYPE_UINT64;
      // INT64 does not hold UINT64.
      if (is_one_unsigned_64 && keys::is_signed(one.type) != keys::is_signed(other.type)) {
        return decimal_type(0);
      }
      ValueType made = integer_type(wider_integer(one.type, other.type));
      made.of = std::max({made.of, one.of, other.of});
      return made;
    }
    if (one.scale == other.scale && one.kind == other.kind) {
      return one.of >= other.of ? one : other;
    }
    // Scales of 76 digits are compared only.
    if (std::max(one.of, other.of) == ValueClass::kInt256) return std::nullopt;
    return decimal_type(std::max(one.scale, other.scale));
  }
  if (one.kind != other.kind) return std::nullopt;
  if (!one.counts_time()) return one;
  ValueType made = finer(one, other);
  // Days are counted by DATE32, and what is finer by a type that has the room.
  if (one.unit == other.unit && made.type != one.type) made = one.is_date() ? other : one;
  made.of = std::max(one.of, other.of);
  return made;
}

gpujoin_type wider_integer(gpujoin_type one, gpujoin_type other) {
  if (keys::is_signed(one) == keys::is_signed(other)) return std::max(one, other);
  gpujoin_type const with_sign = keys::is_signed(one) ? one : other;
  gpujoin_type const without = keys::is_signed(one) ? other : one;
  constexpr gpujoin_type kHolds[] = {GPUJOIN_TYPE_INT16, GPUJOIN_TYPE_INT32, GPUJOIN_TYPE_INT64,
                                     GPUJOIN_TYPE_INT64};
  return std::max(with_sign, kHolds[without - GPUJOIN_TYPE_UINT8]);
}

}  // namespace gpujoin::conditions
