#include "src/plan/attempts.hpp"

#include <algorithm>

#include "kernels/limits.hpp"
#include "src/base/status.hpp"
#include "src/plan/any_row.hpp"
#include "src/plan/side_rule.hpp"
#include "src/plan/stage_costs.hpp"

namespace gpujoin::plan {
namespace {

// Of so few rows a side, pairs and gathers take no longer than partitions do, whose output is made
// twice where nobody knew how many rows come; of somewhat more where the other side has not many.
// H200, 28 413 x 116 278 rows with six a key 0.14 and 0.24 ms, 107 860 x 883 135 with seven 0.30
// and 0.46. Of more a key may have so many rows that they take several times what a match takes
// that writes columns.
constexpr int64_t kFewRows = int64_t{1} << 14;
constexpr int64_t kFewRowsOfBoth = int64_t{1} << 17;
constexpr int64_t kNotManyRows = int64_t{1} << 21;

// Of fewer rows a side, hashed tables that rows in order ask in L2 take less than a merge. H200,
// sparse keys in order: 1.3*10^6 x 2.5*10^7 rows 0.24 ms merged and 0.20 hashed, 7*10^5 x 3*10^6
// 0.28 and 0.23, 1.7*10^6 x 4.9*10^6 0.25 and 0.30, 2.7*10^6 x 2.8*10^6 0.12 and 0.24.
constexpr int64_t kFewestMerged = int64_t{3} << 19;

// Whether sides in order may be merged. Whoever named a table gets what comes of it.
bool may_merge(const PlanRequest& request) {
  return !names_table(request) && !request.in_order && !columns::comes_alone(request.kind) &&
         std::min(request.left.rows, request.right.rows) >= kFewestMerged;
}

Candidate merge_cost(const JoinPlan& table, const PlanRequest& request, SampleStatistics sample,
                     const base::DeviceFacts& facts) {
  JoinPlan plan = table;
  plan.match = Match::kMergeTiles;
  sample.lies_in_order = true;
  return cost_of(plan, request, sample, facts);
}

// Whether no keys end the attempt: nothing follows the last one.
bool joins_any_keys(const JoinPlan& plan, const PlanRequest& request) {
  const bool may_collide = plan.keys == Keys::kHashed && plan.gather == Gather::kCarried;
  const bool may_lie_outside = plan.keys == Keys::kPacked && request.code_is_assumed;
  const bool wants_order = plan.match == Match::kMergeTiles;
  return plan.filter != Filter::kKeyBits && !is_unique_table(plan) && !may_collide &&
         !may_lie_outside && !wants_order;
}

class AttemptList {
 public:
  AttemptList(const Candidate& first, const PlanRequest& request, const SampleStatistics& sample,
              const base::DeviceFacts& facts, uint64_t limit)
      : first_(first), request_(request), sample_(sample), facts_(facts), limit_(limit) {
    attempts_.push_back({first, Finding::kJoined});
  }

  std::vector<Attempt> take() { return std::move(attempts_); }

  bool merges_in_order() const {
    return std::any_of(attempts_.begin(), attempts_.end(), [](const Attempt& attempt) {
      return attempt.after == Finding::kKeysInOrder;
    });
  }

  // The keys of both sides are too far apart for a bit each: nothing is left out.
  void after_scattered_bits() {
    JoinPlan plan = first_.plan;
    plan.filter = Filter::kNone;
    if (partitions(plan.transform) && plan.radix_bits == 0) plan.radix_bits = bits_for(plan);
    add(Finding::kKeysScattered, plan);
  }

  // The build keys are too far apart for places, or too many for slots; nothing where neither can
  // be.
  void after_scattered_places() {
    JoinPlan hashed = first_.plan;
    hashed.filter = Filter::kNone;
    hashed.match = Match::kGlobalTable;
    if (first_.plan.transform == Transform::kWriteCombined) {
      return add(Finding::kKeysScattered, partitioned());
    }
    if (first_.plan.match != Match::kDirectTable && may_hash()) return;
    const bool in_parts =
        !may_hash() ||
        (!request_.in_order && leaves_scattered_keys(first_.plan, request_, facts_, limit_));
    add(Finding::kKeysScattered, in_parts ? partitioned() : hashed);
  }

  // The same of sides that both lie in order, where merging them takes less than what follows then.
  void after_scattered_in_order() {
    if (!scans_order(first_.plan, sample_) || !may_merge(request_)) return;
    if (attempts_.back().after != Finding::kKeysScattered) return;
    const Candidate merge = merge_cost(first_.plan, request_, sample_, facts_);
    if (!fits(merge) || merge.seconds >= attempts_.back().seconds) return;
    add(Finding::kKeysInOrder, merge);
    // Of unique keys either side may be searched: fewer rows look for theirs in the larger one.
    const auto larger = building_on_other(request_, first_.plan.build_side);
    if (!larger || probe().rows <= build().rows) return;
    JoinPlan plan = first_.plan;
    plan.build_side = build_side_of(*larger);
    const Candidate in_larger = merge_cost(plan, *larger, sample_, facts_);
    if (fits(in_larger)) add(Finding::kUniqueInOrder, in_larger);
  }

  // A table of the other side, whose keys may be unique where those of the build side are not: more
  // often than not those of one side are. What follows where that is in vain, too, has cost as much
  // more.
  void after_repeated_keys() {
    constexpr double kLikelyUnique = 0.9;
    constexpr double kRowsPerRepeatedKey = 1.5;
    constexpr int64_t kMostTimes = 8;  // as many rows
    if (!is_uncounted() || probe().rows / kMostTimes > build().rows) return;
    const auto request = building_on_other(request_, first_.plan.build_side);
    if (!request) return;
    JoinPlan plan = first_.plan;
    plan.build_side = build_side_of(*request);
    SampleStatistics sample =
        turned_round(sample_, static_cast<double>(build().rows), static_cast<double>(probe().rows));
    sample.match_ratio = sample.rows_per_match = 1;
    SampleStatistics repeated = sample_;
    repeated.rows_per_match = std::max(repeated.rows_per_match, kRowsPerRepeatedKey);
    const Candidate other = cost_of(plan, *request, sample, facts_);
    const Candidate next = cost_of(of_any_keys(), request_, repeated, facts_);
    if (!fits(other) || other.seconds > kLikelyUnique * next.seconds) return;
    AttemptList of_other(other, *request, sample, facts_, limit_);
    const bool one_launch = is_one_launch(other.plan, *request);
    if (!one_launch) of_other.after_scattered_places();
    // Partitions are built on the side with fewer rows, but where it has nearly as many. H200,
    // where keys of both repeat: 1.4*10^6 x 8*10^5 rows built on the larger one 0.36 ms, on the
    // other 0.69; of 6*10^6 rows, skewed, and 8*10^5 1.1 and 0.59.
    Attempt& last = of_other.attempts_.back();
    const bool has_more = !has_as_many(probe().rows, build().rows) && fits(next);
    if (has_more && partitions(last.plan.transform)) last = {next, last.after};
    of_other.after_scattered_in_order();
    of_other.attempts_.front().after = Finding::kKeysRepeat;
    attempts_.insert(attempts_.end(), of_other.attempts_.begin(), of_other.attempts_.end());
  }

  // Of a table whose build keys repeat, or of sides that do not lie in order.
  void after_unsuited_keys(Finding found) {
    if (found == Finding::kKeysRepeat && adds_partitions_of_other_side()) return;
    const Candidate preferred = cost(of_any_keys());
    if (fits(preferred)) return add(found, preferred);
    const Candidate other = cost(are_few() ? partitioned() : as_pairs());
    const bool less = other.memory_bytes < preferred.memory_bytes;
    add(found, less ? other : preferred);
  }

  // Partitions of the other side, where it has not many more rows: more often than not its keys do
  // not repeat, and what that is worth pays_to_glance() says.
  bool adds_partitions_of_other_side() {
    if (!is_uncounted() || are_few() || !has_as_many(probe().rows, build().rows)) return false;
    const auto request = building_on_other(request_, first_.plan.build_side);
    if (!request) return false;
    Candidate table = first_;
    table.plan.build_side = build_side_of(*request);
    SampleStatistics const sample =
        turned_round(sample_, static_cast<double>(build().rows), static_cast<double>(probe().rows));
    const AttemptList of_other(table, *request, sample, facts_, limit_);
    const Candidate other = of_other.cost(of_other.partitioned());
    if (!fits(other)) return false;
    add(Finding::kKeysRepeat, other);
    return true;
  }

  // The ranges of the rows that were drawn do not hold for all.
  void after_keys_outside() {
    JoinPlan plan = first_.plan;
    plan.keys = Keys::kPlain;
    if (request_.key_count > 1) {
      plan = as_multiset();
    } else if (partitions(plan.transform) && request_.options.radix_bits == 0 &&
               plan.filter == Filter::kNone) {
      plan.radix_bits = bits_for(plan);
    }
    add(Finding::kKeysOutside, plan);
  }

  void after_collisions() { add(Finding::kKeysCollide, as_multiset()); }

  // What needs least of all candidates that do every join, if it is less than what has been tried.
  void last_resort(const std::vector<Candidate>& candidates) {
    const Candidate* least = nullptr;
    for (const Candidate& candidate : candidates) {
      const bool is_less = least == nullptr || candidate.memory_bytes < least->memory_bytes;
      if (is_less && joins_any_keys(candidate.plan, request_)) least = &candidate;
    }
    if (least == nullptr) return;
    for (const Attempt& attempt : attempts_) {
      if (attempt.memory_bytes <= least->memory_bytes) return;
    }
    add(Finding::kNoRoom, *least);
  }

 private:
  bool fits(const Candidate& candidate) const {
    return limit_ == 0 || candidate.memory_bytes <= limit_;
  }
  // A table in place of which nobody knows more than it found.
  bool is_uncounted() const {
    return first_.plan.transfer == Transfer::kNone && first_.plan.filter == Filter::kNone &&
           !sample_.counted;
  }
  bool may_hash() const { return build().rows <= int64_t{kernels::kMostHashedRows}; }

  const SideStatistics& build() const {
    return first_.plan.build_side == Side::kLeft ? request_.left : request_.right;
  }
  const SideStatistics& probe() const {
    return first_.plan.build_side == Side::kLeft ? request_.right : request_.left;
  }

  int32_t bits_for(const JoinPlan& plan) const {
    int32_t bits = bits_of_rows(plan, request_.kind, build().rows, probe().rows,
                                joined_key_width(plan, request_));
    while (!fits_counters(bits, facts_)) --bits;
    return bits;
  }

  // The carried join of partitions. How many a filter's rows want is known when it has run.
  JoinPlan partitioned() const {
    const bool filtered = first_.plan.filter != Filter::kNone;
    JoinPlan plan = in_partitions(first_.plan, request_.kind, build().rows, probe().rows,
                                  joined_key_width(first_.plan, request_), facts_);
    if (filtered && request_.options.radix_bits == 0) plan.radix_bits = 0;
    return plan;
  }

  // Pairs by a table that groups equal keys, and gathers.
  JoinPlan as_pairs() const {
    JoinPlan plan = first_.plan;
    plan.filter = Filter::kNone;
    plan.transform = Transform::kNone;
    plan.match = Match::kGlobalTable;
    plan.output = Output::kGrown;
    plan.gather = Gather::kUntransformed;
    return plan;
  }

  // Rows that come out alone need no pairs, of which there may be any number: partitions make none.
  bool are_few() const {
    const auto [fewer, more] = std::minmax(request_.left.rows, request_.right.rows);
    const int64_t few = more < kNotManyRows ? kFewRowsOfBoth : kFewRows;
    return fewer < few && !columns::comes_alone(request_.kind);
  }
  JoinPlan of_any_keys() const { return are_few() ? as_pairs() : partitioned(); }

  // Several key columns as they are.
  JoinPlan as_multiset() const {
    JoinPlan plan = as_pairs();
    plan.keys = Keys::kPlain;
    plan.transform = Transform::kNone;
    plan.match = Match::kRowMultiset;
    plan.skew = Skew::kNone;
    plan.radix_bits = plan.passes = plan.page_pairs = 0;
    return plan;
  }

  Candidate cost(const JoinPlan& plan) const { return cost_of(plan, request_, sample_, facts_); }
  void add(Finding after, const Candidate& candidate) { attempts_.push_back({candidate, after}); }
  void add(Finding after, const JoinPlan& plan) { add(after, cost(plan)); }

  const Candidate& first_;
  const PlanRequest& request_;
  const SampleStatistics& sample_;
  const base::DeviceFacts& facts_;
  uint64_t limit_;
  std::vector<Attempt> attempts_;
};

}  // namespace

bool is_one_launch(const JoinPlan& plan, const PlanRequest& request) {
  return joins_in_one_launch(plan.build_side, request) && !request.in_order &&
         plan.transform == Transform::kNone && plan.transfer != Transfer::kProbeChunks;
}

std::vector<Attempt> attempts_of(const Candidate& first, const std::vector<Candidate>& candidates,
                                 const PlanRequest& request, const SampleStatistics& sample,
                                 const base::DeviceFacts& facts, uint64_t memory_limit_bytes) {
  const JoinPlan& plan = first.plan;
  AttemptList list(first, request, sample, facts, memory_limit_bytes);
  if (plan.device == Device::kCpu) return list.take();
  if (plan.filter == Filter::kKeyBits) list.after_scattered_bits();
  if (is_unique_table(plan)) {
    const bool one_launch = is_one_launch(plan, request);
    if (!one_launch) {
      list.after_scattered_places();
      list.after_scattered_in_order();
    }
    // What a filter leaves may be few, for which the rule is that of one launch.
    if (!takes_any_row(plan, request) || plan.filter != Filter::kNone) {
      list.after_repeated_keys();
      list.after_unsuited_keys(Finding::kKeysRepeat);
    }
  }
  if (plan.match == Match::kMergeTiles || list.merges_in_order()) {
    list.after_unsuited_keys(Finding::kKeysUnordered);
  }
  if (plan.keys == Keys::kPacked && request.code_is_assumed) list.after_keys_outside();
  if (plan.keys == Keys::kHashed && plan.gather == Gather::kCarried) list.after_collisions();
  list.last_resort(candidates);
  return list.take();
}

std::optional<Candidate> merge_of_order(const Candidate& planned, bool are_unique,
                                        const PlanRequest& request,
                                        const base::DeviceFacts& facts) {
  if (!may_merge(request)) return std::nullopt;
  JoinPlan plan = planned.plan;
  plan.transform = Transform::kNone;
  plan.skew = Skew::kNone;
  plan.radix_bits = plan.passes = 0;
  plan.output = Output::kBlockChunks;
  plan.gather = Gather::kCarried;
  PlanRequest of_side = request;
  if (are_unique) {
    if (auto other = building_on_other(request, plan.build_side)) of_side = *other;
    plan.build_side = build_side_of(of_side);
  }
  const Candidate merge = merge_cost(plan, of_side, SampleStatistics(), facts);
  if (merge.seconds >= planned.seconds) return std::nullopt;
  return merge;
}

bool scans_keys(const JoinPlan& plan, const SampleStatistics& sample) {
  return plan.match == Match::kDirectTable && plan.transform == Transform::kNone &&
         plan.filter == Filter::kNone && !sample.sampled;
}

bool scans_order(const JoinPlan& plan, const SampleStatistics& sample) {
  return scans_keys(plan, sample) && plan.keys == Keys::kPlain && plan.transfer == Transfer::kNone;
}

uint64_t most_memory(const std::vector<Attempt>& attempts) {
  uint64_t most = 0;
  for (const Attempt& attempt : attempts) {
    if (attempt.after != Finding::kNoRoom) most = std::max(most, attempt.memory_bytes);
  }
  return most;
}

const Attempt* next_attempt(const std::vector<Attempt>& attempts, const Attempt& ended,
                            Finding finding) {
  const auto from = attempts.begin() + (&ended - attempts.data()) + 1;
  const auto next = std::find_if(from, attempts.end(),
                                 [&](const Attempt& attempt) { return attempt.after == finding; });
  return next == attempts.end() ? nullptr : &*next;
}

const Attempt& attempt_after(const std::vector<Attempt>& attempts, const Attempt& ended,
                             Finding finding) {
  const Attempt* const next = next_attempt(attempts, ended, finding);
  if (next == nullptr) {
    base::fail(GPUJOIN_ERROR_INTERNAL, "%s, and nothing was planned for it", to_text(finding));
  }
  return *next;
}

const char* to_text(Finding finding) {
  switch (finding) {
    case Finding::kJoined:
      return "";
    case Finding::kKeysScattered:
      return "keys are too far apart";
    case Finding::kKeysRepeat:
      return "build keys repeat";
    case Finding::kKeysInOrder:
      return "both sides lie in the order of their keys";
    case Finding::kUniqueInOrder:
      return "both sides lie in the order of their keys, which are unique";
    case Finding::kKeysUnordered:
      return "a side does not lie in the order of its keys";
    case Finding::kKeysOutside:
      return "keys lie outside of the range that was drawn";
    case Finding::kKeysCollide:
      return "hashes of unequal keys are equal";
    case Finding::kNoRoom:
      return "there is no room";
  }
  return "";
}

}  // namespace gpujoin::plan
