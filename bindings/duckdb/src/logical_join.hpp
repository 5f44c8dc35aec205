// logical_join.hpp: joins of an optimized plan that gpujoin may take.
#pragma once

#include <duckdb/optimizer/optimizer_extension.hpp>

#include "bindings/duckdb/src/contexts.hpp"
#include "bindings/duckdb/src/interrupts.hpp"

namespace gpujoin_duckdb {

// What all queries of a database share.
struct SharedState final : duckdb::OptimizerExtensionInfo,
                           duckdb::enable_shared_from_this<SharedState> {
  // Of a device.
  ContextCache contexts;
  // Plans that still run when the database goes keep it.
  std::shared_ptr<Interrupts> const interrupts = std::make_shared<Interrupts>();
};

// Puts a node over each join of the plan that might be taken. When the physical plan is made it
// becomes GPUJOIN, or the join under it, as if it were not there.
void mark_joins(duckdb::OptimizerExtensionInput& input,
                duckdb::unique_ptr<duckdb::LogicalOperator>& plan);

}  // namespace gpujoin_duckdb
