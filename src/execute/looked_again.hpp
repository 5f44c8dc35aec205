// looked_again.hpp: a join that was planned without a look at its keys, which turn out to repeat.
#pragma once

#include <optional>

#include "src/execute/execute.hpp"
#include "src/execute/stage_clock.hpp"
#include "src/plan/attempts.hpp"

namespace gpujoin::execute {

// The join as it is planned after a look, where that pays: next is what would follow without one.
// Waits for the stream. Throws, but not for want of memory.
std::optional<PlannedJoin> looked_again(base::Queue& queue, const PlannedJoin& join,
                                        const plan::Attempt& next, StageClock& clock);

}  // namespace gpujoin::execute
