// other_side.hpp: plans that build on the side with more rows, where a look says that they may be
// better.
#pragma once

#include <vector>

#include "src/plan/choose_plan.hpp"

namespace gpujoin::plan {

bool keys_repeat(const SampleStatistics& sample);

// Appends those that build on the other side than build_side_of says, where that may be better, or
// puts them in the place of all others, where it is. A side that comes out alone asks a table of
// the other one, in which keys may repeat, or its table's rows are marked, whichever takes less.
// H200, 3.8*10^6 rows marked by 1.3*10^7 others, dense: 0.38 ms by a table of these, 0.66 in
// partitions.
void add_plans_of_other_side(const PlanRequest& request, const SampleStatistics& sample,
                             const base::DeviceFacts& facts, std::vector<JoinPlan>* plans);

}  // namespace gpujoin::plan
