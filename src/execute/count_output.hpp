// count_output.hpp: how many rows and bytes a planned join would put out.
//
// Rows of pairs are counted by a join that writes nothing, or the row numbers of sides that text is
// fetched from; rows without a match by anti joins. So it takes no more memory than row numbers of
// those sides do.
#pragma once

#include <cstdint>

#include "src/base/queue.hpp"
#include "src/execute/execute.hpp"

namespace gpujoin::execute {

struct OutputCount {
  int64_t rows = 0;
  uint64_t bytes = 0;  // as output_size.hpp counts them; UINT64_MAX: more than can be counted
};

// expected: join.given. Limits are none, and rows have any order. with_bytes: false leaves text
// out. Throws what execute does, and TOO_MANY_ROWS.
OutputCount count_output(base::Queue& queue, const PlannedJoin& join, bool with_bytes);

}  // namespace gpujoin::execute
