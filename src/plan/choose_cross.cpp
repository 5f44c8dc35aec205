// choose_cross.cpp: the one plan of a cross join.
#include <algorithm>

#include "src/base/traffic.hpp"
#include "src/plan/choose_plan.hpp"
#include "src/plan/named_techniques.hpp"

namespace gpujoin::plan {

PlanChoice choose_cross(const PlanRequest& request, Device device) {
  fail_if_technique_named(request.options, "a cross join matches nothing");
  Attempt attempt;
  attempt.plan.device = device;
  // Products that no memory holds are all alike.
  constexpr double kMostRows = 1e17;
  double const product =
      static_cast<double>(request.left.rows) * static_cast<double>(request.right.rows);
  auto const rows = static_cast<uint64_t>(std::min(product, kMostRows));
  uint64_t row_bytes = base::traffic::kPairBytes;
  for (const SideStatistics* side : {&request.left, &request.right}) {
    for (const int32_t width : side->payload_widths) row_bytes += static_cast<uint64_t>(width);
  }
  attempt.memory_bytes = rows * row_bytes;
  StageCost cost;
  cost.stage = "match";
  cost.technique = "cross";
  cost.bytes = base::traffic::cross_pairs(rows);
  attempt.stages.push_back(cost);
  attempt.bytes = cost.bytes;
  PlanChoice choice;
  choice.attempts.push_back(attempt);
  choice.reason = "every row meets every row: there is one plan";
  return choice;
}

}  // namespace gpujoin::plan
