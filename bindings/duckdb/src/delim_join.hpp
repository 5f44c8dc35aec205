// delim_join.hpp: joins with a correlated subquery, which reads the distinct values of the columns
// that it names of the other side.
#pragma once

#include <duckdb/execution/physical_plan_generator.hpp>
#include <duckdb/planner/operator/logical_comparison_join.hpp>

namespace gpujoin_duckdb {

// Puts DuckDB's operator that finds these values over the physical join made of `delim_join`, or
// answers the join alone where nothing reads them.
duckdb::PhysicalOperator& with_distinct_values(duckdb::ClientContext& client,
                                               duckdb::PhysicalPlanGenerator& planner,
                                               const duckdb::LogicalComparisonJoin& delim_join,
                                               duckdb::PhysicalOperator& join);

}  // namespace gpujoin_duckdb
