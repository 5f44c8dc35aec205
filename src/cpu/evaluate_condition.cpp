#include "src/cpu/evaluate_condition.hpp"

#include <algorithm>
#include <utility>

#include "src/cpu/compare_rows.hpp"

namespace gpujoin::cpu {

namespace {

bool misses_any(const uint32_t* rows, uint32_t count) {
  // Without a branch: a loop that the compiler makes vectors of.
  uint32_t any = 0;
  for (uint32_t i = 0; i < count; ++i) any |= rows[i] == kernels::kMissingRow ? 1 : 0;
  return any != 0;
}

}  // namespace

ConditionEvaluator::ConditionEvaluator(std::shared_ptr<const conditions::BoundCondition> bound,
                                       std::span<const columns::ColumnView> columns)
    : bound_(std::move(bound)), vectors_(*bound_) {
  for (size_t i = 0; i < columns.size(); ++i) {
    conditions::add_source(columns[i], bound_->columns[i].of_left, &sources_);
  }
}

ConditionEvaluator::ConditionEvaluator(std::shared_ptr<const conditions::BoundCondition> bound,
                                       const columns::Relation& left,
                                       const columns::Relation& right)
    : bound_(std::move(bound)), vectors_(*bound_) {
  for (conditions::BoundColumn const& column : bound_->columns) {
    columns::Relation const& relation = column.of_left ? left : right;
    conditions::add_source(relation.columns[static_cast<size_t>(column.column)], column.of_left,
                           &sources_);
  }
}

void ConditionEvaluator::evaluate(const uint32_t* left_rows, const uint32_t* right_rows,
                                  uint32_t count, uint8_t* answers) {
  for (uint32_t begin = 0; begin < count; begin += kVectorPairs) {
    PairBatch batch;
    batch.left = left_rows + begin;
    batch.right = right_rows + begin;
    batch.count = std::min(kVectorPairs, count - begin);
    batch.left_misses = misses_any(batch.left, batch.count);
    batch.right_misses = misses_any(batch.right, batch.count);
    bool const misses = batch.left_misses || batch.right_misses;
    if (bound_->conjunction.empty() || misses) {
      run_program(batch, answers + begin);
    } else {
      compare_rows(bound_->conjunction, sources_, batch, answers + begin);
    }
  }
}

void ConditionEvaluator::run_program(const PairBatch& batch, uint8_t* answers) {
  for (kernels::Instruction const& instruction : bound_->instructions) {
    run_instruction(instruction, *bound_, sources_, batch, &vectors_);
  }
  std::copy_n(vectors_.values<uint8_t>(bound_->answer), batch.count, answers);
  if (vectors_.are_values(bound_->answer)) return;
  const kernels::ValueState* const states = vectors_.states(bound_->answer);
  for (uint32_t i = 0; i < batch.count; ++i) {
    if (states[i] == kernels::kValueState) continue;
    if (states[i] != kernels::kNullState) {
      bound_->fail_for(nullptr, states[i], batch.left[i], batch.right[i]);
    }
    answers[i] = kAnswerNull;
  }
}

}  // namespace gpujoin::cpu
