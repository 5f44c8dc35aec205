#include "src/plan/any_row.hpp"

#include "src/plan/join_shape.hpp"

namespace gpujoin::plan {

bool takes_any_row(const JoinPlan& plan, const PlanRequest& request) {
  return columns::comes_alone(request.kind) && !request.joins_pairs && !request.residual &&
         probes_table(plan.match) && plan.gather == Gather::kCarried &&
         plan.transform == Transform::kNone && plan.keys != Keys::kHashed &&
         plan.transfer != Transfer::kProbeChunks && !joins_in_one_launch(plan.build_side, request);
}

bool keys_may_repeat(const JoinPlan& plan, const PlanRequest& request,
                     const SampleStatistics& sample) {
  return !sample.counted || plan.build_side != build_side_of(request) ||
         sample.rows_per_match > 1.01 || sample.heavy_build_share > 0;
}

bool finds_unmatched(const JoinPlan& plan, const PlanRequest& request) {
  const bool probes_left = plan.build_side != Side::kLeft;
  const SideStatistics& probe = probes_left ? request.left : request.right;
  return columns::rows_of(request.kind, probes_left) == columns::RowsOfSide::kUnmatchedOnly &&
         !probe.key_nullable && plan.filter == Filter::kNone && takes_any_row(plan, request);
}

}  // namespace gpujoin::plan
