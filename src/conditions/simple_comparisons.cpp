// simple_comparisons.cpp: conditions that need no interpreter.
#include <cstring>
#include <optional>
#include <utility>
#include <vector>

#include "kernels/conditions/operations.hpp"
#include "src/conditions/expressions.hpp"

namespace gpujoin::conditions {

namespace {

using kernels::Comparator;
using kernels::Operation;
using kernels::SimpleComparison;
using kernels::ValueClass;
using kernels::ValueForm;

std::optional<Comparator> comparator_of(Operation operation) {
  switch (operation) {
    case Operation::kEqual:
      return Comparator::kEqual;
    case Operation::kNotEqual:
      return Comparator::kNotEqual;
    case Operation::kLess:
      return Comparator::kLess;
    case Operation::kLessEqual:
      return Comparator::kLessEqual;
    default:
      return std::nullopt;
  }
}

Comparator turned(Comparator comparator) {
  switch (comparator) {
    case Comparator::kLess:
      return Comparator::kGreater;
    case Comparator::kLessEqual:
      return Comparator::kGreaterEqual;
    default:
      return comparator;
  }
}

bool is_simple(ValueForm form) {
  return form <= ValueForm::kUint64 || form == ValueForm::kFloat32 || form == ValueForm::kFloat64;
}

// Bits of the value as the form has it; nothing where it has none.
template <typename Value, typename Wide>
std::optional<uint64_t> narrowed(Wide wide) {
  auto const value = static_cast<Value>(wide);
  if (!kernels::equal(static_cast<Wide>(value), wide)) return std::nullopt;
  uint64_t bits = 0;
  std::memcpy(&bits, &value, sizeof(value));
  return bits;
}

std::optional<uint64_t> narrowed(kernels::Int128 value, ValueForm form) {
  switch (form) {
    case ValueForm::kInt8:
      return narrowed<int8_t>(value);
    case ValueForm::kInt16:
      return narrowed<int16_t>(value);
    case ValueForm::kInt32:
      return narrowed<int32_t>(value);
    case ValueForm::kInt64:
      return narrowed<int64_t>(value);
    case ValueForm::kUint8:
      return narrowed<uint8_t>(value);
    case ValueForm::kUint16:
      return narrowed<uint16_t>(value);
    case ValueForm::kUint32:
      return narrowed<uint32_t>(value);
    default:
      return narrowed<uint64_t>(value);
  }
}

std::optional<uint64_t> bits_of(Expressions& expressions, const Expression& constant,
                                ValueForm form) {
  if (constant.instruction.state != kernels::kValueState) return std::nullopt;
  const uint8_t* const bytes = expressions.constant_bytes();
  uint32_t const at = constant.instruction.at;
  switch (constant.type.of) {
    case ValueClass::kInt64:
      return narrowed(kernels::constant_at<int64_t>(bytes, at), form);
    case ValueClass::kInt128:
      return narrowed(kernels::constant_at<kernels::Int128>(bytes, at), form);
    case ValueClass::kFloat64: {
      auto const value = kernels::constant_at<double>(bytes, at);
      return form == ValueForm::kFloat32 ? narrowed<float>(value) : narrowed<double>(value);
    }
    default:
      return std::nullopt;
  }
}

std::optional<SimpleComparison> simple_comparison(Expressions& expressions,
                                                  const Expression& expression) {
  auto const comparator = comparator_of(expression.instruction.operation);
  if (!comparator) return std::nullopt;
  SimpleComparison made;
  made.comparator = *comparator;
  made.node = expression.instruction.node;
  // A column that was widened compares with a constant as it lies.
  auto const column_of = [&](int32_t number) -> const Expression* {
    const Expression* found = &expressions[number];
    if (found->instruction.operation == Operation::kWiden) {
      found = &expressions[found->arguments[0]];
    }
    return found->instruction.operation == Operation::kLoad ? found : nullptr;
  };
  const Expression* first = column_of(expression.arguments[0]);
  const Expression* second = column_of(expression.arguments[1]);
  const Expression* constant = &expressions[expression.arguments[1]];
  if (first == nullptr && second != nullptr) {
    std::swap(first, second);
    constant = &expressions[expression.arguments[0]];
    made.comparator = turned(made.comparator);
  }
  if (first == nullptr) return std::nullopt;
  made.first = first->instruction.at;
  made.form = expressions.forms()[made.first];
  if (!is_simple(made.form)) return std::nullopt;
  if (second != nullptr) {
    made.second = second->instruction.at;
    if (expressions.forms()[made.second] != made.form) return std::nullopt;
    return made;
  }
  if (!constant->is_constant()) return std::nullopt;
  auto const bits = bits_of(expressions, *constant, made.form);
  if (!bits) return std::nullopt;
  made.has_constant = true;
  made.constant = *bits;
  return made;
}

}  // namespace

std::vector<SimpleComparison> simple_comparisons(Expressions& expressions, int32_t answer) {
  std::vector<SimpleComparison> found;
  std::vector<int32_t> waiting = {answer};
  while (!waiting.empty()) {
    Expression const& expression = expressions[waiting.back()];
    waiting.pop_back();
    if (expression.instruction.operation == Operation::kAnd) {
      waiting.push_back(expression.arguments[1]);
      waiting.push_back(expression.arguments[0]);
      continue;
    }
    auto const comparison = simple_comparison(expressions, expression);
    if (!comparison) return {};
    found.push_back(*comparison);
  }
  return found;
}

}  // namespace gpujoin::conditions
