// table_cost.hpp: what costs of tables of the whole build side are made of.
#pragma once

#include <cstdint>

#include "src/plan/stage_costs.hpp"

namespace gpujoin::plan {

// Probe rows that write the columns of the join. steps: of a lookup, which a warp waits for.
Cost probe_columns(const JoinPlan& plan, const JoinShape& shape, double lookups, double reads,
                   uint64_t table_bytes, double overlapped, const base::DeviceFacts& facts,
                   double steps = 1);

// Of a probe row that is looked up, beside its bytes.
inline constexpr double kTableRowSeconds = 1.1e-12;

// The part of its reads that a probe waits for. Neighbours of sides in order ask for the same
// slots, or for places in the same sectors. H200, hashed, in order: 2*10^5 x 3*10^7 rows 0.26 ms,
// 3*10^4 x 2*10^7 0.24, by the rates of any order 0.39 and 0.36.
double reads_by_order(const JoinShape& shape, double reads);
// Of the probe side's payloads, what is in sectors without a matching row.
uint64_t unread_bytes(const JoinShape& shape);

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
