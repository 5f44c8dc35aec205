// small_table.hpp: a table of few rows, made and asked in one launch, which writes the output
// columns.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "kernels/match/small_table.hpp"
#include "src/match/table_columns.hpp"

namespace gpujoin::match {

using kernels::RepeatedKeys;

struct SmallRows : ProbedRows {
  plan::Match table = plan::Match::kGlobalTable;  // which one it was
  bool is_turned = false;                         // it was the probe side's
};

// Of rows that joins_in_one_launch says it of, or of none. Keys that are too far apart for
// plan.match=direct_table are hashed by the launch itself. Where more rows come out than the probe
// side has it is launched again, with room for them; more than most_rows (0: any number) end the
// join with ROW_LIMIT. Where more build keys are seen to repeat than most_repeats_seen, before they
// are placed, and those of the probe side less, that one is built on. Nullopt: build keys repeat
// and are refused, one has more rows than are chained, or seems to, or more come out by chains than
// are worth it. The host waits for the launch's answer, not for the stream. Throws OUT_OF_MEMORY or
// MEMORY_LIMIT.
std::optional<SmallRows> small_table(base::Queue& queue, const plan::JoinPlan& plan,
                                     int32_t key_width, const TableSide& build,
                                     const TableSide& probe, RepeatedKeys repeated,
                                     const std::vector<CarriedOutput>& outputs,
                                     uint64_t most_rows = 0,
                                     uint32_t most_repeats_seen = kernels::kAnyRepeats);

}  // namespace gpujoin::match
