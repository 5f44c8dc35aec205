#include "src/plan/other_side.hpp"

#include <algorithm>
#include <optional>
#include <utility>

#include "src/plan/candidates.hpp"
#include "src/plan/join_shape.hpp"
#include "src/plan/side_rule.hpp"

namespace gpujoin::plan {
namespace {

// Whether some build keys have many times as many rows as others, by more than chance spreads them,
// and those of the probe side repeat evenly: built on, chains of such keys are as long as they are.
// H200, in partitions, the smaller side by Zipf, the other one's keys with as many rows each:
// 4.5*10^6 by 0.64 and 1.3*10^7 rows with four, 3.79 ms built on the former and 0.93 on the latter;
// 1.9*10^6 by 0.47 and 4.8*10^6 with six 3.31 and 0.91; where the skewed side is the larger one
// 4.29 and 1.25, 3.17 and 1.21, 0.99 and 0.48. Of a side of many more rows nobody knows.
bool is_skewed_alone(const PlanRequest& request, const SampleStatistics& sample) {
  constexpr double kMoreThanChance = 1;
  constexpr double kHeavyShare = 0.01;
  const auto [fewer, more] = std::minmax(request.left.rows, request.right.rows);
  const bool may_be = sample.counted && has_as_many(more, fewer) && keys_repeat(sample);
  if (!may_be || sample.heavy_probe_share > 0) return false;
  const double spread = sample.rows_spread * sample.rows_spread;
  return spread > 1 / sample.rows_per_match + kMoreThanChance ||
         sample.heavy_build_share > kHeavyShare;
}

bool other_repeats(const PlanRequest& request, const SampleStatistics& sample) {
  const bool left = build_side_of(request) == Side::kLeft;
  const auto build_rows = static_cast<double>(left ? request.left.rows : request.right.rows);
  const auto probe_rows = static_cast<double>(left ? request.right.rows : request.left.rows);
  return keys_repeat(turned_round(sample, build_rows, probe_rows));
}

struct LargerSide {
  PlanRequest request;  // with it as the build side
  bool is_better;       // not only maybe
};

// Where building on the larger side may be better: keys of the smaller one repeat, for which a
// table of unique keys has no place and partitions take longer, as of a foreign key's rows that are
// fewer than those of its primary key. Sides in order are merged faster with the larger one in
// shared memory: H200, 4.6*10^7 x 1.5*10^7 rows 0.42 ms and 0.56.
std::optional<LargerSide> building_on_larger(const PlanRequest& request,
                                             const SampleStatistics& sample) {
  const bool pays = keys_repeat(sample) || (sample.counted && sample.lies_in_order);
  if (!pays || request.key_count != 1) return std::nullopt;
  const std::optional<PlanRequest> other = building_on_other(request, build_side_of(request));
  if (!other) return std::nullopt;
  // Where those of both repeat the smaller side is as good, unless it is skewed.
  const bool both_repeat = other_repeats(request, sample);
  if (both_repeat && !is_skewed_alone(request, sample)) return std::nullopt;
  return LargerSide{*other, both_repeat};
}

}  // namespace

bool keys_repeat(const SampleStatistics& sample) { return sample.rows_per_match > 1.01; }

void add_plans_of_other_side(const PlanRequest& request, const SampleStatistics& sample,
                             const base::DeviceFacts& facts, std::vector<JoinPlan>* plans) {
  const bool one_launch = joins_in_one_launch(build_side_of(request), request);
  const bool alone = columns::comes_alone(request.kind) && !request.joins_pairs;
  std::optional<LargerSide> larger;
  if (!alone || !one_launch) larger = building_on_larger(request, sample);
  std::optional<PlanRequest> other;
  if (larger) other = std::move(larger->request);
  const bool tables_alone = !other && !one_launch;
  // Of sides in order whose keys do not repeat: costs of all plans would be 20 us of a look.
  const bool in_place_alone = other && !alone && !keys_repeat(sample);
  if (!other && alone) other = building_on_other(request, build_side_of(request));
  if (!other) return;
  if (!alone && larger && larger->is_better) plans->clear();
  for (const JoinPlan& plan : candidates_of(*other, facts)) {
    const bool is_table = probes_table(plan.match) && plan.transform == Transform::kNone;
    // What a filter leaves is known if one side was scanned.
    const bool known = plan.filter == Filter::kNone || (sample.counted && !tables_alone);
    // Where nobody counted whether its keys are unique a table in vain costs less than parts.
    const bool unseen_parts = plan.transform == Transform::kWriteCombined && !sample.counted;
    const bool in_place = plan.match == Match::kMergeTiles || plan.match == Match::kDirectTable;
    const bool is_meant = in_place_alone ? in_place : is_table || !tables_alone;
    if (known && !unseen_parts && is_meant) plans->push_back(plan);
  }
}

}  // namespace gpujoin::plan
