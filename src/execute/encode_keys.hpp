// encode_keys.hpp: in what code the keys of a join travel on a GPU, where one is worth it.
#pragma once

#include "src/execute/execute.hpp"

namespace gpujoin::execute {

// Sets the join's encoding, and what the planner is told of it; where no code holds several keys
// the encoding is their hash. sample: of a lone key, as far as it was sampled. expected: the plan
// is for CUDA. May wait for the stream.
void choose_encoding(base::Queue& queue, const plan::SampleStatistics& sample, PlannedJoin* join);

}  // namespace gpujoin::execute
