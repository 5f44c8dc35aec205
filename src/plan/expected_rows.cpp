// expected_rows.cpp: room for the output, by what a sample says of the keys.
#include "src/plan/expected_rows.hpp"

#include <algorithm>
#include <cmath>

#include "src/plan/any_row.hpp"
#include "src/plan/sample_rule.hpp"

namespace gpujoin::plan {

namespace {

// No less room than so many draws would need of a scan of all rows.
constexpr double kMarginDraws = 1024;

double deviation_of(double ratio) { return std::sqrt(ratio * (1 - ratio) / kMarginDraws); }

// Rows of the probe side without a match, and a margin; all of them where nobody counted how many
// have one: of the side that is scanned no more is known than how many may have.
int64_t unmatched_rows(const JoinPlan& plan, const PlanRequest& request,
                       const SampleStatistics& sample) {
  const int64_t rows = (plan.build_side == Side::kLeft ? request.right : request.left).rows;
  if (!sample.counted || plan.build_side != build_side_of(request)) return rows;
  const double ratio = sample.match_ratio;
  const double others = 1 - std::max(0.0, ratio - 3 * deviation_of(ratio) - 3 / kMarginDraws);
  return std::min(rows, static_cast<int64_t>(std::ceil(others * static_cast<double>(rows))));
}

}  // namespace

// The first output capacity: the estimate and three of its standard deviations, since a second
// launch costs more than a little room. Rows of hot keys were counted, and err by nothing.
int64_t expected_rows(const PlanRequest& request, const SampleStatistics& sample) {
  if (request.left.rows == 0 || request.right.rows == 0) return 0;
  const bool build_left = build_side_of(request) == Side::kLeft;
  const int64_t probe_rows = (build_left ? request.right : request.left).rows;
  const auto rows = static_cast<double>(probe_rows);
  constexpr double kMultiplicityMargin = 1.06;
  double ratio = sample.match_ratio;
  if (sample.counted && probe_rows > kSamplePositions) {
    ratio = std::min(1.0, std::max(ratio + 3 * deviation_of(ratio), 3 / kMarginDraws));
  }
  // No match drawn says fewer than 3, each of which is seen in a part of the build rows only.
  const double fewest =
      sample.scanned_share < 1 ? 3 / (sample.scanned_share * sample_positions(probe_rows)) : 0;
  const auto hot = static_cast<double>(sample.hot_rows);
  const double matching = rows * sample.match_ratio;
  const double estimate = std::max(0.0, matching * sample.rows_per_match - hot);
  // Few probe rows have hot keys: that the others match some rows each is the estimate of them all.
  const double per_match =
      hot > 0 && matching > 0 ? std::max(1.0, estimate / matching) : sample.rows_per_match;
  const bool repeats = per_match > 1.01;
  double room = rows * ratio * per_match * (repeats ? kMultiplicityMargin : 1);
  room = std::max({room, estimate * (1 + 3 * sample.rows_error), rows * fewest});
  if (!repeats) room = std::min(room, rows * per_match);
  return static_cast<int64_t>(std::ceil(room + hot));
}

// Of a plan that builds on the other side, whose keys are unique: of a probe side with hot keys the
// scan sees no more than the fewest pairs that there may be (statistics.cpp), a sixth too few with
// Zipf 1.3 on 6*10^7 rows. None has more than one a probe row.
int64_t expected_rows_of(const JoinPlan& plan, const PlanRequest& request,
                         const SampleStatistics& sample, int64_t expected) {
  const bool as_sampled = plan.build_side == build_side_of(request);
  if (finds_unmatched(plan, request)) return unmatched_rows(plan, request, sample);
  if (as_sampled || sample.hot_rows == 0 || sample.scanned_share == 1) return expected;
  constexpr double kUnseen = 1.25;
  const SideStatistics& probe = plan.build_side == Side::kLeft ? request.right : request.left;
  const double keyed = static_cast<double>(probe.rows) * sample.build_keyed;
  const double room = std::min(kUnseen * static_cast<double>(expected), keyed);
  return std::max(expected, static_cast<int64_t>(room));
}

}  // namespace gpujoin::plan
