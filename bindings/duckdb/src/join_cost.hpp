// join_cost.hpp: whether a join is worth taking.
#pragma once

#include <string>

#include "bindings/duckdb/src/join_layout.hpp"
#include "bindings/duckdb/src/physical_join.hpp"

namespace gpujoin_duckdb {

struct Cost {
  Expectation expectation;
  // What DuckDB's own hash join is taken to need.
  double duckdb_milliseconds = 0;
  // Both figures are guesses: what is not so many times as fast is left where it is.
  double least_gain = 1;

  bool is_worth_it() const { return least_gain * expectation.milliseconds < duckdb_milliseconds; }
};

Cost cost_of(gpujoin_context* context, const duckdb::LogicalComparisonJoin& join,
             const JoinLayout& layout, int64_t left_rows, int64_t right_rows, size_t threads);

}  // namespace gpujoin_duckdb
