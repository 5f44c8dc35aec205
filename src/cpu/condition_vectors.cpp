// condition_vectors.cpp: a loop over the batch for each instruction, instead of a switch for each
// pair. Where all arguments are values, and almost always they are, nobody looks at states.
#include "src/cpu/condition_vectors.hpp"

#include <algorithm>
#include <utility>

#include "src/cpu/condition_step.hpp"

namespace gpujoin::cpu {

namespace {

using kernels::Answer;
using kernels::Instruction;
using kernels::kNoValue;
using kernels::kNullState;
using kernels::kValueState;
using kernels::Operation;
using kernels::ValueClass;
using kernels::ValueState;

class Step : ConditionStep {
 public:
  using ConditionStep::ConditionStep;

  void run() {
    Operation const operation = instruction_.operation;
    if (operation == Operation::kConstant) return constant();
    if (operation == Operation::kIn) return in();
    if (operation == Operation::kStartsWith) return starts_with();
    if (operation < Operation::kIn) return comparison();
    if (operation <= Operation::kIsNullValue) return logic();
    choice();
  }

 private:
  void constant() {
    bool const is_value = instruction_.state == kValueState;
    of_class(instruction_.to, [&](auto value) {
      using Value = decltype(value);
      if (is_value) value = kernels::constant_at<Value>(bound_.constant_bytes(), instruction_.at);
      std::fill_n(target<Value>(), count_, value);
    });
    if (is_value) return all_are_values();
    std::fill_n(states(), count_, instruction_.state);
    some_are_none();
  }

  template <Operation kOperation, typename Value>
  void compare_each() {
    const Value* const one = first<Value>();
    const Value* const other = second<Value>();
    auto* const made = target<uint8_t>();
    for (uint32_t i = 0; i < count_; ++i) {
      made[i] = kernels::compare(kOperation, one[i], other[i]) ? 1 : 0;
    }
  }

  void comparison() {
    bool const tells_nulls = instruction_.operation == Operation::kDistinct ||
                             instruction_.operation == Operation::kNotDistinct;
    if (!tells_nulls) take_states(true);
    bool const are = are_values(instruction_.first) && are_values(instruction_.second);
    of_class(instruction_.of, [&](auto zero) {
      using Value = decltype(zero);
      // Bytes beneath a NULL are none: load_value sees to it.
      switch (instruction_.operation) {
        case Operation::kEqual:
        case Operation::kNotDistinct:
          return compare_each<Operation::kEqual, Value>();
        case Operation::kNotEqual:
        case Operation::kDistinct:
          return compare_each<Operation::kNotEqual, Value>();
        case Operation::kLess:
          return compare_each<Operation::kLess, Value>();
        default:
          return compare_each<Operation::kLessEqual, Value>();
      }
    });
    if (!tells_nulls) return;
    if (are) return all_are_values();
    uint8_t const of_distinct = instruction_.operation == Operation::kDistinct ? 1 : 0;
    some_are_none();
    for (uint32_t i = 0; i < count_; ++i) {
      ValueState const one = state_in(instruction_.first, i);
      ValueState const other = state_in(instruction_.second, i);
      ValueState const none = one >= kNoValue ? one : other;
      states()[i] = none >= kNoValue ? none : kValueState;
      if (one == kNullState || other == kNullState) {
        target<uint8_t>()[i] = one != other ? of_distinct : static_cast<uint8_t>(1 - of_distinct);
      }
    }
  }

  void in() {
    take_states(false);
    of_class(instruction_.of, [&](auto zero) {
      using Value = decltype(zero);
      for (uint32_t i = 0; i < count_; ++i) {
        bool const is_value = state_in(instruction_.first, i) == kValueState;
        target<uint8_t>()[i] =
            is_value && kernels::is_in(first<Value>()[i], bound_.constant_bytes(), instruction_.at,
                                       instruction_.count)
                ? 1
                : 0;
      }
    });
    if (instruction_.state == kValueState) return;
    for (uint32_t i = 0; i < count_; ++i) {
      ValueState const of = state_in(instruction_.first, i);
      states()[i] = of == kValueState && target<uint8_t>()[i] == 0 ? kNullState : of;
    }
    some_are_none();
  }

  void starts_with() {
    take_states(true);
    auto const* const one = first<kernels::ByteSpan>();
    auto const* const other = second<kernels::ByteSpan>();
    for (uint32_t i = 0; i < count_; ++i) {
      target<uint8_t>()[i] = kernels::starts_with(one[i], other[i]) ? 1 : 0;
    }
  }

  void logic() {
    Operation const operation = instruction_.operation;
    if (operation == Operation::kAnd || operation == Operation::kOr) return junction();
    auto* const made = target<uint8_t>();
    const uint8_t* const of = first<uint8_t>();
    bool const are = are_values(instruction_.first);
    if (operation == Operation::kNot) {
      take_states(false);
      for (uint32_t i = 0; i < count_; ++i) made[i] = of[i] ^ 1;
      return;
    }
    bool const asks_null =
        operation == Operation::kIsNullValue || operation == Operation::kIsNotNull;
    if (asks_null && are) {
      all_are_values();
      std::fill_n(made, count_, static_cast<uint8_t>(operation == Operation::kIsNotNull ? 1 : 0));
      return;
    }
    const ValueState* const from = vectors_.states(instruction_.first);
    if (asks_null) {
      bool const of_null = operation == Operation::kIsNullValue;
      for (uint32_t i = 0; i < count_; ++i) {
        made[i] = (from[i] == kNullState) == of_null ? 1 : 0;
      }
    } else {
      uint8_t const wanted = operation == Operation::kIsTrue ? 1 : 0;
      for (uint32_t i = 0; i < count_; ++i) {
        made[i] = (are || from[i] == kValueState) && of[i] == wanted ? 1 : 0;
      }
    }
    if (are) return all_are_values();
    some_are_none();
    for (uint32_t i = 0; i < count_; ++i) {
      states()[i] = from[i] == kNullState ? kValueState : from[i];
    }
  }

  void junction() {
    bool const is_and = instruction_.operation == Operation::kAnd;
    const uint8_t* const one = first<uint8_t>();
    const uint8_t* const other = second<uint8_t>();
    auto* const made = target<uint8_t>();
    if (are_values(instruction_.first) && are_values(instruction_.second)) {
      all_are_values();
      for (uint32_t i = 0; i < count_; ++i) {
        made[i] = is_and ? one[i] & other[i] : one[i] | other[i];
      }
      return;
    }
    some_are_none();
    for (uint32_t i = 0; i < count_; ++i) {
      Answer const both = kernels::decide(is_and ? 0 : 1, {one[i], state_in(instruction_.first, i)},
                                          {other[i], state_in(instruction_.second, i)});
      made[i] = both.value;
      states()[i] = both.state;
    }
  }

  void choice() {
    bool const is_select = instruction_.operation == Operation::kSelect;
    of_class(instruction_.of, [&](auto zero) {
      using Value = decltype(zero);
      const Value* const of_second = second<Value>();
      Value* const made = target<Value>();
      for (uint32_t i = 0; i < count_; ++i) {
        ValueState const state = state_in(instruction_.first, i);
        if (!is_select) {
          made[i] = state == kNullState ? of_second[i] : first<Value>()[i];
          states()[i] = state == kNullState ? state_in(instruction_.second, i) : state;
          continue;
        }
        bool const is_true = state == kValueState && first<uint8_t>()[i] != 0;
        uint8_t const from = is_true ? instruction_.second : instruction_.third;
        made[i] = vectors_.values<Value>(from)[i];
        states()[i] = state >= kNoValue ? state : state_in(from, i);
      }
    });
    const ValueState* const made = states();
    bool const are =
        std::all_of(made, made + count_, [](ValueState state) { return state == kValueState; });
    vectors_.set_are_values(instruction_.target, are);
  }
};

}  // namespace

ConditionVectors::ConditionVectors(const conditions::BoundCondition& bound) {
  // Of a conjunction nothing is kept, unless a row is missing.
  uint32_t bytes = 8;
  for (Instruction const& instruction : bound.instructions) {
    bytes = std::max({bytes, kernels::bytes_of(instruction.of), kernels::bytes_of(instruction.to)});
  }
  blocks_ = kVectorPairs * size_t{bytes} / sizeof(conditions::ConstantBlock);
  values_.resize(bound.registers * blocks_);
  states_.resize(size_t{bound.registers} * kVectorPairs);
  are_values_.resize(bound.registers);
}

void run_instruction(const Instruction& instruction, const conditions::BoundCondition& bound,
                     const conditions::Sources& sources, const PairBatch& batch,
                     ConditionVectors* vectors) {
  if (instruction.operation == Operation::kLoad) {
    return load_vector(instruction, sources, batch, vectors);
  }
  bool const is_conversion =
      instruction.operation >= Operation::kWiden && instruction.operation <= Operation::kToFloat;
  if (is_conversion || instruction.operation >= Operation::kAdd) {
    return calculate_vector(instruction, bound, batch, vectors);
  }
  Step(instruction, bound, batch.count, vectors).run();
}

}  // namespace gpujoin::cpu
