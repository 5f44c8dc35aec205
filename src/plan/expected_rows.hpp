// expected_rows.hpp: how many output rows there is room for at first.
#pragma once

#include <cstdint>

#include "src/plan/choose_plan.hpp"

namespace gpujoin::plan {

// Of a plan whose build side is build_side_of(request): the sample's estimate, and a margin.
int64_t expected_rows(const PlanRequest& request, const SampleStatistics& sample);

// Of any plan. expected: expected_rows(request, sample).
int64_t expected_rows_of(const JoinPlan& plan, const PlanRequest& request,
                         const SampleStatistics& sample, int64_t expected);

}  // namespace gpujoin::plan
