// fit_rates.hpp: rates that no kernel shows by itself, from stages of joins that were timed.
//
// What co-partitions do with a row, say, is one rate of the cost model beside others. It is found
// by asking the model backwards: at which rate does it predict the time that the stage took? So a
// rate means what the formulas of cost_of make of it, and no formula is written twice.
#pragma once

#include <string>

#include "src/plan/choose_plan.hpp"

namespace gpujoin::plan {

// A stage of a join of which all is known: the sample says what the data is, not what was guessed.
struct TimedStage {
  JoinPlan plan;
  PlanRequest request;
  SampleStatistics sample;
  std::string stage;
  double seconds = 0;
};

// Sets the rate so that the stage is predicted to take what it took, the other rates as they are.
// False, and nothing is set, when no rate within a factor of 100 does: other resources bound it.
bool fit_rate(const TimedStage& timed, double base::DeviceFacts::*rate, base::DeviceFacts* facts);

}  // namespace gpujoin::plan
