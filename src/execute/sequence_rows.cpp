#include "src/execute/sequence_rows.hpp"

#include <string>
#include <utility>

#include "src/execute/row_picker.hpp"
#include "src/execute/selected.hpp"
#include "src/execute/sequence_keys.hpp"
#include "src/plan/choose_plan.hpp"

namespace gpujoin::execute {

using columns::Relation;

namespace {

// Keys of all steps that it is part of, and output columns that are not fetched.
SideOfJoin read_of(const Relation& relation, std::vector<int32_t> keys,
                   const std::vector<int32_t>& wanted, bool numbers) {
  columns::JoinSpec spec;
  spec.left_keys = std::move(keys);
  spec.left_columns = wanted;
  spec.pairs = numbers;
  SideOfJoin side = side_of(relation, spec, true);
  side.masked_key = -1;  // each fact row may stay whatever one of its keys says
  return side;
}

}  // namespace

plan::Device device_of(const gpujoin_plan_options& options, const base::Context& context) {
  plan::PlanRequest request;
  request.options = options;
  return plan::device_of(request, context.facts);
}

PickedSequence picked_sequence(base::Queue& queue, plan::Device device,
                               const std::shared_ptr<const Relation>& fact,
                               const SequenceSpec& spec) {
  PickedSequence made{fact, spec, {}};
  std::string note;
  auto const pick = [&](const std::string& name, std::shared_ptr<const Relation>& relation,
                        std::vector<int32_t> keys, const std::vector<int32_t>& wanted) {
    if (relation->selection == nullptr) return;
    size_t const before = made.stages.size();
    SideOfJoin const side = read_of(*relation, std::move(keys), wanted, spec.row_numbers);
    QueuedStages stages(queue, made.stages);
    relation = picked(queue, device, relation, side, stages, &note);
    stages.finish();
    for (size_t i = before; i < made.stages.size(); ++i) {
      made.stages[i].stage = name + "." + made.stages[i].stage;
    }
  };
  std::vector<int32_t> fact_keys;
  for (SequenceStep const& step : spec.steps) fact_keys.push_back(step.fact_key);
  pick("fact", made.fact, std::move(fact_keys), spec.fact_columns);
  for (size_t i = 0; i < made.spec.steps.size(); ++i) {
    SequenceStep& step = made.spec.steps[i];
    pick(name_of_step(i), step.dimension, {step.dimension_key}, step.columns);
  }
  return made;
}

void name_registered_rows(base::Queue& queue, const PickedSequence& picked,
                          columns::JoinResult& result) {
  auto const name = [&](const Relation& relation, columns::Storage& rows) {
    if (relation.origin == nullptr || rows == nullptr) return;
    rows = as_registered(queue, result.memory, *relation.origin, rows, result.rows);
  };
  name(*picked.fact, result.left_rows);
  for (size_t i = 0; i < result.step_rows.size(); ++i) {
    name(*picked.spec.steps[i].dimension, result.step_rows[i].rows);
  }
  auto& stages = result.statistics.stages;
  for (columns::StageStatistics const& stage : picked.stages) {
    result.statistics.milliseconds += stage.milliseconds;
  }
  stages.insert(stages.begin(), picked.stages.begin(), picked.stages.end());
}

}  // namespace gpujoin::execute
