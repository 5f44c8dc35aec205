// simple_comparison.hpp: a comparison of two numbers of one type as they lie, or of one with a
// constant: what both executors do without an interpreter, as host and device both see it
//
// Source   ours
// In       columns without dictionaries and runs, integers and floats of 1 to 8 bytes
// Out      conditions that are a conjunction of them: see BoundCondition::conjunction
#pragma once

#include <cstdint>
#include <cstring>

#include "kernels/conditions/operations.hpp"
#include "kernels/conditions/program.hpp"

namespace gpujoin::kernels {

enum class Comparator : uint8_t {
  kEqual,
  kNotEqual,
  kLess,
  kLessEqual,
  kGreater,
  kGreaterEqual,
};

struct SimpleComparison {
  ValueForm form = ValueForm::kInt32;
  Comparator comparator = Comparator::kEqual;
  bool has_constant = false;
  uint16_t node = 0;
  uint32_t first = 0;     // columns, by their numbers in the condition
  uint32_t second = 0;    // where there is no constant
  uint64_t constant = 0;  // its bits
};

template <typename Value>
GPUJOIN_CONDITION Value constant_of(const SimpleComparison& comparison) {
  Value value;
  memcpy(&value, &comparison.constant, sizeof(value));
  return value;
}

// As classes of registers compare.
template <Comparator kComparator, typename Value>
GPUJOIN_CONDITION bool compare_simply(Value one, Value other) {
  bool is_less;
  bool is_equal;
  bool is_greater;
  if constexpr (static_cast<Value>(0.5) != 0) {
    is_less = less_floats(one, other);
    is_equal = equal_floats(one, other);
    is_greater = less_floats(other, one);
  } else {
    is_less = one < other;
    is_equal = one == other;
    is_greater = one > other;
  }
  switch (kComparator) {
    case Comparator::kEqual:
      return is_equal;
    case Comparator::kNotEqual:
      return !is_equal;
    case Comparator::kLess:
      return is_less;
    case Comparator::kLessEqual:
      return !is_greater;
    case Comparator::kGreater:
      return is_greater;
    default:
      return !is_less;
  }
}

}  // namespace gpujoin::kernels
