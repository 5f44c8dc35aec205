// delim_join.cpp: joins with a correlated subquery.
//
// As DuckDB plans its own: its operator takes the rows of the named side, hands them to the join's
// sink or keeps them to be probed with, and fills the scans of their distinct values.
#include "bindings/duckdb/src/delim_join.hpp"

#include <duckdb/execution/operator/aggregate/physical_hash_aggregate.hpp>
#include <duckdb/execution/operator/join/physical_left_delim_join.hpp>
#include <duckdb/execution/operator/join/physical_right_delim_join.hpp>
#include <duckdb/execution/operator/scan/physical_column_data_scan.hpp>

#include "bindings/duckdb/src/duckdb_versions.hpp"

namespace gpujoin_duckdb {

namespace {

using duckdb::PhysicalOperator;
using Scans = duckdb::vector<duckdb::const_reference<PhysicalOperator>>;

// Those of other such joins below have an index by now, but no scan of theirs is outside of them.
void find_scans(PhysicalOperator& node, size_t index, Scans& scans) {
  if (node.type == duckdb::PhysicalOperatorType::DELIM_SCAN) {
    node.Cast<duckdb::PhysicalColumnDataScan>().delim_index = duckdb::optional_idx(index);
    scans.push_back(node);
  }
  for (auto& child : node.children) find_scans(child.get(), index, scans);
}

}  // namespace

PhysicalOperator& with_distinct_values(duckdb::ClientContext& client,
                                       duckdb::PhysicalPlanGenerator& planner,
                                       const duckdb::LogicalComparisonJoin& delim_join,
                                       PhysicalOperator& join) {
  Scans scans;
  size_t const index = ++planner.delim_index;
  find_scans(join.children[delim_join.delim_flipped ? 0 : 1].get(), index, scans);
  if (scans.empty()) return join;

  duckdb::vector<duckdb::LogicalType> types;
  duckdb::vector<duckdb::unique_ptr<duckdb::Expression>> groups;
  for (auto const& column : delim_join.duplicate_eliminated_columns) {
    types.push_back(type_of(*column));
    groups.push_back(column->Copy());
  }
  auto& distinct = planner.Make<duckdb::PhysicalHashAggregate>(
      client, types, duckdb::vector<duckdb::unique_ptr<duckdb::Expression>>(), std::move(groups),
      scans[0].get().estimated_cardinality);
  auto const make = [&](auto* made) -> PhysicalOperator& {
    using Made = std::remove_pointer_t<decltype(made)>;
    return planner.Make<Made>(planner, delim_join.types, join, distinct, scans,
                              delim_join.estimated_cardinality, duckdb::optional_idx(index));
  };
  if (delim_join.delim_flipped) {
    return make(static_cast<duckdb::PhysicalRightDelimJoin*>(nullptr));
  }
  return make(static_cast<duckdb::PhysicalLeftDelimJoin*>(nullptr));
}

}  // namespace gpujoin_duckdb
