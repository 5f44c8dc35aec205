// operations.hpp: what an instruction does with the values of one pair of rows, as host and device
// both see it
//
// Source   ours; see include/gpujoin.h, "Conditions"
// In       values of a class, which may be any where their state says that there is none
// Out      a value, a state, and why there is none: both executors answer alike
#pragma once

#include <cmath>
#include <cstdint>
#include <cstring>

#include "kernels/conditions/program.hpp"
#include "kernels/conditions/wide_integers.hpp"

namespace gpujoin::kernels {

// ---- order: NaN is equal to NaN and above all else ----

GPUJOIN_CONDITION bool equal(uint8_t one, uint8_t other) { return one == other; }
GPUJOIN_CONDITION bool less(uint8_t one, uint8_t other) { return one < other; }
GPUJOIN_CONDITION bool equal(int64_t one, int64_t other) { return one == other; }
GPUJOIN_CONDITION bool less(int64_t one, int64_t other) { return one < other; }
GPUJOIN_CONDITION bool equal(Int128 one, Int128 other) { return one == other; }
GPUJOIN_CONDITION bool less(Int128 one, Int128 other) { return one < other; }
template <typename Float>
GPUJOIN_CONDITION bool equal_floats(Float one, Float other) {
  return (one == other) | ((one != one) & (other != other));
}
template <typename Float>
GPUJOIN_CONDITION bool less_floats(Float one, Float other) {
  return (one < other) | ((other != other) & (one == one));
}
GPUJOIN_CONDITION bool equal(double one, double other) { return equal_floats(one, other); }
GPUJOIN_CONDITION bool less(double one, double other) { return less_floats(one, other); }

// Negative, 0, positive, as memcmp has it.
GPUJOIN_CONDITION int compare_bytes(const uint8_t* one, const uint8_t* other, uint64_t count) {
#ifdef __CUDA_ARCH__
  for (uint64_t i = 0; i < count; ++i) {
    int const difference = static_cast<int>(one[i]) - static_cast<int>(other[i]);
    if (difference != 0) return difference;
  }
  return 0;
#else
  return count == 0 ? 0 : memcmp(one, other, count);
#endif
}
GPUJOIN_CONDITION bool equal(const ByteSpan& one, const ByteSpan& other) {
  return one.count == other.count && compare_bytes(one.data, other.data, one.count) == 0;
}
GPUJOIN_CONDITION bool less(const ByteSpan& one, const ByteSpan& other) {
  uint64_t const common = one.count < other.count ? one.count : other.count;
  int const order = compare_bytes(one.data, other.data, common);
  return order != 0 ? order < 0 : one.count < other.count;
}
GPUJOIN_CONDITION bool starts_with(const ByteSpan& value, const ByteSpan& prefix) {
  return value.count >= prefix.count && compare_bytes(value.data, prefix.data, prefix.count) == 0;
}

template <typename Value>
GPUJOIN_CONDITION bool compare(Operation operation, const Value& one, const Value& other) {
  switch (operation) {
    case Operation::kEqual:
    case Operation::kNotDistinct:
      return equal(one, other);
    case Operation::kNotEqual:
    case Operation::kDistinct:
      return !equal(one, other);
    case Operation::kLess:
      return less(one, other);
    default:
      return !less(other, one);
  }
}

// Value number i of a list in the constants.
template <typename Value>
GPUJOIN_CONDITION Value constant_at(const uint8_t* constants, uint64_t at) {
  Value value;
  memcpy(&value, constants + at, sizeof(value));
  return value;
}
// Of text the list says where among the constants its bytes lie.
template <>
GPUJOIN_CONDITION ByteSpan constant_at<ByteSpan>(const uint8_t* constants, uint64_t at) {
  uint64_t place[2];
  memcpy(place, constants + at, sizeof(place));
  return {constants + place[0], place[1]};
}

// Whether one of the values, which ascend, is equal: a bisection.
template <typename Value>
GPUJOIN_CONDITION bool is_in(const Value& value, const uint8_t* constants, uint64_t at,
                             uint32_t count) {
  uint32_t low = 0;
  uint32_t high = count;
  while (low < high) {
    uint32_t const middle = low + (high - low) / 2;
    auto const found = constant_at<Value>(constants, at + uint64_t{middle} * sizeof(Value));
    if (less(found, value)) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low < count &&
         equal(constant_at<Value>(constants, at + uint64_t{low} * sizeof(Value)), value);
}

// ---- states ----

// Of an operation that needs all of its arguments: NULL where one is, whatever the other.
GPUJOIN_CONDITION ValueState state_of(ValueState one, ValueState other) {
  if (one == kNullState || other == kNullState) return kNullState;
  return one != kValueState ? one : other;
}

// A BOOL with its state.
struct Answer {
  uint8_t value = 0;
  ValueState state = kValueState;
};

// What decides is the value `deciding`; then no value, then NULL.
GPUJOIN_CONDITION Answer decide(uint8_t deciding, const Answer& one, const Answer& other) {
  if (one.state == kValueState && one.value == deciding) return one;
  if (other.state == kValueState && other.value == deciding) return other;
  if (one.state >= kNoValue) return one;
  if (other.state >= kNoValue) return other;
  return one.state == kNullState ? one : other;
}
GPUJOIN_CONDITION Answer and_of(const Answer& one, const Answer& other) {
  return decide(0, one, other);
}
GPUJOIN_CONDITION Answer or_of(const Answer& one, const Answer& other) {
  return decide(1, one, other);
}

// ---- arithmetic ----

GPUJOIN_CONDITION constexpr Int128 least_of(Limits limits) {
  switch (limits) {
    case Limits::kInt8:
      return INT8_MIN;
    case Limits::kInt16:
      return INT16_MIN;
    case Limits::kInt32:
      return INT32_MIN;
    case Limits::kInt64:
      return INT64_MIN;
    case Limits::kDigits38:
      return 1 - power_of_ten(38);
    case Limits::kNone:
    case Limits::kSaturates:
      return least_int128();
    default:
      return 0;
  }
}
GPUJOIN_CONDITION constexpr Int128 most_of(Limits limits) {
  switch (limits) {
    case Limits::kInt8:
      return INT8_MAX;
    case Limits::kInt16:
      return INT16_MAX;
    case Limits::kInt32:
      return INT32_MAX;
    case Limits::kInt64:
      return INT64_MAX;
    case Limits::kUint8:
      return UINT8_MAX;
    case Limits::kUint16:
      return UINT16_MAX;
    case Limits::kUint32:
      return UINT32_MAX;
    case Limits::kUint64:
      return static_cast<Int128>(UINT64_MAX);
    case Limits::kDigits38:
      return power_of_ten(38) - 1;
    default:
      return most_int128();
  }
}

// As Value: those of kInt64 and below of int64_t.
template <typename Value>
struct Bounds {
  Value least;
  Value most;
  GPUJOIN_CONDITION bool exclude(Value value) const { return value < least || value > most; }
};
template <typename Value>
GPUJOIN_CONDITION constexpr Bounds<Value> bounds_of(Limits limits) {
  Int128 const least = least_of(limits);
  Int128 const most = most_of(limits);
  if constexpr (sizeof(Value) == 8) {
    return {static_cast<Value>(least < INT64_MIN ? Int128{INT64_MIN} : least),
            static_cast<Value>(most > INT64_MAX ? Int128{INT64_MAX} : most)};
  } else {
    return {least, most};
  }
}

template <typename Value>
inline constexpr bool kIsFloat = false;
template <>
inline constexpr bool kIsFloat<double> = true;

// What integers have for an operation of two. Value: int64_t or Int128. *result is any where there
// is trouble.
template <typename Value>
GPUJOIN_CONDITION Trouble calculate(Operation operation, Value one, Value other,
                                    const Bounds<Value>& bounds, Value* result) {
  bool overflows = false;
  switch (operation) {
    case Operation::kAdd:
      overflows = add_overflows(one, other, result);
      break;
    case Operation::kSubtract:
      overflows = subtract_overflows(one, other, result);
      break;
    case Operation::kMultiply:
      overflows = multiply_overflows(one, other, result);
      break;
    case Operation::kQuotient:
    case Operation::kModulo:
      *result = 0;
      if (other == 0) return Trouble::kDivisionByZero;
      if (operation == Operation::kQuotient) {
        // The least over -1 is what the machine traps on.
        overflows = other == -1 ? subtract_overflows(Value{0}, one, result) : false;
        if (other != -1) *result = one / other;
      } else if (other != -1) {
        *result = one % other;
      }
      break;
    default:
      return Trouble::kNone;
  }
  return overflows || bounds.exclude(*result) ? Trouble::kOverflow : Trouble::kNone;
}

// Operations of one.
template <typename Value>
GPUJOIN_CONDITION Trouble calculate(Operation operation, Value of, const Bounds<Value>& bounds,
                                    Value* result) {
  *result = of;
  bool const negates = operation == Operation::kNegate || of < 0;
  bool const overflows = negates && subtract_overflows(Value{0}, of, result);
  return overflows || bounds.exclude(*result) ? Trouble::kOverflow : Trouble::kNone;
}

// Floats: each operation rounds, on either executor. A result may be infinite, which FLOAT64 holds.
GPUJOIN_CONDITION Trouble calculate(Operation operation, double one, double other, double* result) {
  switch (operation) {
#ifdef __CUDA_ARCH__
    case Operation::kAdd:
      *result = __dadd_rn(one, other);
      return Trouble::kNone;
    case Operation::kSubtract:
      *result = __dsub_rn(one, other);
      return Trouble::kNone;
    case Operation::kMultiply:
      *result = __dmul_rn(one, other);
      return Trouble::kNone;
#else
    case Operation::kAdd:
      *result = one + other;
      return Trouble::kNone;
    case Operation::kSubtract:
      *result = one - other;
      return Trouble::kNone;
    case Operation::kMultiply:
      *result = one * other;
      return Trouble::kNone;
#endif
    case Operation::kModulo:
      *result = fmod(one, other);
      break;
    default:
      *result = one / other;
      break;
  }
  return other == 0 ? Trouble::kDivisionByZero : Trouble::kNone;
}
GPUJOIN_CONDITION double calculate(Operation operation, double of) {
  return operation == Operation::kNegate ? -of : fabs(of);
}

// ---- conversions ----

// Times a factor of 1 or more.
template <typename Value>
GPUJOIN_CONDITION Trouble scale(Value value, Value factor, Limits limits,
                                const Bounds<Value>& bounds, Value* result) {
  bool const overflows = multiply_overflows(value, factor, result);
  if (limits == Limits::kSaturates) {
    if (overflows) *result = value < 0 ? bounds.least : bounds.most;
    return Trouble::kNone;
  }
  return overflows || bounds.exclude(*result) ? Trouble::kOverflow : Trouble::kNone;
}

// value / 10^power, to the nearest float.
GPUJOIN_CONDITION double to_float(int64_t value, int32_t power) {
  if (power == 0) return static_cast<double>(value);
  constexpr int64_t kExact = int64_t{1} << 53;
  constexpr int32_t kMostExactPower = 22;
  // One division of two exact floats is rounded once.
  if (power > 0 && power <= kMostExactPower && value <= kExact && value >= -kExact) {
    double divisor = 1;
    for (int32_t i = 0; i < power; ++i) divisor *= 10;
    return static_cast<double>(value) / divisor;
  }
  return float_of(wide_of(Int128{value}), power);
}
GPUJOIN_CONDITION double to_float(Int128 value, int32_t power) {
  if (value == static_cast<int64_t>(value)) return to_float(static_cast<int64_t>(value), power);
  return float_of(wide_of(value), power);
}
GPUJOIN_CONDITION double to_float(const Wide& value, int32_t power) {
  return float_of(value, power);
}

}  // namespace gpujoin::kernels
