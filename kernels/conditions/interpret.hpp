// interpret.hpp: a condition's program for one pair of rows, as host and device both run it
//
// Source   ours
// In       a Program, a left and a right row, kMissingRow where there is none
// Out      the answer with its state
// Why      the device has a thread a pair, all of which are at the same instruction; the host folds
//          constants by it, and has loops over batches for the rest (src/cpu/condition_vectors.cpp)
#pragma once

#include <cstdint>
#include <cstring>

#include "kernels/conditions/load_value.hpp"
#include "kernels/conditions/operations.hpp"
#include "kernels/conditions/program.hpp"

namespace gpujoin::kernels {

// kValueBytes: 16, or 32 where decimals of 32 bytes are compared.
template <int kValueBytes, uint32_t kRegisters>
struct Registers {
  alignas(16) uint8_t values[kRegisters][kValueBytes];
  ValueState states[kRegisters];

  template <typename Value>
  GPUJOIN_CONDITION Value get(uint32_t at) const {
    Value value;
    memcpy(&value, values[at], sizeof(value));
    return value;
  }
  template <typename Value>
  GPUJOIN_CONDITION void put(uint32_t at, const Value& value, ValueState state) {
    memcpy(values[at], &value, sizeof(value));
    states[at] = state;
  }
  GPUJOIN_CONDITION Answer answer(uint32_t at) const { return {values[at][0], states[at]}; }
  GPUJOIN_CONDITION void put(uint32_t at, const Answer& answer) {
    put(at, answer.value, answer.state);
  }
};

// Calls what(a value of the class's type). kValueBytes: where 16, kInt256 is no case.
template <int kValueBytes, typename What>
GPUJOIN_CONDITION void with_class(ValueClass of, const What& what) {
  switch (of) {
    case ValueClass::kBool:
      return what(uint8_t{});
    case ValueClass::kInt64:
      return what(int64_t{});
    case ValueClass::kInt128:
      return what(Int128{});
    case ValueClass::kFloat64:
      return what(double{});
    case ValueClass::kBytes:
      return what(ByteSpan{});
    default:
      if constexpr (kValueBytes == 32) what(Wide{});
  }
}

template <typename Registers>
GPUJOIN_CONDITION void put_calculated(const Instruction& instruction, Registers* registers,
                                      Trouble trouble, ValueState state) {
  bool const fails = state == kValueState && trouble != Trouble::kNone;
  registers->states[instruction.target] = fails ? no_value(instruction.node, trouble) : state;
}

template <typename Registers>
GPUJOIN_CONDITION void run_arithmetic(const Instruction& instruction, Registers* registers) {
  bool const is_of_one = instruction.operation >= Operation::kNegate;
  ValueState const first_state = registers->states[instruction.first];
  ValueState const state =
      is_of_one ? first_state : state_of(first_state, registers->states[instruction.second]);
  auto const of = [&](auto zero) {
    using Value = decltype(zero);
    auto const first = registers->template get<Value>(instruction.first);
    Value result{};
    Trouble trouble = Trouble::kNone;
    if constexpr (kIsFloat<Value>) {
      if (is_of_one) {
        result = calculate(instruction.operation, first);
      } else {
        trouble = calculate(instruction.operation, first,
                            registers->template get<Value>(instruction.second), &result);
      }
    } else {
      Bounds<Value> const bounds = bounds_of<Value>(instruction.limits);
      trouble = is_of_one ? calculate(instruction.operation, first, bounds, &result)
                          : calculate(instruction.operation, first,
                                      registers->template get<Value>(instruction.second), bounds,
                                      &result);
    }
    registers->put(instruction.target, result, state);
    put_calculated(instruction, registers, trouble, state);
  };
  if (instruction.of == ValueClass::kFloat64) {
    of(double{});
  } else if (instruction.of == ValueClass::kInt64) {
    of(int64_t{});
  } else {
    of(Int128{});
  }
}

template <int kValueBytes, typename Registers>
GPUJOIN_CONDITION void run_conversion(const Instruction& instruction, const Program& program,
                                      Registers* registers) {
  ValueState const state = registers->states[instruction.first];
  auto const target = instruction.target;
  if (instruction.of == ValueClass::kBool) {
    return registers->put(target, int64_t{registers->template get<uint8_t>(instruction.first)},
                          state);
  }
  if (instruction.of == ValueClass::kInt256) {
    if constexpr (kValueBytes == 32) {
      auto const value = registers->template get<Wide>(instruction.first);
      if (instruction.operation == Operation::kToFloat) {
        return registers->put(target, to_float(value, instruction.power), state);
      }
      auto const factor = constant_at<uint64_t>(program.constants, instruction.at);
      registers->put(target, saturated_product(value, factor), state);
    }
    return;
  }
  auto const of = [&](auto zero) {
    using Value = decltype(zero);
    auto const value = registers->template get<Value>(instruction.first);
    if (instruction.operation == Operation::kToFloat) {
      return registers->put(target, to_float(value, instruction.power), state);
    }
    if (instruction.operation == Operation::kWiden) {
      if (instruction.to == ValueClass::kInt128) {
        return registers->put(target, Int128{value}, state);
      }
      if constexpr (kValueBytes == 32) registers->put(target, wide_of(Int128{value}), state);
      return;
    }
    Value result{};
    Trouble const trouble =
        scale(value, constant_at<Value>(program.constants, instruction.at), instruction.limits,
              bounds_of<Value>(instruction.limits), &result);
    registers->put(target, result, state);
    put_calculated(instruction, registers, trouble, state);
  };
  if (instruction.of == ValueClass::kInt64) {
    of(int64_t{});
  } else {
    of(Int128{});
  }
}

template <typename Value, typename Registers>
GPUJOIN_CONDITION void run_comparison(const Instruction& instruction, const Program& program,
                                      Registers* registers) {
  ValueState const first_state = registers->states[instruction.first];
  Operation const operation = instruction.operation;
  auto const first = registers->template get<Value>(instruction.first);
  Answer answer;
  if (operation == Operation::kIn) {
    answer.state = first_state;
    if (first_state == kValueState) {
      answer.value = is_in(first, program.constants, instruction.at, instruction.count) ? 1 : 0;
      if (answer.value == 0) answer.state = instruction.state;
    }
    return registers->put(instruction.target, answer);
  }
  ValueState const second_state = registers->states[instruction.second];
  if (operation == Operation::kDistinct || operation == Operation::kNotDistinct) {
    if (first_state >= kNoValue || second_state >= kNoValue) {
      answer.state = first_state >= kNoValue ? first_state : second_state;
    } else if (first_state == kNullState || second_state == kNullState) {
      bool const is_distinct = first_state != second_state;
      answer.value = is_distinct == (operation == Operation::kDistinct) ? 1 : 0;
    }
  } else {
    answer.state = state_of(first_state, second_state);
  }
  if (first_state == kValueState && second_state == kValueState) {
    auto const second = registers->template get<Value>(instruction.second);
    answer.value = compare(operation, first, second) ? 1 : 0;
  }
  registers->put(instruction.target, answer);
}

template <typename Registers>
GPUJOIN_CONDITION void run_logic(const Instruction& instruction, Registers* registers) {
  auto const target = instruction.target;
  ValueState const state = registers->states[instruction.first];
  ValueState const unless_null = state == kNullState ? kValueState : state;
  auto const bit = [](bool is_true) { return static_cast<uint8_t>(is_true ? 1 : 0); };
  // A BOOL's, below.
  uint8_t const value = registers->values[instruction.first][0];
  switch (instruction.operation) {
    case Operation::kAnd:
      return registers->put(target, and_of(registers->answer(instruction.first),
                                           registers->answer(instruction.second)));
    case Operation::kOr:
      return registers->put(target, or_of(registers->answer(instruction.first),
                                          registers->answer(instruction.second)));
    case Operation::kNot:
      return registers->put(target, bit(value == 0), state);
    case Operation::kIsTrue:
      return registers->put(target, bit(state == kValueState && value != 0), unless_null);
    case Operation::kIsFalse:
      return registers->put(target, bit(state == kValueState && value == 0), unless_null);
    case Operation::kIsNullValue:
      return registers->put(target, bit(state == kNullState), unless_null);
    default:
      return registers->put(target, bit(state != kNullState), unless_null);
  }
}

// The register whose value an instruction takes over; or a state, in the place of one.
template <typename Registers>
GPUJOIN_CONDITION uint32_t chosen(const Instruction& instruction, const Registers& registers) {
  ValueState const state = registers.states[instruction.first];
  if (instruction.operation == Operation::kCoalesce) {
    return state == kNullState ? instruction.second : instruction.first;
  }
  if (state >= kNoValue) return instruction.first;
  bool const is_true = state == kValueState && registers.values[instruction.first][0] != 0;
  return is_true ? instruction.second : instruction.third;
}

template <int kValueBytes, typename Registers>
GPUJOIN_CONDITION void run(const Instruction& instruction, const Program& program,
                           uint32_t left_row, uint32_t right_row, Registers* registers) {
  Operation const operation = instruction.operation;
  auto const target = instruction.target;
  if (operation == Operation::kLoad) {
    ConditionColumn const& column = program.columns[instruction.at];
    with_class<kValueBytes>(instruction.to, [&](auto value) {
      ValueState const state =
          load_value(column, program.hops, column.of_left ? left_row : right_row, &value);
      registers->put(target, value, state);
    });
  } else if (operation == Operation::kConstant) {
    with_class<kValueBytes>(instruction.to, [&](auto value) {
      if (instruction.state == kValueState) {
        value = constant_at<decltype(value)>(program.constants, instruction.at);
      }
      registers->put(target, value, instruction.state);
    });
  } else if (operation <= Operation::kToFloat) {
    run_conversion<kValueBytes>(instruction, program, registers);
  } else if (operation <= Operation::kIn) {
    with_class<kValueBytes>(instruction.of, [&](auto zero) {
      run_comparison<decltype(zero)>(instruction, program, registers);
    });
  } else if (operation == Operation::kStartsWith) {
    ValueState const state =
        state_of(registers->states[instruction.first], registers->states[instruction.second]);
    bool const is_true =
        state == kValueState && starts_with(registers->template get<ByteSpan>(instruction.first),
                                            registers->template get<ByteSpan>(instruction.second));
    registers->put(target, static_cast<uint8_t>(is_true ? 1 : 0), state);
  } else if (operation <= Operation::kIsNullValue) {
    run_logic(instruction, registers);
  } else if (operation <= Operation::kCoalesce) {
    uint32_t const from = chosen(instruction, *registers);
    with_class<kValueBytes>(instruction.of, [&](auto zero) {
      registers->put(target, registers->template get<decltype(zero)>(from),
                     registers->states[from]);
    });
  } else {
    run_arithmetic(instruction, registers);
  }
}

template <int kValueBytes, uint32_t kRegisters>
GPUJOIN_CONDITION Answer interpret(const Program& program, uint32_t left_row, uint32_t right_row) {
  Registers<kValueBytes, kRegisters> registers;
  for (uint32_t i = 0; i < program.count; ++i) {
    run<kValueBytes>(program.instructions[i], program, left_row, right_row, &registers);
  }
  return registers.answer(program.answer);
}

}  // namespace gpujoin::kernels
