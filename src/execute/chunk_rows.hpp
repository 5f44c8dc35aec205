// chunk_rows.hpp: how many probe rows a chunk has when the plan leaves it open.
#pragma once

#include <cstdint>

#include "src/plan/choose_plan.hpp"
#include "src/plan/join_plan.hpp"

namespace gpujoin::execute {

// Below this, launches and waits cost more than the rows; a chunk that still does not fit is an
// error.
inline constexpr int64_t kLeastChunkRows = 1024;

// Device memory that a chunk takes for each of its rows: its columns twice, for the next one is on
// its way; what transform, match and materialize hold; its results twice, for those of the chunk
// before are on their way back.
uint64_t chunk_row_bytes(const plan::JoinPlan& plan, const plan::PlanRequest& request);

// As many rows as fit `room` bytes, but so few that the first chunk's way in and the last one's way
// out, under which nothing else is done, stay a small part of the whole.
int64_t chunk_rows_for(int64_t probe_rows, uint64_t row_bytes, uint64_t room);

}  // namespace gpujoin::execute
