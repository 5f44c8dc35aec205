// glance.hpp: which side a join in partitions is built on, that was planned without a look.
#pragma once

#include <cstdint>

#include "src/execute/execute.hpp"
#include "src/plan/side_rule.hpp"

namespace gpujoin::execute {

// Plans anew, to build on the other side, where that one's keys are seen to repeat less and it pays
// to see (src/plan/side_rule.hpp). limit, is_explained: those of the plan's choice.
void glance(base::Queue& queue, uint64_t limit, bool is_explained, PlannedJoin* planned);

// What a device sees of keys that lie in its memory. Waits for the answer, not for the stream.
plan::SeenRepeats see_repeats_on_gpu(base::Queue& queue, const columns::Relation& build,
                                     int32_t build_key, const columns::Relation& probe,
                                     int32_t probe_key);

}  // namespace gpujoin::execute
