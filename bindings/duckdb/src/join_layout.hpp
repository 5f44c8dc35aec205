// join_layout.hpp: one join of DuckDB's as the library is asked for it: which columns either side
// hands over, which of them are keys, and what comes out.
#pragma once

#include <duckdb/planner/expression.hpp>
#include <duckdb/planner/operator/logical_comparison_join.hpp>
#include <string>
#include <vector>

#include "bindings/duckdb/src/column_types.hpp"
#include "gpujoin.h"

namespace gpujoin_duckdb {

// A side's columns are expressions over what its child puts out.
struct SideLayout {
  duckdb::vector<duckdb::unique_ptr<duckdb::Expression>> expressions;
  std::vector<ColumnType> types;
  std::vector<int32_t> keys;
  // Positions of what comes out, in the order of DuckDB's output, and behind them what `filter`
  // reads besides.
  std::vector<int32_t> outputs;

  duckdb::vector<duckdb::LogicalType> logical_types() const;
  // Forgets the columns behind the first ones.
  void cut_to(size_t columns);
};

struct JoinLayout {
  SideLayout left;
  SideLayout right;
  gpujoin_join_kind kind = 0;
  std::vector<int32_t> key_flags;
  // In postfix order; none = equal keys are all that is asked.
  std::vector<gpujoin_node> residual;
  // Of inner joins: what is left to DuckDB, over the library's output columns.
  duckdb::unique_ptr<duckdb::Expression> filter;
  // Of the library's output columns, those that DuckDB's operator puts out.
  std::vector<size_t> shown;
  bool has_mark = false;
};

// What the library cannot be asked for.
struct Declined {
  std::string reason;
};

// Reads a join whose columns are resolved: expressions refer to what its children put out. Throws
// Declined, and then the join is as it was.
JoinLayout layout_of(const duckdb::LogicalComparisonJoin& join);

}  // namespace gpujoin_duckdb
