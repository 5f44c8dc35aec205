// logical_join.hpp: joins of an optimized plan that gpujoin may take.
#pragma once

#include <duckdb/optimizer/optimizer_extension.hpp>

#include "bindings/duckdb/src/settings.hpp"

namespace gpujoin_duckdb {

// What all queries of a database share.
struct SharedState final : duckdb::OptimizerExtensionInfo,
                           duckdb::enable_shared_from_this<SharedState> {
  Contexts contexts;
};

// Puts a node over each join of the plan that might be taken. When the physical plan is made it
// becomes GPUJOIN, or the join under it, as if it were not there.
void mark_joins(duckdb::OptimizerExtensionInput& input,
                duckdb::unique_ptr<duckdb::LogicalOperator>& plan);

}  // namespace gpujoin_duckdb
