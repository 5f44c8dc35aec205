// any_row.hpp: tables in which any row stands for all rows of its key, for kinds of joins whose
// side comes out alone: the one rule of planner and executor.
#pragma once

#include "src/plan/choose_plan.hpp"

namespace gpujoin::plan {

// Whether a plan's table is one, of more rows than one launch makes and asks: that has a rule of
// its own. Hashed keys are verified by columns of the build row that was found; chunks of a probe
// side, and further probe sides, have tables of unique keys.
bool takes_any_row(const JoinPlan& plan, const PlanRequest& request);

// Whether a plan's build keys may repeat, and one may have a large part of the rows: a sample says
// so, or nobody scanned them.
bool keys_may_repeat(const JoinPlan& plan, const PlanRequest& request,
                     const SampleStatistics& sample);

// Whether its probe writes the rows without a match. Rows with NULL keys would be put out with keys
// as they lie.
bool finds_unmatched(const JoinPlan& plan, const PlanRequest& request);

}  // namespace gpujoin::plan
