// unknown_comparisons.hpp: rows of which SQL cannot say that their keys are unlike those of every
// row of the other side, because of a NULL here or there.
#pragma once

#include <vector>

#include "src/base/queue.hpp"
#include "src/columns/result.hpp"
#include "src/columns/row_marks.hpp"
#include "src/execute/execute.hpp"

namespace gpujoin::execute {

// Marks rows of one side for which a comparison is unknown: no pair of key columns differs, and one
// has a NULL. Rows that are marked already stay so. memory: of the marks. stages: of joins that it
// takes are appended. Throws.
void mark_unknown(base::Queue& queue, const PlannedJoin& join, bool left, base::Memory memory,
                  columns::RowMarks& marks, std::vector<columns::StageStatistics>& stages);

}  // namespace gpujoin::execute
