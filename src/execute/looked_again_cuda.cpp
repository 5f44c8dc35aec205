#include "src/execute/looked_again.hpp"

#include <algorithm>
#include <vector>

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

// Whether the plan is a table of a side whose keys are known to repeat: of every table that was
// tried before `next`. Of keys that seldom repeat a sample sees none.
bool is_in_vain(const PlannedJoin& join, const plan::Attempt& next, const plan::JoinPlan& plan) {
  if (!plan::is_unique_table(plan) || plan.filter != plan::Filter::kNone) return false;
  std::vector<plan::Attempt> const& attempts = join.choice.attempts;
  return std::any_of(attempts.begin(), attempts.end(), [&](const plan::Attempt& tried) {
    return &tried < &next && plan::is_unique_table(tried.plan) &&
           tried.plan.build_side == plan.build_side &&
           (&tried == &attempts.front() || tried.after == plan::Finding::kKeysRepeat);
  });
}

// The cheapest that is not in vain, where there is one.
void take_another(const plan::Attempt& next, const PlannedJoin& join, PlannedJoin* looked) {
  uint64_t const limit = join.choice.memory_limit_bytes;
  std::vector<plan::Candidate> const& candidates = looked->choice.candidates;
  auto const other = std::find_if(candidates.begin(), candidates.end(), [&](const auto& candidate) {
    return !is_in_vain(join, next, candidate.plan) &&
           (limit == 0 || candidate.memory_bytes <= limit);
  });
  if (other != candidates.end()) looked->take(*other);
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
    PlannedJoin planned = join;
    planned.choice = std::move(choice);
    if (is_in_vain(join, next, planned.choice.plan())) take_another(next, join, &planned);
    log_choice(*join.context, planned.choice);
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
