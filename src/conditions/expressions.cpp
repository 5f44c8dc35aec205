#include "src/conditions/expressions.hpp"

#include <algorithm>
#include <cstring>
#include <string_view>
#include <utility>

#include "kernels/conditions/interpret.hpp"
#include "src/base/status.hpp"
#include "src/keys/derived_key.hpp"

namespace gpujoin::conditions {

namespace {

using kernels::ByteSpan;
using kernels::Instruction;
using kernels::Int128;
using kernels::Limits;
using kernels::Operation;
using kernels::ValueClass;
using kernels::ValueState;
using kernels::Wide;

// Registers of the host that folds: three arguments and a target.
using Folding = kernels::Registers<kernels::kMostValueBytes, 4>;
constexpr uint8_t kTarget = 3;

}  // namespace

uint32_t Expressions::add_bytes(const void* bytes, uint64_t count) {
  uint64_t const at = constants_.size() * sizeof(ConstantBlock);
  uint64_t const blocks = (count + sizeof(ConstantBlock) - 1) / sizeof(ConstantBlock);
  if (at + blocks * sizeof(ConstantBlock) > UINT32_MAX) {
    base::fail(GPUJOIN_ERROR_UNSUPPORTED, "the constants of a condition have 4 GiB or more");
  }
  constants_.resize(constants_.size() + blocks);
  if (count != 0) std::memcpy(constants_[at / sizeof(ConstantBlock)].bytes, bytes, count);
  return static_cast<uint32_t>(at);
}

int32_t Expressions::add(Expression expression) {
  expression.instruction.node = node_;
  for (int32_t const argument : expression.arguments) {
    if (argument >= 0) expression.size += (*this)[argument].size;
  }
  // Shared ones are counted as often as they are named, which may be often.
  expression.size = std::min(expression.size, uint32_t{1} << 29);
  all_.push_back(std::move(expression));
  return count() - 1;
}

int32_t Expressions::constant_of(const ValueType& type, const void* bytes, ValueState state) {
  Expression made;
  made.type = type;
  made.instruction.operation = Operation::kConstant;
  made.instruction.to = type.of;
  made.instruction.state = state;
  if (state == kernels::kValueState && type.of == ValueClass::kBytes) {
    ByteSpan span;
    std::memcpy(&span, bytes, sizeof(span));
    // Its bytes may be constants already, which move.
    std::vector<uint8_t> const copy(span.data, span.data + span.count);
    uint64_t const place[2] = {add_bytes(copy.data(), copy.size()), span.count};
    made.instruction.at = add_bytes(place, sizeof(place));
  } else if (state == kernels::kValueState) {
    made.instruction.at = add_bytes(bytes, kernels::bytes_of(type.of));
  }
  return add(made);
}

int32_t Expressions::null_of(const ValueType& type) {
  return constant_of(type, nullptr, kernels::kNullState);
}

int32_t Expressions::integer(ValueClass of, Int128 value) {
  ValueType type = integer_type(GPUJOIN_TYPE_INT64);
  type.of = of;
  auto const narrow = static_cast<int64_t>(value);
  auto const factor = static_cast<uint64_t>(value);  // of kInt256, a word
  if (of == ValueClass::kInt64) return constant_of(type, &narrow, kernels::kValueState);
  if (of == ValueClass::kInt128) return constant_of(type, &value, kernels::kValueState);
  Wide const wide = {{factor, 0, 0, 0}};
  return constant_of(type, &wide, kernels::kValueState);
}

int32_t Expressions::load(bool of_left, int32_t column, const columns::ColumnView& view,
                          const ValueType& type) {
  if (type.kind == Kind::kNull) return null_of(type);
  auto const is_it = [&](const BoundColumn& bound) {
    return bound.of_left == of_left && bound.column == column;
  };
  auto const found = std::find_if(columns_.begin(), columns_.end(), is_it);
  auto const number = static_cast<uint32_t>(found - columns_.begin());
  if (found == columns_.end()) {
    columns_.push_back({of_left, column});
    bool const has_hops = &keys::values_of(view) != &view;
    forms_.push_back(has_hops ? kernels::ValueForm::kNulls : form_of(view));
  }
  Expression made;
  made.type = type;
  made.instruction.operation = Operation::kLoad;
  made.instruction.to = type.of;
  made.instruction.at = number;
  return add(made);
}

int32_t Expressions::constant(const columns::ColumnView& view, uint32_t row,
                              const ValueType& type) {
  Sources sources;
  add_source(view, true, &sources);
  int32_t made = -1;
  kernels::with_class<kernels::kMostValueBytes>(type.of, [&](auto value) {
    ValueState const state =
        kernels::load_value(sources.columns.front(), sources.hops.data(), row, &value);
    made = constant_of(type, &value, state);
  });
  return made;
}

int32_t Expressions::folded(const Expression& expression) {
  kernels::Program program;
  program.constants = constant_bytes();
  Folding registers;
  Instruction instruction = expression.instruction;
  instruction.node = node_;
  instruction.first = 0;
  instruction.second = 1;
  instruction.third = 2;
  instruction.target = kTarget;
  for (uint8_t i = 0; i < expression.arguments.size(); ++i) {
    int32_t const argument = expression.arguments[i];
    if (argument < 0) continue;
    Instruction constant = (*this)[argument].instruction;
    constant.target = i;
    kernels::run<kernels::kMostValueBytes>(constant, program, 0, 0, &registers);
  }
  kernels::run<kernels::kMostValueBytes>(instruction, program, 0, 0, &registers);
  return constant_of(expression.type, registers.values[kTarget], registers.states[kTarget]);
}

int32_t Expressions::make(Operation operation, const ValueType& type,
                          std::array<int32_t, 3> arguments, Limits limits) {
  Expression made;
  made.type = type;
  made.arguments = arguments;
  made.instruction.operation = operation;
  // What a choice is of is its values' class, not its condition's.
  bool const is_choice = operation == Operation::kSelect;
  made.instruction.of = (*this)[arguments[is_choice ? 1 : 0]].type.of;
  made.instruction.to = type.of;
  made.instruction.limits = limits;
  if (operation == Operation::kToFloat) made.instruction.power = (*this)[arguments[0]].type.scale;
  auto const is_folded = [&](int32_t argument) {
    return argument < 0 || (*this)[argument].is_constant();
  };
  if (std::all_of(arguments.begin(), arguments.end(), is_folded)) return folded(made);
  return add(made);
}

int32_t Expressions::scaled(int32_t expression, Int128 factor, const ValueType& type,
                            Limits limits) {
  Expression made;
  made.type = type;
  made.arguments = {expression, -1, -1};
  made.instruction.operation = Operation::kScale;
  made.instruction.of = made.instruction.to = type.of;
  made.instruction.limits = limits;
  made.instruction.at = (*this)[integer(type.of, factor)].instruction.at;
  if ((*this)[expression].is_constant()) return folded(made);
  return add(made);
}

int32_t Expressions::convert(int32_t expression, const ValueType& to, Limits limits) {
  ValueType type = (*this)[expression].type;
  if (type.kind == Kind::kNull) return null_of(to);
  if (to.of == ValueClass::kFloat64) {
    if (type.of == ValueClass::kFloat64) return expression;
    if (type.scale < 0) {
      ValueType whole = to;
      whole.of = ValueClass::kInt256;
      whole.scale = 0;
      expression = convert(expression, whole, Limits::kSaturates);
    }
    return make(Operation::kToFloat, to, {expression, -1, -1});
  }
  if (type.of != to.of) {
    ValueType const wider = {type.kind, to.of, type.type, type.scale, type.unit};
    expression = make(Operation::kWiden, wider, {expression, -1, -1});
    type = wider;
  }
  if (to.of == ValueClass::kBytes || to.of == ValueClass::kBool) return expression;
  if (type.counts_time() && to.unit != 0 && type.unit != to.unit) {
    return scaled(expression, type.unit / to.unit, to, limits);
  }
  // As many digits at a time as a factor has.
  int32_t const most = type.of == ValueClass::kInt256 ? 19 : 38;
  for (int32_t power = to.scale - type.scale; power > 0;) {
    int32_t const now = std::min(power, most);
    power -= now;
    expression = scaled(expression, kernels::power_of_ten(now), to, limits);
  }
  return expression;
}

int32_t Expressions::in(int32_t argument, const columns::ColumnView& view, int64_t rows,
                        const ValueType& type, const ValueType& as) {
  size_t const first = all_.size();
  size_t const first_block = constants_.size();
  Expression made;
  made.type = bool_type();
  made.arguments = {argument, -1, -1};
  made.instruction.operation = Operation::kIn;
  made.instruction.of = as.of;
  made.instruction.to = ValueClass::kBool;
  kernels::with_class<kernels::kMostValueBytes>(as.of, [&](auto zero) {
    using Value = decltype(zero);
    std::vector<Value> values;
    std::vector<std::vector<uint8_t>> texts;
    for (int64_t row = 0; row < rows; ++row) {
      int32_t const value =
          convert(constant(view, static_cast<uint32_t>(row), type), as, Limits::kSaturates);
      Instruction const& found = (*this)[value].instruction;
      if (found.state != kernels::kValueState) {
        made.instruction.state = kernels::kNullState;
      } else {
        auto taken = kernels::constant_at<Value>(constant_bytes(), found.at);
        if constexpr (std::is_same_v<Value, ByteSpan>) {
          texts.emplace_back(taken.data, taken.data + taken.count);
          taken.data = texts.back().data();
        }
        values.push_back(taken);
      }
      // The list has its own.
      all_.resize(first);
      constants_.resize(first_block);
    }
    std::sort(values.begin(), values.end(),
              [](const Value& one, const Value& other) { return kernels::less(one, other); });
    values.erase(std::unique(values.begin(), values.end(),
                             [](const Value& one, const Value& other) {
                               return kernels::equal(one, other);
                             }),
                 values.end());
    made.instruction.count = static_cast<uint32_t>(values.size());
    if constexpr (std::is_same_v<Value, ByteSpan>) {
      std::vector<uint64_t> places;
      for (ByteSpan const& value : values) {
        places.push_back(add_bytes(value.data, value.count));
        places.push_back(value.count);
      }
      made.instruction.at = add_bytes(places.data(), places.size() * sizeof(uint64_t));
    } else {
      made.instruction.at = add_bytes(values.data(), values.size() * sizeof(Value));
    }
  });
  if (rows == 0) {
    // In nothing, no comparison is unknown.
    uint8_t const never = 0;
    return constant_of(bool_type(), &never, kernels::kValueState);
  }
  // Of NULLs alone nothing is known, whatever the argument.
  if (made.instruction.count == 0) return null_of(bool_type());
  if ((*this)[argument].is_constant()) return folded(made);
  return add(made);
}

}  // namespace gpujoin::conditions
