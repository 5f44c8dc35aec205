// sequence_rows.hpp: a sequence of relations of which some rows are read: picked before its first
// join, named as they are registered behind its last.
#pragma once

#include <memory>
#include <vector>

#include "src/base/queue.hpp"
#include "src/execute/sequence.hpp"
#include "src/plan/join_plan.hpp"

namespace gpujoin::execute {

plan::Device device_of(const gpujoin_plan_options& options, const base::Context& context);

struct PickedSequence {
  std::shared_ptr<const columns::Relation> fact;
  SequenceSpec spec;
  std::vector<columns::StageStatistics> stages;
};
PickedSequence picked_sequence(base::Queue& queue, plan::Device device,
                               const std::shared_ptr<const columns::Relation>& fact,
                               const SequenceSpec& spec);

// The result's row numbers, and its statistics with what was done before.
void name_registered_rows(base::Queue& queue, const PickedSequence& picked,
                          columns::JoinResult& result);

}  // namespace gpujoin::execute
