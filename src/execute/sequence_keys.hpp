// sequence_keys.hpp: the keys of a sequence's steps as one column each that compares by its bits.
#pragma once

#include <memory>
#include <string>

#include "src/base/queue.hpp"
#include "src/execute/sequence.hpp"
#include "src/plan/join_plan.hpp"

namespace gpujoin::execute {

// "steps[2]", as arguments and stages name it.
std::string name_of_step(size_t step);

// The specification on relations that have such keys, behind their own columns where they were
// made. Throws UNSUPPORTED for a column that a CPU plan cannot read.
SequenceSpec with_comparable_keys(base::Queue& queue, plan::Device device,
                                  std::shared_ptr<const columns::Relation>* fact,
                                  const SequenceSpec& spec);

}  // namespace gpujoin::execute
