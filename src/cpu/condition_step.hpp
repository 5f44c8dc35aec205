// condition_step.hpp: what the loops of all instructions of a condition have in common.
#pragma once

#include <algorithm>
#include <cstdint>

#include "kernels/conditions/interpret.hpp"
#include "src/cpu/condition_vectors.hpp"

namespace gpujoin::cpu {

class ConditionStep {
 public:
  ConditionStep(const kernels::Instruction& instruction, const conditions::BoundCondition& bound,
                uint32_t count, ConditionVectors* vectors)
      : instruction_(instruction), bound_(bound), count_(count), vectors_(*vectors) {}

 protected:
  template <typename Value>
  const Value* first() {
    return vectors_.values<Value>(instruction_.first);
  }
  template <typename Value>
  const Value* second() {
    return vectors_.values<Value>(instruction_.second);
  }
  template <typename Value>
  Value* target() {
    return vectors_.values<Value>(instruction_.target);
  }
  kernels::ValueState* states() { return vectors_.states(instruction_.target); }
  bool are_values(uint8_t at) const { return vectors_.are_values(at); }
  kernels::ValueState state_in(uint8_t at, uint32_t i) {
    return are_values(at) ? kernels::kValueState : vectors_.states(at)[i];
  }
  void all_are_values() { vectors_.set_are_values(instruction_.target, true); }
  void some_are_none() { vectors_.set_are_values(instruction_.target, false); }

  template <typename What>
  void of_class(kernels::ValueClass of, const What& what) {
    kernels::with_class<kernels::kMostValueBytes>(of, what);
  }

  // The states of an operation that needs its first, or both, arguments.
  void take_states(bool of_both) {
    bool const first_are = are_values(instruction_.first);
    bool const second_are = !of_both || are_values(instruction_.second);
    if (first_are && second_are) return all_are_values();
    some_are_none();
    if (first_are || second_are) {
      uint8_t const from = first_are ? instruction_.second : instruction_.first;
      std::copy_n(vectors_.states(from), count_, states());
      return;
    }
    const kernels::ValueState* const one = vectors_.states(instruction_.first);
    const kernels::ValueState* const other = vectors_.states(instruction_.second);
    kernels::ValueState* const made = states();
    for (uint32_t i = 0; i < count_; ++i) made[i] = kernels::state_of(one[i], other[i]);
  }

  // trouble_of(i) where one of the values is in trouble that is no NULL.
  template <typename TroubleOf>
  void mark_trouble(const TroubleOf& trouble_of) {
    kernels::ValueState* const made = states();
    if (are_values(instruction_.target)) std::fill_n(made, count_, kernels::kValueState);
    some_are_none();
    for (uint32_t i = 0; i < count_; ++i) {
      if (made[i] != kernels::kValueState) continue;
      kernels::Trouble const trouble = trouble_of(i);
      if (trouble != kernels::Trouble::kNone)
        made[i] = kernels::no_value(instruction_.node, trouble);
    }
  }

  const kernels::Instruction& instruction_;
  const conditions::BoundCondition& bound_;
  uint32_t count_;
  ConditionVectors& vectors_;
};

}  // namespace gpujoin::cpu
