// value_type.hpp: the types of a condition's nodes, and which of them go together.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "kernels/conditions/program.hpp"
#include "src/columns/column.hpp"

namespace gpujoin::conditions {

enum class Kind {
  kNull,  // of a NULL column: goes with any other
  kBool,
  kInteger,
  kDecimal,
  kFloat,
  kText,
  kBinary,
  kDates,  // dates and timestamps
  kDatesWithZone,
  kTimes,
  kDurations,
};

struct ValueType {
  Kind kind = Kind::kNull;
  kernels::ValueClass of = kernels::ValueClass::kInt64;
  gpujoin_type type =
      GPUJOIN_TYPE_NULL;  // for messages, and of integers and dates what bounds them
  int32_t scale = 0;      // of decimals
  int64_t unit = 0;       // nanoseconds, of what counts time

  bool is_exact() const { return kind == Kind::kInteger || kind == Kind::kDecimal; }
  bool is_number() const { return is_exact() || kind == Kind::kFloat; }
  bool is_date() const { return type == GPUJOIN_TYPE_DATE32 || type == GPUJOIN_TYPE_DATE64; }
  bool is_point_in_time() const { return kind == Kind::kDates || kind == Kind::kDatesWithZone; }
  bool counts_time() const { return kind >= Kind::kDates; }
};

ValueType bool_type();
ValueType float_type();
ValueType integer_type(gpujoin_type type);
ValueType decimal_type(int32_t scale);  // of 38 digits

// Nothing: conditions cannot have values of it. Of dictionaries and runs their values'.
std::optional<ValueType> type_of(const columns::ColumnView& column);
// expected: of what type_of knows.
kernels::ValueForm form_of(const columns::ColumnView& column);

std::string name_of(const ValueType& type);
kernels::Limits limits_of(const ValueType& type);

// What both sides of a comparison become, so that they compare by value; the class, scale and unit
// of it count. Nothing: they do not compare.
std::optional<ValueType> comparable(const ValueType& one, const ValueType& other);

// What holds the values of both, for those who answer one of them. Nothing: there is none.
std::optional<ValueType> common(const ValueType& one, const ValueType& other);

// What integers of both are calculated in: the wider type; of a signed and an unsigned one the
// signed type that holds both; INT64 for UINT64.
gpujoin_type wider_integer(gpujoin_type one, gpujoin_type other);

}  // namespace gpujoin::conditions
