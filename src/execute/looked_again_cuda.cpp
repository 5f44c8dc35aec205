#include "src/execute/looked_again.hpp"

#include "src/base/device.hpp"
#include "src/execute/no_room.hpp"
#include "src/execute/row_picker.hpp"
#include "src/plan/named_techniques.hpp"
#include "src/sample/sample_keys.hpp"

namespace gpujoin::execute {

namespace {

// Whether another plan may do what is left: nothing of what was promised, grouped or ordered was
// made for the first one, and keys lie where a sample reads them.
bool may_change(const PlannedJoin& join) {
  auto const is_there = [](const columns::Relation& relation, int32_t key) {
    return is_device(relation.columns[static_cast<size_t>(key)].memory);
  };
  plan::JoinPlan const& plan = join.choice.plan();
  return !plan::names_how(join.request.options) && join.request.key_count == 1 &&
         !join.choice.sample.counted && plan.filter == plan::Filter::kNone &&
         plan.keys == plan::Keys::kPlain && !join.promised && !join.grouped &&
         !join.request.in_order && join.spec.order == columns::RowOrder::kNone &&
         !columns::comes_alone(join.request.kind) && !join.request.joins_pairs &&
         is_there(*join.left, join.spec.left_keys.front()) &&
         is_there(*join.right, join.spec.right_keys.front());
}

}  // namespace

std::optional<PlannedJoin> looked_again(base::Queue& queue, const PlannedJoin& join,
                                        const plan::Attempt& next, StageClock& clock) {
  base::DeviceFacts const& facts = join.context->facts;
  if (!may_change(join) || !plan::pays_to_look(next, join.request, facts)) return std::nullopt;
  clock.enter("look");
  try {
    plan::SampleStatistics const sample =
        sample_sides(queue, join, plan::Device::kCuda, plan::SampleEffort::kCounted);
    clock.note("keys are sampled");
    bool const is_read = join.context->log_function != nullptr;
    plan::PlanChoice choice =
        plan::choose_plan(join.request, sample, facts, join.choice.memory_limit_bytes, is_read);
    if (choice.plan().transfer != join.choice.plan().transfer) return std::nullopt;
    log_choice(*join.context, choice);
    PlannedJoin planned = join;
    planned.choice = std::move(choice);
    return planned;
  } catch (const base::Error& error) {
    if (!is_no_room(error)) throw;
    return std::nullopt;
  }
}

plan::SampleFindings sample_on_gpu(base::Queue& queue, const columns::Relation& build,
                                   int32_t build_key, const columns::Relation& probe,
                                   int32_t probe_key, plan::SampleEffort effort) {
  base::await(queue, build.ready_event);
  base::await(queue, probe.ready_event);
  return sample::sample_keys(queue, build.columns[static_cast<size_t>(build_key)], build.rows,
                             probe.columns[static_cast<size_t>(probe_key)], probe.rows, effort);
}

}  // namespace gpujoin::execute
