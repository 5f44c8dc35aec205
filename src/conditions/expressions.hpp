// expressions.hpp: a condition on its way from the caller's nodes to instructions: typed, with
// conversions of their own, and constants folded.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "kernels/conditions/program.hpp"
#include "src/conditions/bound_condition.hpp"
#include "src/conditions/value_type.hpp"

namespace gpujoin::conditions {

// An instruction whose arguments are other expressions, which come before it.
struct Expression {
  kernels::Instruction instruction;  // without registers
  std::array<int32_t, 3> arguments = {-1, -1, -1};
  ValueType type;
  uint32_t size = 1;  // with its arguments'; of those that are shared, too often

  bool is_constant() const { return instruction.operation == kernels::Operation::kConstant; }
};

class Expressions {
 public:
  // What is made from here on belongs to this node.
  void begin_node(uint16_t node) { node_ = node; }

  // Each answers an expression's number.
  int32_t load(bool of_left, int32_t column, const columns::ColumnView& view,
               const ValueType& type);
  // The value of a row of a column in host memory.
  int32_t constant(const columns::ColumnView& view, uint32_t row, const ValueType& type);
  int32_t null_of(const ValueType& type);
  int32_t integer(kernels::ValueClass of, kernels::Int128 value);
  // Folded where all arguments are constants.
  int32_t make(kernels::Operation operation, const ValueType& type,
               std::array<int32_t, 3> arguments, kernels::Limits limits = kernels::Limits::kNone);
  // As a type's class, scale and unit have it. limits: what is beyond them is no value; of
  // comparisons kSaturates.
  int32_t convert(int32_t expression, const ValueType& to, kernels::Limits limits);
  // Times a factor, as `type`, of the expression's class.
  int32_t scaled(int32_t expression, kernels::Int128 factor, const ValueType& type,
                 kernels::Limits limits);
  // IN of all rows of a column in host memory, which is converted as the argument was, to `as`.
  int32_t in(int32_t argument, const columns::ColumnView& view, int64_t rows, const ValueType& type,
             const ValueType& as);

  const Expression& operator[](int32_t number) const { return all_[static_cast<size_t>(number)]; }
  int32_t count() const { return static_cast<int32_t>(all_.size()); }
  std::vector<BoundColumn>& columns() { return columns_; }
  // Of each column; of dictionaries and runs kNulls: they do not lie as their values do.
  std::vector<kernels::ValueForm>& forms() { return forms_; }
  std::vector<ConstantBlock>& constants() { return constants_; }
  const uint8_t* constant_bytes() const {
    return reinterpret_cast<const uint8_t*>(constants_.data());
  }

 private:
  // expected: a state other than kValueState has no bytes.
  int32_t constant_of(const ValueType& type, const void* bytes, kernels::ValueState state);
  int32_t folded(const Expression& expression);
  uint32_t add_bytes(const void* bytes, uint64_t count);
  int32_t add(Expression expression);

  uint16_t node_ = 0;
  std::vector<Expression> all_;
  std::vector<BoundColumn> columns_;
  std::vector<kernels::ValueForm> forms_;
  std::vector<ConstantBlock> constants_;
};

// Instructions for an expression and what it is made of, larger parts first. Fills the condition's
// instructions, registers and answer.
void emit(const Expressions& expressions, int32_t answer, BoundCondition* bound);

// The comparisons that a condition is the conjunction of, where nothing else is in it; else none.
std::vector<kernels::SimpleComparison> simple_comparisons(Expressions& expressions, int32_t answer);

}  // namespace gpujoin::conditions
