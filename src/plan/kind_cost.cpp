// kind_cost.cpp: what a kind of join takes beside the inner join of the same rows.
#include <algorithm>
#include <cmath>

#include "src/plan/stage_costs.hpp"

namespace gpujoin::plan {
namespace {

// Of a pair whose build row is marked; probe rows come in their order, as all do where both sides
// lie in order. H200, 3.2*10^7 pairs of 1.3*10^5 rows, bits in shared memory: 0.2 ms; of more rows
// than a block has bits for 0.8.
constexpr double kMarkSeconds = 25e-12;
constexpr double kMarkNearSeconds = 3e-12;
constexpr double kMarkInSharedSeconds = 6e-12;
constexpr uint64_t kRowsInShared = 1'800'000;  // a bit each, of one block

struct SideOfKind {
  const SideStatistics& side;
  uint64_t rows;
  uint64_t matched;
  columns::RowsOfSide wanted;
  bool is_build;
};

SideOfKind side_of(const JoinPlan& plan, const JoinShape& shape, bool is_build) {
  const bool left = is_build == (plan.build_side == Side::kLeft);
  const auto wanted = columns::rows_of(shape.kind, left);
  if (!is_build) return {shape.probe, shape.probe_rows, shape.matching_rows, wanted, false};
  // Build rows of which each is as likely to be met as any other.
  const double rows = static_cast<double>(shape.build_rows);
  const double met = rows > 0 ? static_cast<double>(shape.pairs) / rows : 0;
  return {shape.build, shape.build_rows, rounded(rows * (1 - std::exp(-met))), wanted, true};
}

// Of most joins there is nothing to add, and costs of all candidates are waited for.
bool is_inner(const JoinShape& shape) {
  return shape.kind == columns::JoinKind::kInner || shape.kind == columns::JoinKind::kCross;
}

bool joins_sets(const JoinPlan& plan) {
  return partitions(plan.transform) && writes_columns(plan.gather) && plan.keys != Keys::kHashed;
}

// Whether partitions have all rows of a side; else those with a match are marked.
bool has_all_rows(const JoinPlan& plan, const SideOfKind& side) {
  return joins_sets(plan) && plan.filter == Filter::kNone && !side.side.key_nullable;
}

// Whether a table finds any build row of a key, which may repeat.
bool is_found_once(const JoinPlan& plan, const JoinShape& shape, const SideOfKind& side) {
  return (is_one_launch(plan, shape) || shape.any_row) && !side.is_build &&
         columns::comes_alone(side.wanted);
}

// Whether a table marks the rows of a side, in the place of writing them: build rows by one of
// their key that probe rows find.
bool is_marked_by_table(const JoinShape& shape, const SideOfKind& side) {
  const bool are_written =
      !side.is_build && (side.wanted == columns::RowsOfSide::kMatched || shape.finds_unmatched);
  return shape.any_row && columns::comes_alone(side.wanted) && !are_written;
}

// Where nobody looked half of the rows may have no match.
uint64_t rows_alone(const JoinShape& shape, const SideOfKind& side) {
  if (side.wanted == columns::RowsOfSide::kMatched) return side.matched;
  if (side.wanted == columns::RowsOfSide::kMarked) return side.rows;
  const uint64_t others = side.rows - std::min(side.rows, side.matched);
  return shape.sample.counted ? others : std::max(others, side.rows / 2);
}

// Of as many numbers of a side's rows.
Cost marks_cost(const JoinPlan& plan, const JoinShape& shape, const SideOfKind& side,
                uint64_t numbers, const base::DeviceFacts& facts) {
  constexpr int32_t kLaunches = 10;  // the host waits for their number
  const bool are_near =
      plan.transform == Transform::kNone && (!side.is_build || shape.sample.lies_in_order);
  const double seconds = are_near                     ? kMarkNearSeconds
                         : side.rows <= kRowsInShared ? kMarkInSharedSeconds
                                                      : kMarkSeconds;
  Cost cost = streamed({numbers * base::traffic::kRowIdBytes, 0}, kLaunches, facts);
  cost.seconds += static_cast<double>(numbers) * seconds;
  return cost;
}

// Rows in order: numbers of those that are marked, or are not, and their columns by them.
Cost fetch_cost(const SideStatistics& side, uint64_t rows, const base::DeviceFacts& facts) {
  constexpr int32_t kLaunches = 6;
  const uint64_t width = sum_of(side.payload_widths);
  return streamed({rows * 2 * (base::traffic::kRowIdBytes + width), 0},
                  kLaunches + static_cast<int32_t>(side.payload_widths.size()), facts);
}

// A set in the place of a match. By row numbers a lone payload is fetched, which travels in the
// place of those of pairs.
Cost set_cost(const JoinPlan& plan, const JoinShape& shape, const SideOfKind& side,
              const base::DeviceFacts& facts) {
  constexpr int32_t kLaunches = 8;
  const bool fetches = plan.gather == Gather::kCarriedRows && !side.side.payload_widths.empty() &&
                       moves_payloads(side.side, plan, shape.want_pairs);
  Cost cost = streamed({}, kLaunches, facts);
  if (!fetches) return cost;
  ++cost.launches;
  cost.seconds += read_seconds(static_cast<double>(rows_alone(shape, side)),
                               side.rows * sum_of(side.side.payload_widths), facts);
  return cost;
}

// Bits of rows. Of build rows one is looked at before it is set, and then asked for by each of its
// key.
Cost found_cost(const JoinShape& shape, const SideOfKind& side, const base::DeviceFacts& facts) {
  constexpr int32_t kLaunches = 12;  // the host waits for the number of marks
  constexpr double kBitSeconds = 5e-12;
  const double rows = static_cast<double>(side.rows);
  Cost cost = streamed({side.rows / 8, 0}, kLaunches, facts);
  cost += fetch_cost(side.side, rows_alone(shape, side), facts);
  if (!side.is_build) return cost;
  cost += streamed({side.rows * shape.key_width, 0}, 0, facts);
  // Sides in order find bits that lie beside each other.
  if (shape.sample.lies_in_order) return cost;
  cost.seconds += kBitSeconds * static_cast<double>(shape.matching_rows) +
                  read_seconds(2 * rows, side.rows * shape.key_width, facts);
  return cost;
}

Cost alone_cost(const JoinPlan& plan, const JoinShape& shape, const SideOfKind& side,
                const base::DeviceFacts& facts) {
  const bool sets = joins_sets(plan);
  // A table's probe rows are those of the semi join already.
  const bool writes_matched =
      sets || (probes_table(plan.match) && writes_columns(plan.gather) && !side.is_build);
  if (side.wanted == columns::RowsOfSide::kMatched && writes_matched) {
    return sets ? set_cost(plan, shape, side, facts) : Cost{};
  }
  if (side.wanted == columns::RowsOfSide::kUnmatchedOnly && has_all_rows(plan, side)) {
    return set_cost(plan, shape, side, facts);
  }
  if (!side.is_build && shape.finds_unmatched) return {};
  if (is_marked_by_table(shape, side)) return found_cost(shape, side, facts);
  const bool once = sets || is_found_once(plan, shape, side);
  Cost cost = marks_cost(plan, shape, side, once ? side.matched : shape.pairs, facts);
  cost += fetch_cost(side.side, rows_alone(shape, side), facts);
  // Build keys that repeat are left to partitions, or make more pairs, as they do half of the time,
  // more or less.
  const bool may_be_in_vain = probes_table(plan.match) && !once && !shape.sample.counted;
  if (!may_be_in_vain) return cost;
  constexpr int32_t kLaunchesOfPartitions = 16;
  const uint64_t rows = shape.build_rows + shape.probe_rows;
  return cost += streamed({3 * rows * shape.key_width, 0}, kLaunchesOfPartitions / 2, facts);
}

Cost unmatched_cost(const JoinPlan& plan, const JoinShape& shape, const SideOfKind& side,
                    const base::DeviceFacts& facts) {
  // Rows found beside a set of the other side's keys, as fast as by a table of pairs that are
  // written.
  constexpr double kSetFaster = 5;
  const uint64_t rows = side.rows - std::min(side.rows, side.matched);
  const uint64_t width = sum_of(side.side.payload_widths);
  const auto columns = static_cast<int32_t>(side.side.payload_widths.size());
  Cost cost = streamed({base::traffic::append_rows(rows, width), 0}, 4 * (1 + columns), facts);
  if (!has_all_rows(plan, side)) {
    cost += marks_cost(plan, shape, side, shape.pairs, facts);
    return cost += fetch_cost(side.side, rows, facts);
  }
  const uint64_t all = shape.build_rows + shape.probe_rows;
  constexpr int32_t kLaunches = 12;
  cost += streamed({all * shape.key_width + rows * width, 0}, kLaunches, facts);
  cost.seconds +=
      per_second(static_cast<double>(all), kSetFaster * facts.shared_probe_rows_per_second);
  if (plan.gather == Gather::kCarriedRows && columns != 0) {
    cost.seconds += read_seconds(static_cast<double>(rows) * columns, side.rows * width, facts);
  }
  return cost;
}

}  // namespace

JoinShape shape_in_match(const JoinPlan& plan, const JoinShape& shape) {
  JoinShape made = shape;
  if (is_inner(shape)) return made;
  for (const bool is_build : {true, false}) {
    const SideOfKind side = side_of(plan, shape, is_build);
    if (is_found_once(plan, shape, side)) {
      made.pairs = made.matching_rows;
      made.sample.rows_per_match = 1;
      made.sample.heaviest_build_key = 0;
      if (shape.finds_unmatched) {
        made.pairs = made.matching_rows = rows_alone(shape, side);
      }
    }
    if (is_marked_by_table(shape, side)) {
      made.pairs = made.matching_rows = 0;
      made.want_pairs = false;
      made.sample.rows_per_match = 1;
      made.sample.heaviest_build_key = 0;
    }
    if (!joins_sets(plan) || !columns::comes_alone(side.wanted)) continue;
    const bool writes_others =
        side.wanted == columns::RowsOfSide::kUnmatchedOnly && has_all_rows(plan, side);
    made.pairs = made.matching_rows = writes_others ? rows_alone(shape, side) : side.matched;
  }
  return made;
}

double set_share(const JoinPlan& plan, const JoinShape& shape) {
  // H200, 2^27 x 2^27 rows by bits of keys of 4 bytes 0.84 ms, where a match of as many pairs costs
  // 1.5; by groups of keys 2.1*10^7 x 2.1*10^7 rows 0.4, where it costs 0.3.
  constexpr double kByBits = 0.55;
  constexpr double kByGroups = 1.3;
  constexpr int32_t kFewestBits = 15;  // of partitions, of which a block has a bit for each key
  if (is_inner(shape)) return 1;
  const bool is_set =
      joins_sets(plan) && (columns::comes_alone(side_of(plan, shape, true).wanted) ||
                           columns::comes_alone(side_of(plan, shape, false).wanted));
  if (!is_set) return 1;
  return shape.key_width == 4 && plan.radix_bits >= kFewestBits ? kByBits : kByGroups;
}

Cost kind_cost(const JoinPlan& plan, const JoinShape& shape, const base::DeviceFacts& facts) {
  Cost cost;
  if (is_inner(shape) || plan.device == Device::kCpu) return cost;
  for (const bool is_build : {true, false}) {
    const SideOfKind side = side_of(plan, shape, is_build);
    if (columns::comes_alone(side.wanted)) cost += alone_cost(plan, shape, side, facts);
    if (columns::comes_unmatched(side.wanted)) cost += unmatched_cost(plan, shape, side, facts);
  }
  return cost;
}

}  // namespace gpujoin::plan
