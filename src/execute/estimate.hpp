// estimate.hpp: what a join would cost on either executor, from numbers alone.
//
// Relations without data go the way of make_plan.cpp: which columns come late, what a kind is made
// of, what the planner is told of a side. What the planner does not weigh, because no candidate
// differs in it, is added: codes and copies of keys, late columns, marks and rows without a match,
// the order of rows.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "src/base/device_facts.hpp"
#include "src/columns/column.hpp"

namespace gpujoin::execute {

// A relation whose columns have types, layouts and memory, and no data; a column that may be NULL
// has a validity that nobody reads.
struct ExpectedSide {
  std::shared_ptr<columns::Relation> relation;
  std::vector<double> text_bytes;  // of a value of each column, where it has any number
  int64_t distinct_keys = 0;       // 0: as few as the other side and the rows allow
  std::optional<int64_t> matched_rows;
};

struct ExpectedJoin {
  ExpectedSide left;
  ExpectedSide right;
  columns::JoinSpec spec;  // validated against the relations
  std::optional<int64_t> pairs;
};

struct ExecutorEstimate {
  double seconds = 0;
  double fetch_seconds = 0;  // the result to host memory, where it lies elsewhere
  uint64_t bytes = 0;        // moved, read + written
  uint64_t memory_bytes = 0;
  std::string plan;
};

struct JoinEstimate {
  int64_t rows = 0;
  uint64_t bytes = 0;  // of the output, as gpujoin_plan_count has them
  ExecutorEstimate cpu;
  std::optional<ExecutorEstimate> cuda;  // where the facts are a GPU's
};

// Reads no data and allocates no memory of a pool: some 20 microseconds.
JoinEstimate estimate(const base::DeviceFacts& facts, const ExpectedJoin& join);

}  // namespace gpujoin::execute
