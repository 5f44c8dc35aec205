// table_plan.hpp: the plan of a table whose probe writes columns, as a match is given it.
#pragma once

#include "src/plan/join_plan.hpp"

namespace gpujoin::tests {

inline plan::JoinPlan table_plan(plan::Match match) {
  plan::JoinPlan plan;
  plan.device = plan::Device::kCuda;
  plan.match = match;
  plan.output = plan::Output::kBlockChunks;
  plan.gather = plan::Gather::kCarried;
  return plan;
}

}  // namespace gpujoin::tests
