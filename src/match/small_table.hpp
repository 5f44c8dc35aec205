// small_table.hpp: a table of few rows, whose probe writes the output columns in the same launch.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "src/match/table_columns.hpp"

namespace gpujoin::match {

// As table_columns, of rows that joins_in_one_launch says it of. The host waits for the launch's
// answer, not for the stream. milliseconds, which may be null: += what the launch took on the
// device, by its own clock.
std::optional<TableRows> small_table(base::Context& context, const plan::JoinPlan& plan,
                                     int32_t key_width, const TableSide& build,
                                     const TableSide& probe,
                                     const std::vector<CarriedOutput>& outputs,
                                     double* milliseconds);

}  // namespace gpujoin::match
