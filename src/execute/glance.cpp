#include "src/execute/glance.hpp"

#include "src/base/without_cuda.hpp"
#include "src/execute/row_picker.hpp"
#include "src/plan/attempts.hpp"
#include "src/plan/join_shape.hpp"
#include "src/plan/named_techniques.hpp"

namespace gpujoin::execute {

#if !GPUJOIN_WITH_CUDA
plan::SeenRepeats see_repeats_on_gpu(base::Queue&, const columns::Relation&, int32_t,
                                     const columns::Relation&, int32_t) {
  base::fail_without_cuda();
}
#endif

void glance(base::Queue& queue, uint64_t limit, bool is_explained, PlannedJoin* planned) {
  PlannedJoin& join = *planned;
  plan::JoinPlan const& plan = join.choice.plan();
  if (!plan::pays_to_glance(plan, join.request)) return;
  bool const left = plan.build_side == plan::Side::kLeft;
  columns::Relation const& build = left ? *join.left : *join.right;
  columns::Relation const& probe = left ? *join.right : *join.left;
  int32_t const build_key = (left ? join.spec.left_keys : join.spec.right_keys).front();
  int32_t const probe_key = (left ? join.spec.right_keys : join.spec.left_keys).front();
  auto const is_there = [](const columns::Relation& relation, int32_t key) {
    return is_device(relation.columns[static_cast<size_t>(key)].memory);
  };
  if (!is_there(build, build_key) || !is_there(probe, probe_key)) return;
  plan::SeenRepeats const seen = see_repeats_on_gpu(queue, build, build_key, probe, probe_key);
  if (seen.in_order && !plan::names_how(join.request.options)) {
    bool const are_unique = seen.build == 0 && seen.probe == 0;
    auto const merge = plan::merge_of_order(join.choice.attempts.front(), are_unique, join.request,
                                            join.context->facts);
    if (merge && (limit == 0 || merge->memory_bytes <= limit)) {
      // With its candidates, one of which is the last resort.
      join.choice = plan::choose_plan_unseen(join.request, join.context->facts, limit, true);
      join.take(*merge);
      join.choice.reason = "both sides are seen in the order of their keys: " + join.choice.reason;
      return;
    }
  }
  if (!plan::repeats_less(seen)) return;
  auto const other = plan::building_on_other(join.request, plan.build_side);
  join.choice = plan::choose_plan_unseen(*other, join.context->facts, limit, is_explained);
  join.choice.reason =
      "keys of the side with fewer rows are seen to repeat, the other one is built on: " +
      join.choice.reason;
}

}  // namespace gpujoin::execute
