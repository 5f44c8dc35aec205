// candidates.hpp: what the caller named, turned into the plans that remain.
#pragma once

#include <string>
#include <vector>

#include "src/base/device_facts.hpp"
#include "src/plan/choose_plan.hpp"
#include "src/plan/join_plan.hpp"

namespace gpujoin::plan {

// Every legal plan that has all that the options name, complete but for expected_rows, in the order
// of legal_plans. Never empty: throws ILLEGAL_PLAN with the reason when nothing remains.
std::vector<JoinPlan> candidates_of(const PlanRequest& request, const base::DeviceFacts& facts);

// The name that tells candidates apart: the algorithm's, with the gather on the CPU, where one
// algorithm has both.
std::string candidate_name(const JoinPlan& plan);

}  // namespace gpujoin::plan
