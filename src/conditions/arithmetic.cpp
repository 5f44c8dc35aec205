#include "src/conditions/arithmetic.hpp"

#include <algorithm>

#include "src/keys/value_kinds.hpp"

namespace gpujoin::conditions {

namespace {

using kernels::Limits;
using kernels::Operation;
using kernels::ValueClass;

constexpr const char* kNoNumbers = "which takes numbers";
constexpr const char* kNoIntegers = "which takes integers";
constexpr const char* kNoTime = "which do not go together";
constexpr const char* kTooWide = "and decimals of 256 bits are compared only";
constexpr const char* kTooManyPlaces = "of which no 38 digits hold the places";
constexpr int32_t kMostPlaces = 38;
constexpr int64_t kDay = 86'400'000'000'000;  // nanoseconds

Operation operation_of(gpujoin_operator operation) {
  switch (operation) {
    case GPUJOIN_OPERATOR_ADD:
      return Operation::kAdd;
    case GPUJOIN_OPERATOR_SUBTRACT:
      return Operation::kSubtract;
    case GPUJOIN_OPERATOR_MULTIPLY:
      return Operation::kMultiply;
    case GPUJOIN_OPERATOR_DIVIDE:
      return Operation::kDivide;
    case GPUJOIN_OPERATOR_QUOTIENT:
      return Operation::kQuotient;
    case GPUJOIN_OPERATOR_MODULO:
      return Operation::kModulo;
    case GPUJOIN_OPERATOR_NEGATE:
      return Operation::kNegate;
    default:
      return Operation::kAbsolute;
  }
}

class Arithmetic {
 public:
  Arithmetic(Expressions& expressions, gpujoin_operator operation, const char** why)
      : expressions_(expressions), operation_(operation_of(operation)), why_(why) {}

  int32_t of(int32_t one, int32_t other) {
    ValueType const left = expressions_[one].type;
    ValueType const right = expressions_[other].type;
    bool const has_null = left.kind == Kind::kNull || right.kind == Kind::kNull;
    if (has_null) return of_null(left.kind == Kind::kNull ? right : left);
    if (left.counts_time() || right.counts_time()) return times(one, other);
    if (!left.is_number() || !right.is_number()) return fails(kNoNumbers);
    bool const is_whole = left.kind == Kind::kInteger && right.kind == Kind::kInteger;
    if (operation_ == Operation::kQuotient && !is_whole) return fails(kNoIntegers);
    bool const has_float = left.kind == Kind::kFloat || right.kind == Kind::kFloat;
    if (has_float || operation_ == Operation::kDivide) return as(float_type(), one, other);
    if (is_whole) return integers(one, other);
    return decimals(one, other);
  }

  int32_t of(int32_t one) {
    ValueType type = expressions_[one].type;
    if (type.kind == Kind::kNull) return one;
    if (!type.is_number() && type.kind != Kind::kDurations) return fails(kNoNumbers);
    if (type.of == ValueClass::kInt256) return fails(kTooWide);
    if (type.kind == Kind::kFloat) type = float_type();
    if (type.kind == Kind::kInteger && operation_ == Operation::kNegate) {
      // An unsigned one's negative is of the signed type that holds it.
      gpujoin_type const made = wider_integer(type.type, GPUJOIN_TYPE_INT8);
      type.type = keys::is_signed(type.type) ? type.type : made;
    }
    return expressions_.make(operation_, type, {one, -1, -1}, limits_of(type));
  }

 private:
  int32_t fails(const char* why) {
    *why_ = why;
    return -1;
  }

  int32_t of_null(const ValueType& other) {
    if (other.kind == Kind::kText || other.kind == Kind::kBinary || other.kind == Kind::kBool) {
      return fails(kNoNumbers);
    }
    return expressions_.null_of({});
  }

  // Both converted to a type, which the result has.
  int32_t as(const ValueType& type, int32_t one, int32_t other) {
    Limits const limits = limits_of(type);
    one = expressions_.convert(one, type, limits);
    other = expressions_.convert(other, type, limits);
    return expressions_.make(operation_, type, {one, other, -1}, limits);
  }

  int32_t integers(int32_t one, int32_t other) {
    ValueType const& left = expressions_[one].type;
    ValueType const& right = expressions_[other].type;
    ValueType type = integer_type(wider_integer(left.type, right.type));
    type.of = std::max({type.of, left.of, right.of});
    return as(type, held(one, type), held(other, type));
  }

  // INT64 does not hold all of UINT64.
  int32_t held(int32_t number, const ValueType& type) {
    bool const is_held =
        expressions_[number].type.type != GPUJOIN_TYPE_UINT64 || type.type == GPUJOIN_TYPE_UINT64;
    return is_held ? number : expressions_.scaled(number, 1, type, limits_of(type));
  }

  int32_t decimals(int32_t one, int32_t other) {
    ValueType const& left = expressions_[one].type;
    ValueType const& right = expressions_[other].type;
    if (std::max(left.of, right.of) == ValueClass::kInt256) return fails(kTooWide);
    if (operation_ != Operation::kMultiply) {
      return as(decimal_type(std::max(left.scale, right.scale)), one, other);
    }
    ValueType const type = decimal_type(left.scale + right.scale);
    if (std::abs(type.scale) > kMostPlaces) return fails(kTooManyPlaces);
    auto const widened = [&](int32_t number) {
      return expressions_.convert(number, decimal_type(expressions_[number].type.scale),
                                  Limits::kDigits38);
    };
    one = widened(one);
    return expressions_.make(operation_, type, {one, widened(other), -1}, Limits::kDigits38);
  }

  int32_t times(int32_t one, int32_t other) {
    ValueType const left = expressions_[one].type;
    ValueType const right = expressions_[other].type;
    bool const adds = operation_ == Operation::kAdd;
    if (!adds && operation_ != Operation::kSubtract) return fails(kNoTime);
    if (left.is_point_in_time() && right.kind == Kind::kInteger) return moved(one, other);
    if (adds && right.is_point_in_time() && left.kind == Kind::kInteger) return moved(other, one);
    bool const is_by_duration = left.is_point_in_time() && right.kind == Kind::kDurations;
    if (is_by_duration || (adds && left.kind == Kind::kDurations && right.is_point_in_time())) {
      return moved_by_duration(one, other);
    }
    if (left.kind != right.kind) return fails(kNoTime);
    if (left.kind == Kind::kDurations) return as(*common(left, right), one, other);
    if (adds || !left.is_point_in_time()) return fails(kNoTime);
    return difference(one, other);
  }

  // A date by days, a timestamp by its units.
  int32_t moved(int32_t point, int32_t by) {
    ValueType type = expressions_[point].type;
    type.of = std::max(type.of, expressions_[by].type.of);
    bool const in_days = type.type == GPUJOIN_TYPE_DATE64;
    if (in_days) type.of = ValueClass::kInt128;
    Limits const limits = limits_of(type);
    ValueType amount = integer_type(GPUJOIN_TYPE_INT64);
    amount.of = type.of;
    by = expressions_.convert(by, amount, limits);
    if (in_days) by = expressions_.scaled(by, kDay / type.unit, amount, Limits::kNone);
    point = expressions_.convert(point, type, limits);
    return expressions_.make(operation_, type, {point, by, -1}, limits);
  }

  // In the finer unit of both.
  int32_t moved_by_duration(int32_t one, int32_t other) {
    bool const is_first = expressions_[one].type.is_point_in_time();
    ValueType const point = expressions_[is_first ? one : other].type;
    ValueType const by = expressions_[is_first ? other : one].type;
    ValueType type = point;
    type.unit = std::min(point.unit, by.unit);
    if (type.unit != point.unit || point.is_date()) type.type = timestamp_of(type.unit);
    return as(type, one, other);
  }
  static gpujoin_type timestamp_of(int64_t unit) {
    if (unit == 1) return GPUJOIN_TYPE_TIMESTAMP_NS;
    if (unit == 1'000) return GPUJOIN_TYPE_TIMESTAMP_US;
    return unit == 1'000'000 ? GPUJOIN_TYPE_TIMESTAMP_MS : GPUJOIN_TYPE_TIMESTAMP_S;
  }

  // Of dates the days, else units of the finer one.
  int32_t difference(int32_t one, int32_t other) {
    ValueType const left = expressions_[one].type;
    ValueType const right = expressions_[other].type;
    ValueType type = *common(left, right);
    ValueType made = integer_type(GPUJOIN_TYPE_INT64);
    made.of = type.of;
    one = expressions_.convert(one, type, Limits::kInt64);
    other = expressions_.convert(other, type, Limits::kInt64);
    int32_t const rest = expressions_.make(operation_, made, {one, other, -1}, Limits::kInt64);
    if (!left.is_date() || !right.is_date() || type.unit == kDay) return rest;
    int32_t const day = expressions_.integer(made.of, kDay / type.unit);
    return expressions_.make(Operation::kQuotient, made, {rest, day, -1}, Limits::kInt64);
  }

  Expressions& expressions_;
  Operation operation_;
  const char** why_;
};

}  // namespace

int32_t arithmetic_of(Expressions& expressions, gpujoin_operator operation, int32_t one,
                      int32_t other, const char** why) {
  return Arithmetic(expressions, operation, why).of(one, other);
}

int32_t arithmetic_of(Expressions& expressions, gpujoin_operator operation, int32_t one,
                      const char** why) {
  return Arithmetic(expressions, operation, why).of(one);
}

}  // namespace gpujoin::conditions
