// run_rows.hpp: rows that a device put in the order of partitions, as gathered rows.
#pragma once

#include <memory>

#include "src/execute/partitioned_rows.hpp"
#include "src/pieces/gathered_rows.hpp"

namespace gpujoin::pieces {

// Copies of them. Throws MEMORY_LIMIT, OUT_OF_MEMORY.
std::shared_ptr<GatheredRows> gathered_rows_of(const execute::RowRun& run,
                                               const std::shared_ptr<const RowSchema>& schema,
                                               const RowMemory& memory);

}  // namespace gpujoin::pieces
