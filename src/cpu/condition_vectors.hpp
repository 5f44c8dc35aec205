// condition_vectors.hpp: what a condition's program has in its registers on the CPU: a value of
// each pair of a batch.
#pragma once

#include <cstdint>
#include <vector>

#include "src/conditions/bound_condition.hpp"

namespace gpujoin::cpu {

// Pairs that are evaluated together: a few registers of them lie in the first cache.
inline constexpr uint32_t kVectorPairs = 1024;

struct PairBatch {
  const uint32_t* left = nullptr;
  const uint32_t* right = nullptr;
  uint32_t count = 0;
  bool left_misses = false;  // some are GPUJOIN_NO_ROW
  bool right_misses = false;

  const uint32_t* rows(bool of_left) const { return of_left ? left : right; }
  bool misses(bool of_left) const { return of_left ? left_misses : right_misses; }
};

class ConditionVectors {
 public:
  explicit ConditionVectors(const conditions::BoundCondition& bound);

  template <typename Value>
  Value* values(uint32_t at) {
    return reinterpret_cast<Value*>(values_.data() + at * blocks_);
  }
  kernels::ValueState* states(uint32_t at) { return states_.data() + at * kVectorPairs; }
  // Whether all are kValueState, whatever is in states().
  bool are_values(uint32_t at) const { return are_values_[at] != 0; }
  void set_are_values(uint32_t at, bool are) { are_values_[at] = are ? 1 : 0; }

 private:
  size_t blocks_ = 0;  // of a register
  std::vector<conditions::ConstantBlock> values_;
  std::vector<kernels::ValueState> states_;
  std::vector<uint8_t> are_values_;
};

// One instruction for a batch of kVectorPairs pairs at most.
void run_instruction(const kernels::Instruction& instruction,
                     const conditions::BoundCondition& bound, const conditions::Sources& sources,
                     const PairBatch& batch, ConditionVectors* vectors);

// Its conversions and arithmetic. See condition_arithmetic.cpp.
void calculate_vector(const kernels::Instruction& instruction,
                      const conditions::BoundCondition& bound, const PairBatch& batch,
                      ConditionVectors* vectors);

// A column's values. See condition_loads.cpp.
void load_vector(const kernels::Instruction& instruction, const conditions::Sources& sources,
                 const PairBatch& batch, ConditionVectors* vectors);

}  // namespace gpujoin::cpu
