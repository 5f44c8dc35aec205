// small_table.hpp: a table of few rows, made and asked in one launch, which writes the output
// columns.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "src/match/table_columns.hpp"

namespace gpujoin::match {

struct SmallRows : ProbedRows {
  plan::Match table = plan::Match::kGlobalTable;  // which one it was
};

// Of rows that joins_in_one_launch says it of, or of none. Keys that are too far apart for
// plan.match=direct_table are hashed by the launch itself. Nullopt: build keys repeat. The host
// waits for the launch's answer, not for the stream. Throws OUT_OF_MEMORY or MEMORY_LIMIT.
std::optional<SmallRows> small_table(base::Queue& queue, const plan::JoinPlan& plan,
                                     int32_t key_width, const TableSide& build,
                                     const TableSide& probe,
                                     const std::vector<CarriedOutput>& outputs);

}  // namespace gpujoin::match
