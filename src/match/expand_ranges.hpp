// expand_ranges.hpp: the end that every match with known counts shares: sum, one exact allocation,
// expansion.
#pragma once

#include <cstdint>

#include "src/base/queue.hpp"
#include "src/output/growing_pairs.hpp"

namespace gpujoin::match {

// The build positions lower[row] to lower[row] + counts[row] - 1 match probe row `row`. counts has
// rows + 1 entries, of which the last is written here. Row ids: as in MatchSide. Waits for the
// stream once, to learn the total. Pairs come behind those that are there.
void expand_ranges(base::Queue& queue, const uint32_t* lower, uint32_t* counts, uint32_t rows,
                   const uint32_t* build_row_ids, const uint32_t* probe_row_ids,
                   output::GrowingPairs& pairs);

}  // namespace gpujoin::match
