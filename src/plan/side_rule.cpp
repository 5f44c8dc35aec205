// side_rule.cpp: which side is built on where keys repeat.
#include "src/plan/side_rule.hpp"

#include <algorithm>

#include "src/plan/attempts.hpp"
#include "src/plan/join_shape.hpp"

namespace gpujoin::plan {

// H200, ms, unique keys of the larger side, the smaller one's drawn from them, built on the smaller
// and on the larger side: 390 000 x 460 000 rows 0.073 and 0.045, 280 000 x 390 000, skewed, 0.084
// and 0.038, 150 000 x 210 000 0.041 and 0.029, 84 000 x 290 000 0.039 and 0.031. Of fewer rows it
// pays where a key has more than are chained, which ends the join later: skewed keys meet in a warp
// more often than those drawn evenly.
uint32_t most_repeats_seen(const std::vector<Attempt>& attempts, const Attempt& attempt,
                           const PlanRequest& request) {
  constexpr int64_t kFewestTurned = int64_t{1} << 16;
  constexpr int64_t kRowsSeen = int64_t{1} << 17;
  constexpr int64_t kOthersOfWarp = 31;
  constexpr int64_t kTimesEven = 2;
  constexpr int64_t kByChance = 16;
  if (request.kind != columns::JoinKind::kInner) return UINT32_MAX;
  const Attempt* const next = next_attempt(attempts, attempt, Finding::kKeysRepeat);
  const bool is_other = next != nullptr && next->plan.build_side != attempt.plan.build_side &&
                        is_unique_table(next->plan) && is_one_launch(next->plan, request);
  if (!is_other || !is_one_launch(attempt.plan, request)) return UINT32_MAX;
  const bool left = attempt.plan.build_side == Side::kLeft;
  const int64_t rows = left ? request.left.rows : request.right.rows;
  const int64_t others = left ? request.right.rows : request.left.rows;
  if (rows >= kFewestTurned && has_as_many(others, rows)) return 0;
  const int64_t even = std::min(rows, kRowsSeen) * kOthersOfWarp / std::max<int64_t>(others, 1);
  return static_cast<uint32_t>(kTimesEven * even + kByChance);
}

// H200, the smaller side's keys drawn from the larger one's, by Zipf 0.98, 1.5*10^6 x 2.7*10^6 rows
// in partitions built on the smaller side 0.70 ms, on the larger one 0.27; by 0.79, 1.4*10^6 x
// 1.9*10^6 0.44 and 0.23; evenly, 1.1*10^6 x 3.7*10^6 0.28 and 0.16, 2.4*10^6 x 2.9*10^6, in order
// at large, 0.24 and 0.25.
bool pays_to_glance(const JoinPlan& plan, const PlanRequest& request) {
  constexpr int64_t kFewestRows = int64_t{1} << 16;  // a draw of each
  const auto [fewer, more] = std::minmax(request.left.rows, request.right.rows);
  return plan.device == Device::kCuda && plan.transform == Transform::kRadixUnordered &&
         plan.filter == Filter::kNone && plan.transfer == Transfer::kNone &&
         request.kind == columns::JoinKind::kInner && request.key_count == 1 &&
         fewer >= kFewestRows && has_as_many(more, fewer) &&
         plan.build_side == build_side_of(request) &&
         building_on_other(request, plan.build_side).has_value();
}

bool repeats_less(const SeenRepeats& seen) {
  constexpr uint64_t kTimesLess = 8;
  return kTimesLess * seen.probe < seen.build;
}

}  // namespace gpujoin::plan
