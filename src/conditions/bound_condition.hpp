// bound_condition.hpp: a condition whose types are known: the program that both executors run, and
// where the columns that it reads lie.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "kernels/conditions/program.hpp"
#include "kernels/conditions/simple_comparison.hpp"
#include "src/base/queue.hpp"
#include "src/columns/column.hpp"

namespace gpujoin::conditions {

struct BoundColumn {
  bool of_left = false;
  int32_t column = 0;
};

// 16 bytes, aligned to them.
struct alignas(16) ConstantBlock {
  uint8_t bytes[16] = {};
};

struct BoundCondition {
  std::vector<kernels::Instruction> instructions;
  uint32_t registers = 0;
  uint32_t answer = 0;                   // the register of it
  bool is_wide = false;                  // a register holds 32 bytes
  std::vector<BoundColumn> columns;      // by the instructions' numbers
  std::vector<ConstantBlock> constants;  // what instructions name by byte
  std::vector<std::string> node_types;   // of each of the caller's nodes, for messages
  std::string argument;                  // the caller's, for messages: "spec.residual"
  // A row's number as the caller knows it, for messages; null: it is the same. queue: reads those
  // that lie in device memory; null where none do.
  std::function<uint32_t(base::Queue* queue, bool of_left, uint32_t row)> registered_row;
  // Where the condition is a conjunction of comparisons of plain numbers and nothing else, these.
  std::vector<kernels::SimpleComparison> conjunction;

  const uint8_t* constant_bytes() const {
    return reinterpret_cast<const uint8_t*>(constants.data());
  }
  // Throws EVALUATION for a pair whose answer is no value. A row of kMissingRow is not named.
  // queue: as of registered_row.
  [[noreturn]] void fail_for(base::Queue* queue, kernels::ValueState state, uint32_t left_row,
                             uint32_t right_row) const;
};

// A condition's columns where an executor reads them. What of_views points to is on the host.
struct Sources {
  std::vector<kernels::ConditionColumn> columns;  // of views without their buffers
  std::vector<kernels::Hop> hops;
  struct Views {
    size_t column = 0;  // number in `columns`
    std::vector<const void*> buffers;
  };
  std::vector<Views> views;
};

// A column behind those that are there. What it lies in must outlive the sources.
void add_source(const columns::ColumnView& column, bool of_left, Sources* sources);

}  // namespace gpujoin::conditions
