// range_join.hpp: pairs by one or two inequalities: of neighbours in the sorted side, or of the
// levels of a wavelet tree; see src/cpu/range_join.hpp, which does the same.
#pragma once

#include <cstdint>

#include "src/base/queue.hpp"
#include "src/columns/range_problem.hpp"
#include "src/output/growing_pairs.hpp"

namespace gpujoin::match {

// Puts pairs behind those that are there: build rows are the sorted side's, probe rows the ranged
// one's. Codes are on the device. Waits for the stream, of two inequalities once a level.
void range_join(base::Queue& queue, const columns::RangeProblem& problem,
                output::GrowingPairs& pairs);

// Rows of the ranged side that have a match, without looking for pairs.
struct MatchedRows {
  base::Buffer numbers;  // [count] uint32 on the device
  uint64_t count = 0;
};
MatchedRows matched_rows(base::Queue& queue, const columns::RangeProblem& problem);

}  // namespace gpujoin::match
