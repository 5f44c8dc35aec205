// tiles_cost.cpp: bytes and seconds of sides that are merged where they lie.
#include <algorithm>

#include "src/plan/stage_costs.hpp"

namespace gpujoin::plan {

namespace traffic = base::traffic;
using traffic::Traffic;

// Whether every column but the keys has 4 bytes, or every one 8: the match knows a loop for either,
// and one for any widths.
static bool have_one_width(const JoinShape& shape) {
  int32_t common = shape.want_pairs ? 4 : 0;  // row numbers
  for (const SideStatistics* side : {&shape.build, &shape.probe}) {
    for (const int32_t width : side->payload_widths) {
      if ((width != 4 && width != 8) || (common != 0 && width != common)) return false;
      common = width;
    }
  }
  return true;
}

// Keys and columns of both sides are read once, and rows written. Where a side is not in order, or
// nobody looked, it is in vain: a join of partitions follows.
// H200, two payloads of 4 bytes a side but for the last: 10^8 x 10^8 rows 1.44 ms of 1.04 by their
// bytes, 2.5*10^7 x 10^8 1.23 of 0.83, 10^8 x 2.5*10^7 0.60 of 0.47, 10^6 x 10^8 1.09 of 0.75, row
// numbers alone 0.85 of 0.38, keys and payloads of 8 bytes 2.19 of 2.07.
Cost tiles_cost(const JoinPlan& plan, const JoinShape& shape, const base::DeviceFacts& facts) {
  constexpr double kOverlap = 0.95;
  constexpr double kRowsFaster = 1.8;  // beside a table whose pairs are found and then written
  constexpr int32_t kLaunches = 16;    // and waits: 10^4 to 10^6 build rows 50 us and more
  // H200: 4*10^7 x 1.6*10^7 rows with payloads of 8 and 4 bytes 0.72 ms, by one width's rates 0.55,
  // built on the other side 1.04 and 0.64; 1.35*10^8 pairs of 2.3*10^7 rows with 1-byte ones 2.28
  // and 0.86.
  constexpr double kRowOfAnyWidth = 10.5e-12;
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
  if (!have_one_width(shape)) {
    cost.seconds += kRowOfAnyWidth * static_cast<double>(std::max(shape.probe_rows, shape.pairs));
  }
  if (!shape.sample.lies_in_order) cost += partitions_instead(plan, shape, facts).cost;
  return cost;
}

}  // namespace gpujoin::plan
