// order_rule.hpp: of a sequence of joins: which plan of the next join serves the whole of it.
//
// A global table is probed in the order of its probe side, so after it the row numbers of the fact
// relation still ascend, nearly, and the next foreign key is fetched in runs. A partition or a sort
// by the key scatters them for good: every later fetch is at random.
#pragma once

#include <cstdint>
#include <vector>

#include "src/base/device_facts.hpp"
#include "src/plan/choose_plan.hpp"

namespace gpujoin::plan {

// What comes after the join that is planned.
struct SequenceOutlook {
  std::vector<PlanRequest> later;  // joins; the key of each one's left side is fetched before it
  int64_t rows = 0;                // of their left sides
  int64_t fact_rows = 0;
  std::vector<int32_t> fact_widths;  // of the columns fetched at the end
};

// Whether the rows leave the join in the order in which the left side has them.
bool keeps_left_order(const JoinPlan& plan);

// The candidate with which this join, on row numbers in order, and what comes after it take the
// least time, among those that fit the memory; the choice's own plan's when there is no better one.
// Later joins are taken to match every row once. seconds_saved: against the choice's own plan; 0
// also when that is none of the candidates.
const Candidate& best_in_sequence(const PlanChoice& choice, const SequenceOutlook& outlook,
                                  const base::DeviceFacts& facts, double* seconds_saved);

// The cheapest candidate by which each row of the left side can look its match up and stay where it
// is; null when the sample does not say that nearly all of them have one match each, or when none
// fits the memory.
const Candidate* best_lookup(const PlanChoice& choice);

}  // namespace gpujoin::plan
