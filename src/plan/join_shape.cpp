#include "src/plan/join_shape.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "kernels/limits.hpp"
#include "src/base/traffic.hpp"
#include "src/plan/any_row.hpp"
#include "src/plan/stage_costs.hpp"

namespace gpujoin::plan {
namespace {

constexpr int32_t kRowIdWidth = static_cast<int32_t>(base::traffic::kRowIdBytes);

// Standard errors that an estimate is hardly ever off by. Of skewed keys one draw may be a quarter
// of it, and a part of its error: of 5.5*10^7 unique rows and 1.8*10^7 of theirs by Zipf 0.58 one
// draw met the most frequent key, and four times as many pairs were expected, 3.9 errors.
constexpr double kSureErrors = 4;

// Rows of the probe side for each place that its keys may have, as far as draws and the bits that
// vary tell: of more than one some keys repeat, whatever few of them were met. 1: of no more, or
// nobody counted.
double drawn_rows_of_place(const SampleStatistics& sample, double probe_rows) {
  const KeyRange& range = sample.probe_range;
  if (!sample.counted || range.low > range.high) return 1;
  const double rows =
      rows_a_place(range.low, range.high, sample.varying_key_bits, probe_rows * sample.probe_keyed);
  return rows > kSurelyMore ? rows : 1;
}

}  // namespace

SampleStatistics turned_round(const SampleStatistics& sample, double build_rows,
                              double probe_rows) {
  SampleStatistics turned = sample;
  std::swap(turned.heaviest_build_key, turned.heaviest_probe_key);
  std::swap(turned.heavy_build_share, turned.heavy_probe_share);
  std::swap(turned.build_keyed, turned.probe_keyed);
  std::swap(turned.build_range, turned.probe_range);
  std::swap(turned.build_neighbour_bits, turned.probe_neighbour_bits);
  turned.build_in_order = turned.lies_in_order;  // of the probe side alone nothing is known
  const double pairs = probe_rows * sample.match_ratio * sample.rows_per_match;
  // As many pairs as rows, within the error, are a match for each.
  const bool one_each = pairs <= build_rows * (1 + kSureErrors * sample.rows_error);
  const double rows_of_place = drawn_rows_of_place(sample, probe_rows);
  const double matching = std::min(build_rows, pairs / rows_of_place);
  turned.match_ratio = build_rows > 0 ? matching / build_rows : 0;
  const bool are_ones = one_each && rows_of_place == 1;
  turned.rows_per_match = matching > 0 && !are_ones ? pairs / matching : 1;
  turned.build_within = 1;
  return turned;
}

bool names_table(const PlanRequest& request) {
  return request.options.algorithm != GPUJOIN_ALGORITHM_AUTOMATIC || request.options.match != 0 ||
         request.options.transform != 0 || request.options.skew != 0;
}

std::optional<PlanRequest> building_on_other(const PlanRequest& request, Side build) {
  if (request.options.build_side != 0 || request.in_order || names_table(request)) {
    return std::nullopt;
  }
  PlanRequest other = request;
  other.options.build_side = build == Side::kLeft ? GPUJOIN_SIDE_RIGHT : GPUJOIN_SIDE_LEFT;
  return other;
}

JoinShape shape_of(const JoinPlan& plan, const PlanRequest& request,
                   const SampleStatistics& sample) {
  const bool left = plan.build_side == Side::kLeft;
  const SideStatistics& build = left ? request.left : request.right;
  const SideStatistics& probe = left ? request.right : request.left;
  const double build_rows = static_cast<double>(build.rows);
  const double probe_rows = static_cast<double>(probe.rows);
  const bool as_sampled = plan.build_side == build_side_of(request);
  // Turned round from the sides that were sampled: its build side is this plan's probe side.
  const SampleStatistics seen = as_sampled ? sample : turned_round(sample, probe_rows, build_rows);
  const double matching = build.rows > 0 ? probe_rows * seen.match_ratio : 0;
  return {build,
          probe,
          static_cast<uint64_t>(build.rows),
          static_cast<uint64_t>(probe.rows),
          static_cast<uint64_t>(joined_key_width(plan, request)),
          request.key_count,
          seen,
          rounded(matching),
          rounded(matching * seen.rows_per_match),
          request.pairs,
          names_table(request),
          request.joins_pairs ? columns::JoinKind::kInner : request.kind,
          keys_may_repeat(plan, request, sample),
          as_sampled,
          takes_any_row(plan, request),
          finds_unmatched(plan, request)};
}

bool moves_payloads(const SideStatistics& side, const JoinPlan& plan, bool want_pairs) {
  if (plan.device == Device::kCuda && plan.transform == Transform::kNone) return false;
  if (plan.keys == Keys::kHashed) return false;  // row numbers are verified
  if (plan.gather != Gather::kUntransformed && plan.gather != Gather::kCarriedRows) return true;
  if (plan.device == Device::kCpu) return false;
  const bool is_lone = side.payload_widths == std::vector<int32_t>{kRowIdWidth};
  return is_lone && !(want_pairs && side.row_numbers);
}

bool reads_by_position(const JoinPlan& plan, uint64_t pairs, uint64_t rows) {
  return plan.device == Device::kCuda && plan.transform != Transform::kNone &&
         plan.transform != Transform::kBucketChains && plan.keys != Keys::kHashed && pairs > rows;
}

PackedBytes packed_of(const SideStatistics& side, const JoinPlan& plan) {
  if (plan.transform == Transform::kWriteCombined) {
    return packed_bytes(side.payload_widths, AloneInWord::kPacked);
  }
  const bool moves_rows =
      plan.transform == Transform::kRadixUnordered && plan.gather == Gather::kCarried;
  return moves_rows ? packed_bytes(side.payload_widths) : PackedBytes{};
}

PackedBytes packed_of(const JoinShape& shape, const JoinPlan& plan) {
  const PackedBytes build = packed_of(shape.build, plan);
  const PackedBytes probe = packed_of(shape.probe, plan);
  return {build.words + probe.words, build.columns + probe.columns};
}

int32_t moved_row_width(const SideStatistics& side, const JoinPlan& plan, bool want_pairs) {
  if (plan.gather == Gather::kUntransformed) return kRowIdWidth;
  const int32_t row_number = want_pairs && side.row_numbers ? kRowIdWidth : 0;
  // Where nothing is to be fetched nothing is fetched by them.
  if (plan.gather == Gather::kCarriedRows) {
    return side.payload_widths.empty() ? row_number : kRowIdWidth;
  }
  const PackedBytes packed = packed_of(side, plan);
  return std::accumulate(side.payload_widths.begin(), side.payload_widths.end(), row_number) +
         packed.words - packed.columns;
}

std::vector<int32_t> moved_widths(const SideStatistics& side, const JoinPlan& plan,
                                  bool want_pairs) {
  if (plan.device == Device::kCpu || plan.gather != Gather::kTransformed) {
    return {moved_row_width(side, plan, want_pairs)};
  }
  std::vector<int32_t> widths = side.payload_widths;
  if (want_pairs && side.row_numbers) widths.push_back(kRowIdWidth);
  // Without a column to move, row ids go along.
  if (widths.empty()) widths.push_back(kRowIdWidth);
  return widths;
}

uint64_t sum_of(const std::vector<int32_t>& widths) {
  return static_cast<uint64_t>(std::accumulate(widths.begin(), widths.end(), 0));
}

uint64_t read_width(const JoinShape& shape, const SideStatistics& side) {
  return shape.key_width + sum_of(side.payload_widths);
}

namespace {

template <typename Function>
void each_gathered_width(const JoinShape& shape, const JoinPlan& plan, bool of_build,
                         Function function) {
  const SideStatistics& side = of_build ? shape.build : shape.probe;
  for (const int32_t width : side.payload_widths) function(width);
  if (!of_build) {
    // Matching keys are equal, so either side's key column is gathered from the probe side; a match
    // that writes columns writes it once.
    const bool once = writes_columns(plan.gather) && shape.build.key_is_output;
    if (shape.build.key_is_output) function(shape.build.key_width);
    if (shape.probe.key_is_output && !once) function(shape.probe.key_width);
  }
  // Pairs of transformed relations are positions; the row ids asked for were moved like payloads.
  if (shape.want_pairs && side.row_numbers && plan.gather != Gather::kUntransformed) {
    function(kRowIdWidth);
  }
}

}  // namespace

std::vector<int32_t> gathered_widths(const JoinShape& shape, const JoinPlan& plan, bool of_build) {
  std::vector<int32_t> widths;
  each_gathered_width(shape, plan, of_build, [&](int32_t width) { widths.push_back(width); });
  return widths;
}

GatheredColumns gathered_columns(const JoinShape& shape, const JoinPlan& plan, bool of_build) {
  GatheredColumns columns;
  each_gathered_width(shape, plan, of_build, [&](int32_t width) {
    ++columns.count;
    columns.width += static_cast<uint64_t>(width);
    columns.values.add(width);
  });
  return columns;
}

uint64_t written_width(const JoinShape& shape, const JoinPlan& plan, bool of_build) {
  if (plan.gather == Gather::kCarried) return gathered_columns(shape, plan, of_build).width;
  const SideStatistics& side = of_build ? shape.build : shape.probe;
  const bool writes_key = !of_build && (shape.build.key_is_output || shape.probe.key_is_output);
  return (writes_key ? shape.key_width : 0) +
         static_cast<uint64_t>(moved_row_width(side, plan, shape.want_pairs));
}

// Those with NULL keys are among the launch's rows.
bool is_one_launch(const JoinShape& shape) {
  return kernels::joins_in_one_launch(static_cast<uint64_t>(shape.build.rows),
                                      static_cast<uint64_t>(shape.probe.rows));
}

bool is_one_launch(const JoinPlan& plan, const JoinShape& shape) {
  return probes_table(plan.match) && plan.gather == Gather::kCarried &&
         plan.transform == Transform::kNone && is_one_launch(shape);
}

bool joins_in_one_launch(Side build, const PlanRequest& request) {
  const auto left = static_cast<uint64_t>(request.left.rows);
  const auto right = static_cast<uint64_t>(request.right.rows);
  return build == Side::kLeft ? kernels::joins_in_one_launch(left, right)
                              : kernels::joins_in_one_launch(right, left);
}

int32_t partition_bits(const JoinPlan& plan, const JoinShape& shape) {
  return plan.radix_bits > 0
             ? plan.radix_bits
             : radix_bits_for(shape.build.rows, static_cast<int32_t>(shape.key_width));
}

uint64_t input_bytes(const SideStatistics& side) {
  uint64_t width = static_cast<uint64_t>(side.key_width);
  for (const int32_t payload : side.payload_widths) width += static_cast<uint64_t>(payload);
  return base::traffic::host_copy(static_cast<uint64_t>(side.rows), width).bytes();
}

namespace {

// Of a match that hashes the whole build side.
uint64_t table_bytes(const JoinPlan& plan, const JoinShape& shape) {
  if (plan.transform == Transform::kWriteCombined) {
    return part_bytes(shape.build, shape.want_pairs) + part_bytes(shape.probe, shape.want_pairs);
  }
  if (probes_table(plan.match)) {
    if (plan.gather != Gather::kCarried) {
      return base::traffic::global_table_bytes(shape.build_rows);
    }
    // Places of dense keys with their columns, or slots: the larger of the two may be what it comes
    // to.
    const GatheredColumns gathered = gathered_columns(shape, plan, true);
    const uint64_t packed = gathered.count > 1 ? gathered.packed_bytes(0, shape.build_rows) : 0;
    // Of what is told as a column of one byte some may be a nullable one's validity: a row number
    // then travels for both, up to two bytes more, and rows are as wide as hold it.
    const bool may_be_numbers = gathered.count > 1 && gathered.values.ones != 0;
    const uint64_t most = gathered.width + (may_be_numbers ? 2 : 0);
    const uint64_t held = !may_be_numbers ? most : most <= 8 ? 8 : std::max<uint64_t>(most, 16);
    const uint64_t row = std::max(held, packed);
    const uint64_t direct = plan.match == Match::kDirectTable
                                ? base::traffic::most_direct_places(shape.build_rows) * (row + 1)
                                : 0;
    const uint64_t slots =
        base::traffic::pair_table_slots(shape.build_rows, 0) * base::traffic::kTableSlotBytes;
    const uint64_t row_slots =
        base::traffic::fits_row_slots(shape.build_rows)
            ? base::traffic::row_slots(shape.build_rows) * base::traffic::kRowSlotBytes
            : 0;
    // Of few rows, those behind each that has the same key.
    const uint64_t chains =
        is_one_launch(shape) ? shape.build_rows * base::traffic::kRowIdBytes * 33 / 32 + 64 : 0;
    return std::max({slots, row_slots, direct}) + chains;
  }
  if (plan.match == Match::kRowMultiset) {
    return base::traffic::row_multiset_bytes(shape.build_rows);
  }
  return 0;
}

// The build side that stays, as it came and as it was moved; chunks are cut to the room that is
// left.
uint64_t chunked_memory_need(const JoinPlan& plan, const JoinShape& shape) {
  const uint64_t codes = plan.keys == Keys::kHashed ? shape.build_rows * shape.key_width : 0;
  return 2 * input_bytes(shape.build) + table_bytes(plan, shape) + codes;
}

}  // namespace

uint64_t memory_need(const JoinPlan& plan, const JoinShape& shape) {
  if (plan.transfer == Transfer::kProbeChunks) return chunked_memory_need(plan, shape);
  const uint64_t codes =
      plan.keys == Keys::kHashed ? (shape.build_rows + shape.probe_rows) * shape.key_width : 0;
  const auto gathered_width = [&](bool of_build) {
    return gathered_columns(shape, plan, of_build).width;
  };
  const uint64_t pairs =
      plan.gather == Gather::kCarried ? 0 : shape.pairs * base::traffic::kPairBytes;
  // One launch has room for a row of each probe row.
  const uint64_t rows_out =
      is_one_launch(plan, shape) ? std::max(shape.pairs, shape.probe_rows) : shape.pairs;
  const uint64_t columns = rows_out * (gathered_width(true) + gathered_width(false));
  uint64_t copies = 0;
  const bool copied = plan.transfer != Transfer::kNone && plan.transfer != Transfer::kZeroCopy;
  if (copied) {
    for (const SideStatistics* side : {&shape.build, &shape.probe}) {
      if (side->in_host_memory) copies += input_bytes(*side);
    }
  }
  if (const uint64_t table = table_bytes(plan, shape); table != 0) {
    // Duplicates in the global table: counts, representatives, ranks and offsets of the build side,
    // ranges of the probe side.
    const bool groups = probes_table(plan.match) && shape.sample.rows_per_match > 1.01;
    const uint64_t grouped = groups ? shape.build_rows * 16 + shape.probe_rows * 16 : 0;
    const uint64_t words = rows_out * static_cast<uint64_t>(packed_of(shape, plan).words);
    if (plan.gather == Gather::kCarried) return copies + codes + table + grouped + columns + words;
    return copies + codes + pairs + std::max(table + grouped, columns);
  }
  if (plan.match == Match::kMergeTiles) {
    if (shape.sample.lies_in_order) return copies + codes + columns;
    JoinPlan next = plan;
    next.transform = Transform::kRadixUnordered;
    next.match = Match::kCoPartitions;
    next.skew = Skew::kWorkUnits;
    return memory_need(next, shape);
  }

  // A side keeps, to the end, its mixed keys (a sort's are the input), its ordered keys and the
  // first column that was moved with them. Each move needs the sorter's own copy of what it moves.
  const bool mixes_first =
      partitions(plan.transform) && plan.transform != Transform::kRadixUnordered;
  const uint64_t mixed = mixes_first ? shape.key_width : 0;
  uint64_t kept = 0;
  uint64_t ordering = 0;
  uint64_t reordering = 0;
  for (const SideStatistics* side : {&shape.build, &shape.probe}) {
    const uint64_t rows = static_cast<uint64_t>(side->rows);
    const std::vector<int32_t> widths = moved_widths(*side, plan, shape.want_pairs);
    const uint64_t first = static_cast<uint64_t>(widths.front());
    // The last bucket of each partition is partly empty.
    const uint64_t places = plan.transform == Transform::kBucketChains ? rows + rows / 4 : rows;
    kept += rows * mixed + places * (shape.key_width + first);
    ordering = std::max(ordering, rows * (shape.key_width + first + base::traffic::kRowIdBytes));
    for (size_t i = 1; i < widths.size(); ++i) {
      const uint64_t width = static_cast<uint64_t>(widths[i]);
      reordering = std::max(reordering, rows * 2 * (shape.key_width + width));
    }
  }
  const uint64_t bounds = merges(plan.match) ? shape.probe_rows * 16 : 0;
  return copies + codes + kept + std::max({ordering, bounds + pairs, pairs + columns + reordering});
}

}  // namespace gpujoin::plan
