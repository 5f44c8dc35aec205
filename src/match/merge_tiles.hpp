// merge_tiles.hpp: sides that lie in the order of their keys are joined tile by tile, where they
// lie.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "src/base/queue.hpp"
#include "src/match/chunked_columns.hpp"
#include "src/match/table_columns.hpp"
#include "src/plan/join_plan.hpp"

namespace gpujoin::match {

// Writes every column of the join; a source of either side may be null: the row's number is
// written. Nullopt: a side is not in order, and nothing is handed over. Waits for the match; holes
// of the columns may still be filled. most_rows: as of ChunkedColumns. Throws OUT_OF_MEMORY,
// MEMORY_LIMIT or ROW_LIMIT.
std::optional<WrittenRows> merge_tiles(base::Queue& queue, const plan::JoinPlan& plan,
                                       int32_t key_width, const TableSide& build,
                                       const TableSide& probe,
                                       const std::vector<CarriedOutput>& outputs,
                                       uint64_t most_rows = 0);

}  // namespace gpujoin::match
