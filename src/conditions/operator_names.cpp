#include "src/conditions/operator_names.hpp"

#include <array>
#include <cstddef>

namespace gpujoin::conditions {

const char* name_of_operator(gpujoin_operator operation) {
  constexpr std::array kNames = {
      "unknown",      "COLUMN",     "CONSTANT",    "EQUAL",         "NOT_EQUAL",
      "LESS",         "LESS_EQUAL", "GREATER",     "GREATER_EQUAL", "DISTINCT",
      "NOT_DISTINCT", "BETWEEN",    "IN",          "AND",           "OR",
      "NOT",          "IS_NULL",    "IS_NOT_NULL", "IS_TRUE",       "IS_FALSE",
      "STARTS_WITH",  "CASE",       "COALESCE",    "ADD",           "SUBTRACT",
      "MULTIPLY",     "DIVIDE",     "QUOTIENT",    "MODULO",        "NEGATE",
      "ABSOLUTE",
  };
  bool const is_known = operation > 0 && static_cast<size_t>(operation) < kNames.size();
  return kNames[is_known ? static_cast<size_t>(operation) : 0];
}

}  // namespace gpujoin::conditions
