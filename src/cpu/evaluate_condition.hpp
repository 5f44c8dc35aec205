// evaluate_condition.hpp: a condition for batches of pairs of rows: on the CPU.
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "src/columns/column.hpp"
#include "src/conditions/bound_condition.hpp"
#include "src/cpu/compare_rows.hpp"
#include "src/cpu/condition_vectors.hpp"

namespace gpujoin::cpu {

// Of one worker: it has its registers. Some hundred KiB at most, most conditions 30.
class ConditionEvaluator {
 public:
  // columns: those of bound->columns, in host memory, which outlive this
  // (src/execute/condition_columns.hpp brings them).
  ConditionEvaluator(std::shared_ptr<const conditions::BoundCondition> bound,
                     std::span<const columns::ColumnView> columns);
  // Of relations whose columns lie there.
  ConditionEvaluator(std::shared_ptr<const conditions::BoundCondition> bound,
                     const columns::Relation& left, const columns::Relation& right);

  // answers: [count] kAnswer*. Of a side whose row is GPUJOIN_NO_ROW all columns are NULL. Throws
  // EVALUATION, naming node and rows, where a pair's answer is no value.
  void evaluate(const uint32_t* left_rows, const uint32_t* right_rows, uint32_t count,
                uint8_t* answers);

 private:
  void run_program(const PairBatch& batch, uint8_t* answers);

  std::shared_ptr<const conditions::BoundCondition> bound_;
  conditions::Sources sources_;
  ConditionVectors vectors_;
};

}  // namespace gpujoin::cpu
