// filter_pairs.hpp: pairs of rows that do not fulfil a condition, or of which it is NULL, are
// dropped.
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "src/base/queue.hpp"
#include "src/columns/column.hpp"
#include "src/conditions/bound_condition.hpp"

namespace gpujoin::kernels {
struct PairComparisons;
}

namespace gpujoin::conditions {

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
  // What kernels can compare by themselves, where this is such a condition, which has an answer for
  // each pair; else null.
  const kernels::PairComparisons* comparisons() const;

 private:
  friend struct PairsAsked;
  struct Launch;  // what kernels take
  std::shared_ptr<const BoundCondition> bound_;
  std::shared_ptr<const void> held_;
  std::unique_ptr<Launch> launch_;
};

// Which of some pairs pass: a bit a pair, bit i % 32 of word i / 32.
struct KeptPairs {
  base::Buffer bits;
  uint64_t count = 0;
};

// left_rows, right_rows: [pairs] row numbers on the device, GPUJOIN_NO_ROW where a side has none.
// Waits for the stream. Throws EVALUATION with the node and the rows of the first pair whose answer
// is no value.
KeptPairs find_kept(base::Queue& queue, const DeviceCondition& condition, const uint32_t* left_rows,
                    const uint32_t* right_rows, uint64_t pairs);

// The same. Those of pairs that are kept stay, in their order; answers how many. A bit a pair of
// scratch memory, and what CUB takes. Where all are kept nothing is written.
uint64_t filter_pairs(base::Queue& queue, const DeviceCondition& condition, uint32_t* left_rows,
                      uint32_t* right_rows, uint64_t pairs);

}  // namespace gpujoin::conditions
