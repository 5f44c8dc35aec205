// in_chunks.hpp: a GPU join whose probe side goes through in chunks, with its result in host
// memory.
#pragma once

#include "src/columns/result.hpp"
#include "src/execute/execute.hpp"

namespace gpujoin::execute {

// Plans with transfer=probe_chunks. The build side is transferred and transformed once and kept;
// chunk i + 1 of the probe side is on its way to the device while chunk i is joined and the rows of
// chunk i - 1 are on their way to host memory (Rui & Tu 2017, section 3.4, figure 6).
void in_chunks(base::Queue& queue, const PlannedJoin& join, columns::JoinResult& result);

}  // namespace gpujoin::execute
