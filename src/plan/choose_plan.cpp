// choose_plan.cpp: the cheapest candidate that fits the memory.
#include "src/plan/choose_plan.hpp"

#include <algorithm>
#include <cstring>
#include <optional>

#include "src/base/status.hpp"
#include "src/plan/attempts.hpp"
#include "src/plan/candidates.hpp"
#include "src/plan/expected_rows.hpp"
#include "src/plan/join_shape.hpp"
#include "src/plan/other_side.hpp"
#include "src/plan/sample_rule.hpp"

namespace gpujoin::plan {
namespace {

// Fewer rows than this are joined in less time than a sample takes.
constexpr int64_t kFewestRowsToSample = int64_t{1} << 21;
// A sample may cost this share of the cheapest candidate. A wrong guess costs a factor of two, and
// an unseen heavy key far more.
constexpr double kSampleShare = 0.05;
// A look pays sooner where partitions are the guess, or what becomes of scattered keys: a table
// takes half as long where rows lie in order or few match, and twice as long where they do not; and
// a heavy key among 10^7 rows that nobody sees doubles the join. Tables of few rows are asked
// whatever a look says, but where keys repeat partitions follow, whose output is made twice. H200,
// random joins in doubt with a look beside those without one: four of 0.25 to 0.4 ms 1.22 times as
// long, five of up to 0.5 1.07, four of up to 3 0.60. Tables of few rows without one: 21 of less
// than 0.8 ms 0.92 times as long; 51 000 x 4.9*10^7 rows with two a key, 1.75 ms with a look, 1.57.
constexpr double kShortestInDoubt = 4.2e-4;
constexpr double kShortestSampled = 8e-4;
// Of outer joins of a side with many others how few of these match decides between plans of which
// one takes twice what another does. H200, 1.2*10^4 to 8*10^4 rows by 3.4 to 13*10^6, five joins:
// 0.34 to 0.73 ms without a look, the best plan 0.18 to 0.37.
constexpr double kShortestOuter = 2e-4;
constexpr int64_t kTimesOfOuter = 32;
// Where keys turn out to repeat a look pays sooner still: how many rows come decides between plans,
// and output that was foretold is made once. H200, random joins of repeated keys: 29 that were
// looked at took 0.91 times what the best plan that knew nothing did, 31 that were not 1.59 times.
constexpr double kShortestRepeated = 1.6e-4;
constexpr double kRepeatedShare = 0.35;
// Draws, scan, hot keys, sums, the wait for them and the choice, which take as long as so many.
constexpr int32_t kSampleLaunches = 6;
// What a scan takes more than draws that wait for nothing else may be this share. H200: looks with
// a scan take 0.07 ms, without 0.055; of fifteen random joins that were guessed to take 0.42 to 0.6
// ms the draws alone left three to plans that took 1.8 to 2.9 times as long as the best.
constexpr int32_t kScanLaunches = 2;
constexpr double kScanShare = 0.08;

double rows_as_double(int64_t rows) { return static_cast<double>(rows); }

const SideStatistics& side_of(const PlanRequest& request, Side side) {
  return side == Side::kLeft ? request.left : request.right;
}

// The scan reads a part of the build keys once; looking them up takes about as long again.
double scan_seconds(const PlanRequest& request, bool cpu, const base::DeviceFacts& facts) {
  const SideStatistics& build = side_of(request, build_side_of(request));
  const int64_t fewest = cpu ? kFewestSampleTilesOfCpu : kFewestSampleTiles;
  const double bytes = rows_as_double(scanned_rows(build.rows, fewest)) * build.key_width;
  return facts.copy_bytes_per_second > 0 ? 2 * bytes / facts.copy_bytes_per_second : 0;
}

bool is_same(const PlanRequest& a, const PlanRequest& b) {
  return a.left == b.left && a.right == b.right && a.key_count == b.key_count &&
         a.pairs == b.pairs && a.kind == b.kind && a.joins_pairs == b.joins_pairs &&
         a.in_order == b.in_order && a.residual == b.residual && a.code_width == b.code_width &&
         a.code_is_assumed == b.code_is_assumed &&
         std::memcmp(&a.options, &b.options, sizeof(a.options)) == 0;
}

std::vector<JoinPlan> plans_for(const PlanRequest& request, const SampleStatistics& sample,
                                const base::DeviceFacts& facts) {
  std::vector<JoinPlan> plans = candidates_of(request, facts);
  if (plans.front().device == Device::kCpu) return plans;
  add_plans_of_other_side(request, sample, facts, &plans);
  // A merge of sides in order has pairs of a side that comes out alone, as a table has, which takes
  // less.
  if (columns::comes_alone(request.kind) && request.options.match == 0 &&
      request.options.algorithm == GPUJOIN_ALGORITHM_AUTOMATIC) {
    std::erase_if(plans, [](const JoinPlan& plan) { return plan.match == Match::kMergeTiles; });
  }
  return plans;
}

// Where nobody saw that sides are in order, keys dense, or that few rows match, who wants them so
// is for who names it. What a filter leaves out comes out of an outer join all the same.
void drop_unfounded(const PlanRequest& request, const SampleStatistics& sample,
                    std::vector<JoinPlan>* plans) {
  constexpr double kFewMatch = 0.35;
  const bool few_match =
      request.kind == columns::JoinKind::kInner && sample.counted && sample.match_ratio < kFewMatch;
  const bool are_weighed = few_match || request.options.gather != 0;
  const auto is_unfounded = [&](const JoinPlan& plan) {
    return (plan.match == Match::kMergeTiles && !sample.lies_in_order) ||
           (plan.transform == Transform::kWriteCombined && !sample.sampled) ||
           (plan.filter != Filter::kNone && plan.gather == Gather::kCarriedRows && !are_weighed);
  };
  if (!std::all_of(plans->begin(), plans->end(), is_unfounded)) std::erase_if(*plans, is_unfounded);
}

// Sorts, and partitions of pairs, take longer than partitions of whole rows wherever both do the
// join: of a thousand cells drawn at random none is chosen. Their costs are half of what a look
// waits for, so that only those who read about plans have them weighed. The one that needs least
// memory stays, as the last resort.
void drop_outdone(const PlanRequest& request, const SampleStatistics& sample,
                  std::vector<JoinPlan>* plans) {
  const auto moves_rows = [](const JoinPlan& plan) {
    return plan.transform == Transform::kRadixUnordered && writes_columns(plan.gather);
  };
  const auto is_outdone = [](const JoinPlan& plan) {
    return plan.transform == Transform::kRadixOnesweep || plan.transform == Transform::kRadixSort ||
           plan.transform == Transform::kBucketChains;
  };
  if (std::none_of(plans->begin(), plans->end(), moves_rows)) return;
  std::optional<JoinPlan> least;
  uint64_t least_bytes = UINT64_MAX;
  for (const JoinPlan& plan : *plans) {
    if (!is_outdone(plan)) continue;
    const uint64_t bytes = memory_need(plan, shape_of(plan, request, sample));
    if (bytes < least_bytes) least = plan;
    least_bytes = std::min(least_bytes, bytes);
  }
  std::erase_if(*plans, is_outdone);
  if (least) plans->push_back(*least);
}

// Whether rounds, in which each of a batch's probe rows writes a match, would be as many as the
// rows with most matches have, and others wait. Rows side by side by their keys are crossed then.
// H200, match, ms: 1.5*10^7 rows of which a fifth meet 3.2 on average, drawn, 0.58 in rounds, 0.36
// crossed; 5.8*10^6 of which half meet 4.1, 0.41 and 0.28; 6.3*10^6 that meet 7.0, 0.75 and 0.46;
// 3.3*10^7 that meet 3.2, 1.82 and 1.51; 8.3*10^7 of which 0.6 meet 2.3, 5.5 and 5.8. Of exactly
// two or three each 0.40 and 0.67, 0.73 and 0.98. All of a join: 4*10^7 rows that meet 3.2, columns
// of 4 bytes 2.83 and 2.56, of 8 3.76 and 4.23; three rows of a key a side 0.55 and 0.58.
bool matches_vary(const JoinPlan& plan, const PlanRequest& request,
                  const SampleStatistics& sample) {
  constexpr double kFewestRows = 2.5;
  constexpr double kFewestSpread = 0.2;
  constexpr double kMostSpread = 1;    // heavy keys are left by either
  constexpr double kDeviations = 2.5;  // of the most matches of a batch
  constexpr double kRoundsOfMatches = 1.7;
  constexpr double kFewestWideRows = 3.3;
  constexpr double kFewestProbeRows = 5;  // of a key
  const double rows = sample.rows_per_match;
  const bool spreads = sample.rows_spread > kFewestSpread && sample.rows_spread < kMostSpread;
  if (plan.build_side != build_side_of(request) || rows < kFewestRows || !spreads) return false;
  const SideStatistics& build = side_of(request, plan.build_side);
  const SideStatistics& probe = plan.build_side == Side::kLeft ? request.right : request.left;
  const auto have_8_bytes = [](const SideStatistics& side) {
    return std::all_of(side.payload_widths.begin(), side.payload_widths.end(),
                       [](int32_t width) { return width == 8; });
  };
  const bool moves_none = build.payload_widths.empty() && probe.payload_widths.empty();
  const bool are_wide = !moves_none && have_8_bytes(build) && have_8_bytes(probe);
  if (are_wide && rows < kFewestWideRows) return false;
  const double probe_rows_of_key = sample.match_ratio * rows_as_double(probe.rows) * rows /
                                   std::max(rows_as_double(build.rows), 1.0);
  if (probe_rows_of_key < kFewestProbeRows) return false;
  const double rounds = rows * (1 + kDeviations * sample.rows_spread);
  const double matched = plan.filter == Filter::kNone ? sample.match_ratio : 1;
  return rounds >= kRoundsOfMatches * rows * matched;
}

struct Effort {
  SampleEffort effort = SampleEffort::kNone;
  std::string why_not;
};

// Whether partitions are the guess, or follow a table of addresses whose keys are scattered, or
// hashed keys would be looked for beyond L2. Of a side that comes out alone few matches leave less
// to do than of pairs.
bool is_in_doubt(const JoinPlan& guess, const PlanRequest& request,
                 const base::DeviceFacts& facts) {
  const auto build_rows = static_cast<uint64_t>(side_of(request, build_side_of(request)).rows);
  return partitions(guess.transform) || columns::comes_alone(request.kind) ||
         leaves_scattered_keys(guess, request, facts, 0) ||
         base::traffic::global_table_bytes(build_rows) > facts.l2_bytes;
}

bool is_lopsided_outer(const PlanRequest& request) {
  const auto [fewer, more] = std::minmax(request.left.rows, request.right.rows);
  const bool is_outer = columns::comes_unmatched(columns::rows_of(request.kind, true)) ||
                        columns::comes_unmatched(columns::rows_of(request.kind, false));
  return is_outer && more / kTimesOfOuter >= fewer;
}

Effort effort_for(const PlanRequest& request, const base::DeviceFacts& facts_of_context) {
  std::vector<JoinPlan> candidates = candidates_of(request, facts_of_context);
  drop_unfounded(request, SampleStatistics(), &candidates);
  if (candidates.size() == 1) return {SampleEffort::kNone, "no choice is left"};
  if (candidates.front().transfer != Transfer::kNone) {
    return {SampleEffort::kNone, "the copy over the host link outweighs every choice"};
  }
  // A table of unique keys may be in vain, which a sample would have told.
  constexpr double kMayBeInVain = 1.25;
  double cheapest = -1;
  double least = -1;
  const JoinPlan* guess = nullptr;
  for (const JoinPlan& plan : candidates) {
    const double seconds = cost_of(plan, request, SampleStatistics(), facts_of_context).seconds;
    const double with_risk = seconds * (is_unique_table(plan) ? kMayBeInVain : 1);
    if (cheapest < 0 || with_risk < cheapest) cheapest = with_risk;
    if (guess == nullptr || seconds < least) {
      least = seconds;
      guess = &plan;
    }
  }
  const bool cpu = candidates.front().device == Device::kCpu;
  const base::DeviceFacts facts =
      cpu ? base::cpu_facts(facts_of_context.cpu_threads) : facts_of_context;
  const double scan = scan_seconds(request, cpu, facts);
  const bool in_doubt = !cpu && is_in_doubt(*guess, request, facts_of_context);
  double shortest = in_doubt ? kShortestInDoubt : kShortestSampled;
  if (!cpu && is_lopsided_outer(request)) shortest = kShortestOuter;
  const bool is_short = cheapest < shortest;
  const bool counts = kSampleLaunches * facts.launch_seconds + scan <= kSampleShare * cheapest;
  if (is_short && !(cpu && counts)) {
    return {SampleEffort::kNone, "the join is too short to be worth it"};
  }
  // Draws are worth it by themselves then, on a device.
  const bool scans = kScanLaunches * facts.launch_seconds + scan <= kScanShare * cheapest;
  if (counts || (scans && !cpu)) return {SampleEffort::kCounted, ""};
  return {cpu ? SampleEffort::kNone : SampleEffort::kPositions,
          "counting matches would take too much of the join"};
}

}  // namespace

SampleEffort sample_effort(const PlanRequest& request, const base::DeviceFacts& facts,
                           std::string* why_not) {
  std::string unused;
  std::string& reason = why_not == nullptr ? unused : *why_not;
  if (request.key_count > 1) {
    reason = "keys of several columns are not sampled";
    return SampleEffort::kNone;
  }
  // Before the candidates, which take longer to find than there is time for.
  if (request.left.rows + request.right.rows < kFewestRowsToSample) {
    reason = "too few rows to be worth it";
    return SampleEffort::kNone;
  }
  struct Remembered {
    PlanRequest request;
    base::DeviceFacts facts;
    Effort effort;
  };
  // Costs of all candidates take 9 us, of joins that may take 200.
  thread_local std::optional<Remembered> last;
  if (!last || !is_same(last->request, request) || !(last->facts == facts)) {
    last = Remembered{request, facts, effort_for(request, facts)};
  }
  reason = last->effort.why_not;
  return last->effort.effort;
}

bool pays_to_look(const Candidate& next, const PlanRequest& request,
                  const base::DeviceFacts& facts) {
  const double look = kSampleLaunches * facts.launch_seconds + scan_seconds(request, false, facts);
  return partitions(next.plan.transform) && next.seconds >= kShortestRepeated &&
         look <= kRepeatedShare * next.seconds;
}

std::string StageCost::technique_text() const {
  std::string name = technique;
  if (radix_bits > 0) name.append("(").append(std::to_string(radix_bits)).append(")");
  return name;
}

PlanChoice choose_plan(const PlanRequest& request, const SampleStatistics& sample,
                       const base::DeviceFacts& facts, uint64_t memory_limit_bytes,
                       bool with_outdone) {
  PlanChoice choice;
  choice.sample = sample;
  choice.memory_limit_bytes = memory_limit_bytes;
  std::vector<JoinPlan> plans = plans_for(request, sample, facts);
  drop_unfounded(request, sample, &plans);
  if (!with_outdone) drop_outdone(request, sample, &plans);
  // The memory of the facts is the device's; a plan on the CPU of such a context is not held to it.
  const bool of_the_context = (plans.front().device == Device::kCuda) == facts.is_cuda;
  if (memory_limit_bytes == 0 && of_the_context) choice.memory_limit_bytes = facts.memory_bytes;
  const uint64_t limit = choice.memory_limit_bytes;

  const int64_t expected = expected_rows(request, sample);
  choice.candidates.reserve(plans.size());
  for (JoinPlan plan : plans) {
    plan.expected_rows = expected_rows_of(plan, request, sample, expected);
    plan.expected_hot_rows = std::min(sample.hot_rows, plan.expected_rows);
    plan.expected_matches =
        sample.counted ? static_cast<int32_t>(std::min(sample.rows_per_match, 1e9)) : 0;
    plan.matches_vary = matches_vary(plan, request, sample);
    choice.candidates.push_back(cost_of(plan, request, sample, facts));
  }
  std::stable_sort(choice.candidates.begin(), choice.candidates.end(),
                   [](const Candidate& a, const Candidate& b) { return a.seconds < b.seconds; });

  // The first that fits with all its attempts; else the first that fits; else what needs least.
  const auto attempts = [&](const Candidate& candidate) {
    return attempts_of(candidate, choice.candidates, request, sample, facts, limit);
  };
  const Candidate* alone = nullptr;
  for (const Candidate& candidate : choice.candidates) {
    if (limit == 0 || candidate.memory_bytes <= limit) {
      if (alone == nullptr) alone = &candidate;
      choice.attempts = attempts(candidate);
      if (limit == 0 || most_memory(choice.attempts) <= limit) return choice;
    }
    // What is outdone may be the first that fits.
    if (!with_outdone) return choose_plan(request, sample, facts, memory_limit_bytes);
  }
  const auto least = std::min_element(
      choice.candidates.begin(), choice.candidates.end(),
      [](const Candidate& a, const Candidate& b) { return a.memory_bytes < b.memory_bytes; });
  choice.attempts = attempts(alone != nullptr ? *alone : *least);
  return choice;
}

namespace {

struct Unseen {
  PlanRequest request;
  base::DeviceFacts facts;
  uint64_t memory_limit_bytes = 0;
  PlanChoice choice;                  // without its candidates
  std::vector<Candidate> candidates;  // which take longer to copy than everything else

  bool is_of(const PlanRequest& other, const base::DeviceFacts& other_facts, uint64_t limit) const {
    return is_same(request, other) && facts == other_facts && memory_limit_bytes == limit;
  }
};

}  // namespace

PlanChoice choose_plan_unseen(const PlanRequest& request, const base::DeviceFacts& facts,
                              uint64_t memory_limit_bytes, bool with_candidates) {
  // A join of either side, where a glance says which one, is asked for both.
  thread_local std::optional<Unseen> last_of_any_side;
  thread_local std::optional<Unseen> last_of_named_side;
  auto& last = request.options.build_side == 0 ? last_of_any_side : last_of_named_side;
  if (!last || !last->is_of(request, facts, memory_limit_bytes)) {
    PlanChoice choice = choose_plan(request, SampleStatistics(), facts, memory_limit_bytes);
    choice.reason = reason_of(choice);
    std::vector<Candidate> candidates = std::move(choice.candidates);
    choice.candidates.clear();
    last = Unseen{request, facts, memory_limit_bytes, std::move(choice), std::move(candidates)};
  }
  PlanChoice choice = last->choice;
  if (with_candidates) choice.candidates = last->candidates;
  return choice;
}

}  // namespace gpujoin::plan
