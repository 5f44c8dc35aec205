#include "src/plan/order_rule.hpp"

#include <algorithm>
#include <limits>

#include "src/base/traffic.hpp"

namespace gpujoin::plan {
namespace {

namespace traffic = base::traffic;

double fetch_seconds(const SequenceOutlook& outlook, int32_t value_width, bool in_order,
                     const base::DeviceFacts& facts) {
  const auto rows = static_cast<uint64_t>(outlook.rows);
  const auto width = static_cast<uint64_t>(value_width);
  const uint64_t streamed = traffic::gather(rows, width, traffic::Locality::kClustered).bytes();
  const double in_runs = static_cast<double>(streamed) / facts.copy_bytes_per_second;
  if (in_order) return in_runs;
  const bool in_cache = static_cast<uint64_t>(outlook.fact_rows) * width <= facts.l2_bytes;
  const double rate = in_cache ? facts.l2_random_reads_per_second : facts.random_reads_per_second;
  return std::max(in_runs, static_cast<double>(rows) / rate);
}

// Seconds of the cheapest plan that keeps the order, or that need not.
double cheapest(const PlanChoice& choice, bool in_order) {
  double least = std::numeric_limits<double>::infinity();
  for (const Candidate& candidate : choice.candidates) {
    if (in_order && !keeps_left_order(candidate.plan)) continue;
    least = std::min(least, candidate.seconds);
  }
  return least;
}

// Seconds of all that comes after the join, when it leaves the rows in order and when it does not.
struct Tail {
  double in_order = 0;
  double scattered = 0;
};

Tail tail_of(const SequenceOutlook& outlook, const base::DeviceFacts& facts, uint64_t limit) {
  Tail tail;
  for (const int32_t width : outlook.fact_widths) {
    tail.in_order += fetch_seconds(outlook, width, true, facts);
    tail.scattered += fetch_seconds(outlook, width, false, facts);
  }
  for (auto join = outlook.later.rbegin(); join != outlook.later.rend(); ++join) {
    const PlanChoice choice = choose_plan(*join, SampleStatistics(), facts, limit);
    const double any = cheapest(choice, false);
    const double ordered = cheapest(choice, true);
    const int32_t width = join->left.key_width;
    tail.in_order = fetch_seconds(outlook, width, true, facts) +
                    std::min(ordered + tail.in_order, any + tail.scattered);
    tail.scattered += fetch_seconds(outlook, width, false, facts) + any;
  }
  return tail;
}

}  // namespace

bool keeps_left_order(const JoinPlan& plan) {
  return plan.transform == Transform::kNone && probes_table(plan.match) &&
         plan.build_side == Side::kRight;
}

const Candidate* best_lookup(const PlanChoice& choice) {
  // A part of the build rows says so with an error; one that is wrong costs the lookups, which the
  // join then follows.
  constexpr double kNearlyAll = 0.9;
  constexpr double kNearlyOne = 1.1;
  const SampleStatistics& sample = choice.sample;
  if (!sample.counted || sample.match_ratio < kNearlyAll || sample.rows_per_match > kNearlyOne) {
    return nullptr;
  }
  const Candidate* best = nullptr;
  for (const Candidate& candidate : choice.candidates) {
    const bool looks_up =
        keeps_left_order(candidate.plan) && candidate.plan.gather == Gather::kCarried &&
        candidate.plan.filter == Filter::kNone && candidate.plan.transfer != Transfer::kProbeChunks;
    const bool fits =
        choice.memory_limit_bytes == 0 || candidate.memory_bytes <= choice.memory_limit_bytes;
    if (!looks_up || !fits) continue;
    if (best == nullptr || candidate.seconds < best->seconds) best = &candidate;
  }
  return best;
}

const Candidate& best_in_sequence(const PlanChoice& choice, const SequenceOutlook& outlook,
                                  const base::DeviceFacts& facts, double* seconds_saved) {
  const uint64_t limit = choice.memory_limit_bytes;
  const Tail tail = tail_of(outlook, facts, limit);
  const auto seconds = [&](const Candidate& candidate) {
    return candidate.seconds + (keeps_left_order(candidate.plan) ? tail.in_order : tail.scattered);
  };
  const auto own =
      std::find_if(choice.candidates.begin(), choice.candidates.end(),
                   [&](const Candidate& candidate) { return candidate.plan == choice.plan(); });
  *seconds_saved = 0;
  if (own == choice.candidates.end()) return choice.candidates.front();
  const Candidate* best = &*own;
  for (const Candidate& candidate : choice.candidates) {
    const bool fits = limit == 0 || candidate.memory_bytes <= limit;
    if (fits && seconds(candidate) < seconds(*best)) best = &candidate;
  }
  *seconds_saved = seconds(*own) - seconds(*best);
  return *best;
}

}  // namespace gpujoin::plan
