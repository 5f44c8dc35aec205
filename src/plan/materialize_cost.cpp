// materialize_cost.cpp: bytes and seconds of the output columns.
#include "src/plan/stage_costs.hpp"

#include <algorithm>
#include <cmath>

#include "src/base/status.hpp"

namespace gpujoin::plan {
namespace {

namespace traffic = base::traffic;
using traffic::Locality;
using traffic::Traffic;

// Columns gathered by one kernel keep more random reads in flight than one column does. H200, 2^27
// rows of 4 bytes: 3.0 ms each of two columns, 3.4 ms one alone; of 8 bytes 3.4 ms either way.
constexpr double kGatherOverlap = 1.2;
// Of a read in L2, one of a row of a key that has many: their pairs lie side by side. H200, three
// columns of 16 bytes of 2.2*10^5 rows for 1.9*10^8 pairs, 19 rows of a key, 3.04 ms, where writing
// takes 2.29; two of 4*10^6 rows for 2.4*10^8, four of a key, 6.5.
constexpr double kAgain = 0.25;
constexpr double kManyOfKey = 8;
// Of rows fetched behind a filter. H200, 2^27 x 2^27 rows with two payloads a side, of which a
// sixteenth matches: 2.62 ms in all, of which 2.11 were foretold, and 2.39 where payloads travel.
constexpr double kBehindFilter = 1.4;

}  // namespace

Cost gather_cost(const JoinPlan& plan, const JoinShape& shape, bool is_build,
                 const base::DeviceFacts& facts) {
  const SideStatistics& side = is_build ? shape.build : shape.probe;
  const uint64_t side_rows = static_cast<uint64_t>(side.rows);
  // The global table is probed in the probe side's order, so that side is read in runs.
  const bool moved = moves_payloads(side, plan, shape.want_pairs);
  const bool clustered = moved || (plan.match == Match::kGlobalTable && !is_build);
  // A key output column is fetched by transformed position, when there is one; row numbers then are
  // fetched by position too.
  const bool any_moved = moves_payloads(shape.build, plan, shape.want_pairs) ||
                         moves_payloads(shape.probe, plan, shape.want_pairs);
  const bool fetches_key = shape.pairs <= 2 * shape.probe_rows &&
                           (shape.build.key_is_output || shape.probe.key_is_output);
  // A match that writes columns wrote the key, and what went along with it.
  const bool written = writes_columns(plan.gather);
  if (written && moved) return {};
  const bool by_position = plan.gather == Gather::kUntransformed &&
                           plan.transform != Transform::kNone && (any_moved || fetches_key);
  Cost cost;
  const bool needs_rows = (shape.want_pairs && side.row_numbers) || !side.payload_widths.empty();
  if (by_position && !moved && needs_rows) {
    cost += streamed(traffic::gather(shape.pairs, traffic::kRowIdBytes, Locality::kClustered), 1,
                     facts);
  }
  const std::vector<int32_t> widths = gathered_widths(shape, plan, is_build);
  const bool several = side.payload_widths.size() > 1;
  for (size_t i = 0; i < widths.size(); ++i) {
    const uint64_t bytes = static_cast<uint64_t>(widths[i]);
    const bool is_key = i >= side.payload_widths.size();
    if (is_key && written) break;
    const bool in_runs = clustered || (by_position && is_key);
    const Traffic bytes_moved =
        traffic::gather(shape.pairs, bytes, in_runs ? Locality::kClustered : Locality::kRandom);
    double seconds = stream_seconds(bytes_moved, facts);
    const double overlap = several && bytes <= 4 ? kGatherOverlap : 1;
    if (!in_runs) {
      // Partitions and runs bring the pairs of one row together: after the first they hit L2. In
      // the order of a probe side they do not.
      const uint64_t first =
          plan.match == Match::kGlobalTable ? shape.pairs : std::min(shape.pairs, side_rows);
      const double again = static_cast<double>(shape.pairs - first);
      const bool side_by_side = shape.sample.rows_per_match >= kManyOfKey;
      seconds = std::max(
          seconds,
          read_seconds(static_cast<double>(first), side_rows * bytes, facts) / overlap +
              (side_by_side ? kAgain : 1) * per_second(again, facts.l2_random_reads_per_second));
    }
    const bool behind_filter = written && plan.filter != Filter::kNone;
    cost += Cost{bytes_moved, behind_filter ? kBehindFilter * seconds : seconds, 1};
  }
  return cost;
}

}  // namespace gpujoin::plan
