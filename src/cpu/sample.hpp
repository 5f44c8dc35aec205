// sample.hpp: the planner's key sample, read in parallel. The rule is in src/plan/key_sample.hpp.
#pragma once

#include "src/base/queue.hpp"
#include "src/columns/column.hpp"
#include "src/plan/key_sample.hpp"

namespace gpujoin::cpu {

plan::SampleFindings sample_keys(base::Queue& queue, const columns::Relation& build,
                                 int32_t build_key, const columns::Relation& probe,
                                 int32_t probe_key);

}  // namespace gpujoin::cpu
