#include "src/execute/scan_keys.hpp"

#include "src/base/traffic.hpp"
#include "src/plan/any_row.hpp"
#include "src/transform/key_range.hpp"
#include "src/transform/key_traits.hpp"

namespace gpujoin::execute {

using plan::Finding;

Finding scan_keys(base::Queue& queue, const PlannedJoin& join, const plan::Attempt& attempt,
                  GpuSide& build, GpuSide& probe, plan::JoinPlan* plan, SeenKeys* seen) {
  plan::SampleStatistics const& sample = join.choice.sample;
  if (!plan::scans_keys(*plan, sample)) return Finding::kJoined;
  build.prepare(*plan);
  match::TableSide const rows = build.table_side();
  if (rows.rows == 0) return Finding::kJoined;
  match::TableSide other;
  if (plan::scans_order(*plan, sample)) {
    probe.prepare(*plan, true);
    if (!probe.drops_rows()) other = probe.table_side();
  }
  transform::KeyTraits const traits =
      transform::key_traits(queue, rows.keys, build.key_width(), rows.rows, other.keys, other.rows);
  *seen = {rows.keys, rows.rows, traits.range};
  // In the order of the sides some of the places are asked at a time.
  if (traits.in_order) plan->neighbours = plan::PlacesOfNeighbours::kNear;
  if (traits.repeat && !plan::takes_any_row(*plan, join.request)) return Finding::kKeysRepeat;
  uint64_t const places = transform::places_of(traits.range, build.key_width()).places;
  bool const is_direct = places != 0 && places <= base::traffic::most_direct_places(rows.rows);
  if (is_direct || !traits.in_order) return Finding::kJoined;
  auto const follows = [&](Finding found) {
    return plan::next_attempt(join.choice.attempts, attempt, found) != nullptr;
  };
  bool const both_unique = !traits.probe_repeat && follows(Finding::kUniqueInOrder);
  Finding const found = both_unique ? Finding::kUniqueInOrder : Finding::kKeysInOrder;
  return follows(found) ? found : Finding::kJoined;
}

}  // namespace gpujoin::execute
