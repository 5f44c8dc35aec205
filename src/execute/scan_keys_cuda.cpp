#include "src/execute/scan_keys.hpp"

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
  // In the order of the sides some of the places are asked at a time, and rows that lie at their
  // places need not be placed.
  if (traits.in_order) {
    plan->neighbours = plan::PlacesOfNeighbours::kNear;
    plan->rows_stay = true;
  }
  bool const repeat = traits.repeat && !plan::takes_any_row(*plan, join.request);
  transform::KeyPlaces const places =
      transform::places_of(traits.range, build.key_width(), rows.rows);
  bool const lie_at_places = places.in_order && !repeat;
  if (traits.in_order && !lie_at_places) {
    auto const follows = [&](Finding found) {
      return plan::next_attempt(join.choice.attempts, attempt, found) != nullptr;
    };
    bool const are_unique = !traits.repeat && !traits.probe_repeat;
    if (are_unique && follows(Finding::kUniqueInOrder)) return Finding::kUniqueInOrder;
    if (follows(Finding::kKeysInOrder)) return Finding::kKeysInOrder;
  }
  return repeat ? Finding::kKeysRepeat : Finding::kJoined;
}

}  // namespace gpujoin::execute
