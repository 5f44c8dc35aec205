// close_chunks.hpp: output that blocks wrote chunk by chunk made contiguous, and how much there is.
#pragma once

#include <cstdint>
#include <span>

#include "kernels/match/carried_columns.hpp"
#include "kernels/output/squeeze_pages.hpp"
#include "src/base/queue.hpp"

namespace gpujoin::output {

// What a join wrote, on the device.
struct Chunks {
  const kernels::CarriedCounters* counters;
  const unsigned long long* tails;  // [counters->tails] first empty place of each, in any order
  uint32_t most_tails;
  uint32_t chunk;     // places of each
  uint64_t capacity;  // of the columns
};

// The columns as kernels see them. Throws INTERNAL when there are more than a launch fills.
kernels::SqueezedColumns squeezed_columns(std::span<const kernels::SqueezedColumn> columns);

// Queued on the stream: where all rows are there, and no partition was left, holes are filled with
// what lies behind the last row. Waits for the counters, which come before that is done: what reads
// the columns belongs on the stream.
kernels::CarriedCounters close_chunks(base::Queue& queue, const Chunks& chunks,
                                      std::span<const kernels::SqueezedColumn> columns);

}  // namespace gpujoin::output
