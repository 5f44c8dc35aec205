// table_cost.hpp: what costs of tables of the whole build side are made of.
#pragma once

#include <cstdint>

#include "src/plan/stage_costs.hpp"

namespace gpujoin::plan {

// Probe rows that write the columns of the join. steps: of a lookup, which a warp waits for.
Cost probe_columns(const JoinPlan& plan, const JoinShape& shape, double lookups, double reads,
                   uint64_t table_bytes, double overlapped, const base::DeviceFacts& facts,
                   double steps = 1);

// Rows that blocks work on at a time.
inline constexpr double kRowsAtOnce = 1 << 20;

// Whether rows are as far from each other as rows next to each other and as many of the side's keys
// as come between: shuffled within blocks. Runs of rows in order that lie anywhere are not.
bool is_shuffled_within_blocks(const JoinShape& shape);

// Places of dense build keys as far as was looked, build_rows where nobody looked; 0: they are too
// far apart.
uint64_t direct_places(const JoinShape& shape);
// Of so many.
Cost direct_table_cost(const JoinPlan& plan, const JoinShape& shape, uint64_t places,
                       const base::DeviceFacts& facts);

}  // namespace gpujoin::plan
