// budget.hpp: how much of a context's memory the rows of one side may take, before and while they
// are joined.
#pragma once

#include <cstdint>

#include "src/base/context.hpp"
#include "src/pieces/row_schema.hpp"

namespace gpujoin::pieces {

// 0 is no limit.
struct Budget {
  uint64_t store_bytes = 0;     // of rows that one store keeps in memory
  uint64_t whole_bytes = 0;     // of a build side that rows of probes are joined with as they come
  uint64_t table_bytes = 0;     // of one and the table that is kept of it, where it is more
  uint64_t arriving_bytes = 0;  // of a device, of batches that come before it is known to be whole
  uint64_t part_bytes = 0;  // of rows of the build side that are joined at once, where it is more
  uint64_t gathered_part_bytes = 0;  // the same, where they are gathered in host memory first
  uint64_t rest_bytes = 0;    // of rows of both sides, of all joins of partitions that run at once
  uint64_t result_bytes = 0;  // of these joins, that callers have not let go of
  uint64_t block_bytes = 0;   // of a block of rows: never 0
  uint64_t resident_bytes = 0;  // of a device, of blocks of a side that stay there
  // Of a device, of partitions of a build side that stay there with their table, while rows of
  // probes come.
  uint64_t staying_bytes = 0;
  uint64_t moving_bytes = 0;  // of a device, of blocks on their way to their partitions; 0: none
  // Of a batch that a probe gathers, whose rows come in pieces: what is more goes to files.
  uint64_t waiting_bytes = 0;
  uint32_t partitions = 0;  // of a side that does not fit

  // Whether rows of probes are joined with such a build side as they come.
  bool joins_whole(uint64_t bytes, uint64_t rows, bool keeps_table) const;
  // With such a table, which is kept.
  bool joins_whole_with(uint64_t bytes, uint64_t table) const;
};

// on_gpu: the joins run there; rows are gathered in host memory.
Budget budget_of(const base::Context& context, bool on_gpu);

// Of joins beside so many bytes of the executor's memory that are taken.
Budget beside(Budget budget, uint64_t bytes);

// Whether a join of sides so large, piece by piece with every piece of the other, is not for the
// context's device where the CPU can do it.
bool is_device_too_small(const base::Context& context, uint64_t bytes_of_sides);

// Throws MEMORY_LIMIT for a limit within which rows of a side cannot be gathered and joined,
// whatever is written to files.
void check_least_limits(const base::Context& context, bool on_gpu, const RowSchema& schema);

}  // namespace gpujoin::pieces
