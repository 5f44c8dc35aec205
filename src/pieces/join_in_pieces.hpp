// join_in_pieces.hpp: a join in one call whose sides are in memory, and for which there is no room
// at once.
//
// in      both relations, wherever they lie
// out     one result in host memory
// where   On a device that has no room even for pieces, where nobody asked for it and the sides lie
//         in host memory: on the CPU.
// how     Both sides are one piece each. A join of two pieces that does not fit is one of two
//         halves of the longer one (join_pieces.hpp): of the probe side alone while the build side
//         fits, whose tables are then made once, of both where it does not.
#pragma once

#include <memory>

#include "src/base/queue.hpp"
#include "src/columns/result.hpp"
#include "src/execute/execute.hpp"

namespace gpujoin::pieces {

// Plans and executes; in pieces where memory has no room for the join at once. Throws as
// execute::execute; MEMORY_LIMIT and OUT_OF_MEMORY where pieces do not fit either, or the join has
// none: see why_whole.
std::unique_ptr<columns::JoinResult> join(base::Queue& queue, const execute::GivenJoin& given);
// The same, of a join that was planned.
std::unique_ptr<columns::JoinResult> join(base::Queue& queue, const execute::PlannedJoin& planned);

// Why a join is never in pieces; null: it may be.
const char* why_whole(const execute::GivenJoin& given);

}  // namespace gpujoin::pieces
