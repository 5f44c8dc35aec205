// tiles_cost.cpp: bytes and seconds of sides that are merged where they lie.
#include <algorithm>

#include "src/plan/stage_costs.hpp"

namespace gpujoin::plan {

namespace traffic = base::traffic;
using traffic::Traffic;

// Keys and columns of both sides are read once, and rows written. Where a side is not in order, or
// nobody looked, it is in vain: a join of partitions follows.
// H200, two payloads of 4 bytes a side but for the last: 10^8 x 10^8 rows 1.44 ms of 1.04 by their
// bytes, 2.5*10^7 x 10^8 1.23 of 0.83, 10^8 x 2.5*10^7 0.60 of 0.47, 10^6 x 10^8 1.09 of 0.75, row
// numbers alone 0.85 of 0.38, keys and payloads of 8 bytes 2.19 of 2.07.
Cost tiles_cost(const JoinPlan& plan, const JoinShape& shape, const base::DeviceFacts& facts) {
  constexpr double kOverlap = 0.95;
  constexpr double kRowsFaster = 1.8;  // beside a table whose pairs are found and then written
  constexpr int32_t kLaunches = 16;    // and waits: 10^4 to 10^6 build rows 50 us and more
  const uint64_t output =
      gathered_columns(shape, plan, true).width + gathered_columns(shape, plan, false).width;
  const Traffic moved =
      traffic::carried_columns(shape.build_rows, read_width(shape, shape.build), shape.probe_rows,
                               read_width(shape, shape.probe), shape.pairs, output);
  const double searched = per_second(static_cast<double>(shape.probe_rows),
                                     kRowsFaster * facts.shared_probe_rows_per_second);
  const uint64_t further = shape.pairs - std::min(shape.pairs, shape.matching_rows);
  const double repeated =
      per_second(static_cast<double>(further), 3 * facts.further_pairs_per_second);
  Cost cost = {moved, kOverlap * stream_seconds(moved, facts) + searched + repeated, kLaunches};
  if (!shape.sample.lies_in_order) cost += partitions_instead(plan, shape, facts).cost;
  return cost;
}

}  // namespace gpujoin::plan
