// load_value.hpp: a column's value in a row, as registers hold it, as host and device both see it
//
// Source   ours
// In       a column as it lies, dictionaries and runs as the values they name
// Out      the value and its state; none is read beneath a NULL
#pragma once

#include <cstdint>
#include <cstring>

#include "kernels/conditions/program.hpp"
#include "kernels/keys/derived_key.hpp"

namespace gpujoin::kernels {

// The row of the values that a row of the column has; kNoPosition: NULL. expected: row !=
// kMissingRow.
GPUJOIN_CONDITION uint32_t row_behind_hops(const ConditionColumn& column, const Hop* hops,
                                           uint32_t row) {
  for (uint32_t i = 0; i < column.hop_count && row != kNoPosition; ++i) {
    Hop const& hop = hops[column.first_hop + i];
    row = hop.is_runs ? position_of(hop.runs, row) : position_of(hop.indices, row);
  }
  return row;
}

GPUJOIN_CONDITION double double_in(const void* data, ValueForm form, uint64_t row) {
  if (form == ValueForm::kFloat64) return value_at<double>(data, row);
  if (form == ValueForm::kFloat32) return value_at<float>(data, row);
  uint64_t const bits = widened(bits_of_half(value_at<uint16_t>(data, row)));
  double value;
  memcpy(&value, &bits, sizeof(value));
  return value;
}

GPUJOIN_CONDITION int64_t integer_in(const void* data, ValueForm form, uint64_t row) {
  switch (form) {
    case ValueForm::kInt8:
      return value_at<int8_t>(data, row);
    case ValueForm::kInt16:
      return value_at<int16_t>(data, row);
    case ValueForm::kInt32:
      return value_at<int32_t>(data, row);
    case ValueForm::kUint8:
      return value_at<uint8_t>(data, row);
    case ValueForm::kUint16:
      return value_at<uint16_t>(data, row);
    case ValueForm::kUint32:
      return value_at<uint32_t>(data, row);
    default:
      return value_at<int64_t>(data, row);
  }
}

// The value of a row that has one. Value: the type of the form's class.
template <typename Value>
GPUJOIN_CONDITION Value value_in(const ConditionColumn& column, uint64_t row) {
  Value value;
  if constexpr (sizeof(Value) == 1) {
    value = is_valid({static_cast<const uint8_t*>(column.data), column.first_bit}, row) ? 1 : 0;
  } else if constexpr (sizeof(Value) == 32) {
    memcpy(&value, static_cast<const uint8_t*>(column.data) + 32 * row, sizeof(value));
  } else {
    static_assert(sizeof(Value) == 0, "a class of its own");
  }
  return value;
}
template <>
GPUJOIN_CONDITION int64_t value_in<int64_t>(const ConditionColumn& column, uint64_t row) {
  return integer_in(column.data, column.form, row);
}
template <>
GPUJOIN_CONDITION double value_in<double>(const ConditionColumn& column, uint64_t row) {
  return double_in(column.data, column.form, row);
}
template <>
GPUJOIN_CONDITION Int128 value_in<Int128>(const ConditionColumn& column, uint64_t row) {
  if (column.form == ValueForm::kUint64) {
    return static_cast<Int128>(value_at<uint64_t>(column.data, row));
  }
  uint64_t words[2];  // aligned to 8 bytes
  memcpy(words, static_cast<const uint64_t*>(column.data) + 2 * row, sizeof(words));
  return static_cast<Int128>(static_cast<Uint128>(words[1]) << 64 | words[0]);
}
template <>
GPUJOIN_CONDITION ByteSpan value_in<ByteSpan>(const ConditionColumn& column, uint64_t row) {
  return bytes_at(column.bytes, row);
}

// *value is any where the answer is not kValueState.
template <typename Value>
GPUJOIN_CONDITION ValueState load_value(const ConditionColumn& column, const Hop* hops,
                                        uint32_t row, Value* value) {
  *value = Value{};
  if (row == kMissingRow || column.form == ValueForm::kNulls) return kNullState;
  if (column.hop_count != 0) {
    row = row_behind_hops(column, hops, row);
    if (row == kNoPosition) return kNullState;
  }
  if (!is_valid(column.validity, row)) return kNullState;
  *value = value_in<Value>(column, row);
  return kValueState;
}

}  // namespace gpujoin::kernels
