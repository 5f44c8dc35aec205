// gather_rows.hpp: a column by row number, in parallel: between the joins of a sequence and at its
// end.
#pragma once

#include <cstdint>

#include "src/base/queue.hpp"
#include "src/columns/result.hpp"
#include "src/cpu/workers.hpp"

namespace gpujoin::cpu {

// target[i] = source[rows[i]], values and validity, with the column's name and type. The source
// lies in host memory. Throws MEMORY_LIMIT, OUT_OF_MEMORY or CANCELLED.
columns::ResultColumn gather_rows(base::Queue& queue, Workers& workers, const char* stage,
                                  const columns::ColumnView& source, const uint32_t* rows,
                                  uint64_t count);

}  // namespace gpujoin::cpu
