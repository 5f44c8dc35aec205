// filter_pairs.hpp: pairs of rows that do not fulfil a condition: dropped, or told.
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "kernels/conditions/pair_answers.hpp"
#include "src/base/queue.hpp"
#include "src/columns/column.hpp"
#include "src/conditions/bound_condition.hpp"

namespace gpujoin::conditions {

inline constexpr kernels::Keep kKeepTrue = kernels::Keep::kTrue;
// NULLs, too: a pair that is not false may be a match, as IN has it.
inline constexpr kernels::Keep kKeepNotFalse = kernels::Keep::kNotFalse;

// A condition whose program is on the device.
class DeviceCondition {
 public:
  // columns: those of bound->columns, on the device, which outlive this; `held` is kept beside them
  // (src/execute/condition_columns.hpp makes both). Constants are copied. Waits for the stream.
  DeviceCondition(base::Queue& queue, std::shared_ptr<const BoundCondition> bound,
                  std::span<const columns::ColumnView> columns,
                  std::shared_ptr<const void> held = nullptr);
  ~DeviceCondition();

  const BoundCondition& bound() const { return *bound_; }

 private:
  friend struct PairsAsked;
  struct Launch;  // what kernels take
  std::shared_ptr<const BoundCondition> bound_;
  std::shared_ptr<const void> held_;
  std::unique_ptr<Launch> launch_;
};

// left_rows, right_rows: [pairs] row numbers on the device, GPUJOIN_NO_ROW where a side has none.
// Those of pairs that are kept stay, in their order; answers how many. A bit a pair of scratch
// memory, and what CUB takes. Where all are kept nothing is written. Waits for the stream. Throws
// EVALUATION with the node and the rows of the first pair whose answer is no value.
uint64_t filter_pairs(base::Queue& queue, const DeviceCondition& condition, kernels::Keep keep,
                      uint32_t* left_rows, uint32_t* right_rows, uint64_t pairs);

// answers: [pairs] 0 false, 1 true, 2 NULL, on the device. Throws as above.
void evaluate_pairs(base::Queue& queue, const DeviceCondition& condition, const uint32_t* left_rows,
                    const uint32_t* right_rows, uint64_t pairs, uint8_t* answers);

}  // namespace gpujoin::conditions
