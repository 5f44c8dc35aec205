// transform_cost.cpp: bytes and seconds of ordering a side by its keys.
#include "src/plan/stage_costs.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

#include "kernels/limits.hpp"
#include "src/base/status.hpp"

namespace gpujoin::plan {
namespace {

namespace traffic = base::traffic;
using traffic::Traffic;

// Of a radix pass' time the part that goes with the bytes of a row. H200, 2^27 rows: 1.03 ms a pass
// at 8 bytes a row, 1.44 ms at 16.
constexpr double kPassShareOfBytes = 0.4;
// On the CPU, whose rows have 8, 16, 32 ... bytes. Two threads, 2^22 + 2^24 rows: 32 ms at 8 bytes,
// 55 at 16.
constexpr double kPassShareOfBytesOnCpu = 0.9;

int32_t sort_bits(const JoinPlan& plan, const JoinShape& shape) {
  if (partitions(plan.transform)) return partition_bits(plan, shape);
  const int32_t width_bits = 8 * static_cast<int32_t>(shape.key_width);
  const int32_t varying = shape.sample.varying_key_bits;
  return varying > 0 ? std::min(varying, width_bits) : width_bits;
}

// A pass of the papers' partitionings beside a one-sweep pass of 8 bits. H200, 2^27 rows of 4 + 4
// bytes, a pass of a partitioning in 15 bits: bucket chains 0.9 ms, histograms of a block 4.4, of a
// warp 6.2, of a thread 7.8, against 1.03.
double pass_slowdown(Transform transform) {
  switch (transform) {
    case Transform::kBucketChains:
      return 0.88;
    case Transform::kHistogramBlock:
      return 4.3;
    case Transform::kHistogramWarp:
      return 6.0;
    case Transform::kHistogramThread:
      return 7.6;
    default:
      return 1;
  }
}

// A pass of 8 bits of the one-sweep partition, by its ranking.
double ranking_seconds(const JoinShape& shape, uint64_t rows, uint64_t value_width,
                       const base::DeviceFacts& facts) {
  const uint64_t of_row = shape.key_width + value_width;
  const double row_bytes = static_cast<double>(facts.is_cuda ? of_row : std::bit_ceil(of_row));
  const double share = facts.is_cuda ? kPassShareOfBytes : kPassShareOfBytesOnCpu;
  return per_second(static_cast<double>(rows), facts.radix_pass_rows_per_second) *
         (1 - share + share * row_bytes / 8);
}

// Rows that one histogram counts.
uint64_t histogram_rows(Transform transform) {
  switch (transform) {
    case Transform::kHistogramThread:
      return kernels::kThreadHistogramMostRows;
    case Transform::kHistogramWarp:
      return kernels::kWarpHistogramRows;
    default:
      return kernels::kBlockHistogramTile;
  }
}

// The merge sort's time beside its bytes at the rate of a copy. H200, 2^27 rows: 10.4 ms, 34 GB.
constexpr double kMergeSortSlowdown = 1.3;

Cost merge_sort_column(const JoinShape& shape, uint64_t rows, uint64_t value_width,
                       const base::DeviceFacts& facts) {
  const Traffic moved = traffic::merge_sort(rows, shape.key_width, value_width);
  const auto rounds = static_cast<int32_t>(traffic::merge_rounds(rows));
  return {moved, kMergeSortSlowdown * stream_seconds(moved, facts), 1 + 2 * rounds};
}

Cost partition_in_passes(const JoinPlan& plan, const JoinShape& shape, uint64_t rows,
                         uint64_t value_width, const base::DeviceFacts& facts) {
  const int32_t bits = partition_bits(plan, shape);
  JoinPlan with_bits = plan;
  with_bits.radix_bits = bits;
  const int32_t passes = passes_of(with_bits);
  const int32_t pass_bits = (bits + passes - 1) / passes;
  const uint64_t digits = uint64_t{1} << pass_bits;
  Traffic pass = traffic::bucket_chain_pass(rows, shape.key_width, value_width, value_width);
  int32_t launches = 3;
  if (plan.transform != Transform::kBucketChains) {
    const uint64_t histograms = rows / histogram_rows(plan.transform) + 1;
    pass = traffic::histogram_pass(rows, shape.key_width, value_width, digits, histograms);
    launches = 5;
  }
  // Beyond 8 bits the runs of a tile's rows in one partition get shorter than a few sectors. H200,
  // bucket chains in one pass: 0.80 ms with 8 bits, 1.14 with 9, 2.81 with 11.
  const bool runs = plan.transform == Transform::kBucketChains;
  const double scatter = runs ? std::pow(1.5, std::max(pass_bits - 8, 0)) : 1;
  const double ranked =
      ranking_seconds(shape, rows, value_width, facts) * pass_slowdown(plan.transform) * scatter;
  Cost cost;
  for (int32_t i = 0; i < passes; ++i) {
    cost += Cost{pass, std::max(ranked, stream_seconds(pass, facts)), launches};
  }
  return cost;
}

// Whole rows in unordered passes. H200, 2^27 x 2^27 rows of 8, 12, 20 and 24 bytes, counted and
// moved in two passes: 3.1, 4.2, 6.8 and 8.0 ms, where a copy of what is moved takes 2.0, 3.0, 5.0
// and 6.0; rows of 12 bytes and more have larger tiles. With 9, 10, 11 bits in a pass 1.07, 1.6,
// 2.2 ms at 8 bytes, where 8 bits took 0.82, since runs of a tile get shorter than sectors.
Cost move_rows(const JoinPlan& plan, const JoinShape& shape, uint64_t rows, uint64_t row_width,
               const base::DeviceFacts& facts) {
  const double slowdown = row_width >= kernels::kUnorderedLargeFirst ? 1.27 : 1.37;
  constexpr double kCountSlowdown = 1.15;
  // Wider rows have longer runs. 9 bits, rows of 8, 12, 16 bytes: 1.5, 1.22, 1.12 times as long as
  // 8 bits.
  const double narrow = 8 / static_cast<double>(row_width);
  const double more = 1 + 0.5 * narrow * narrow;
  const int32_t bits = partition_bits(plan, shape);
  JoinPlan with_bits = plan;
  with_bits.radix_bits = bits;
  const int32_t passes = passes_of(with_bits);
  const int32_t pass_bits = (bits + passes - 1) / passes;
  const Traffic keys = traffic::read_keys(rows, shape.key_width);
  const Traffic pass = traffic::radix_unordered_pass(rows, row_width);
  // A narrower row is ranked and put in its place as long. H200, 3*10^7, 1.3*10^8 and 1.7*10^8 keys
  // of 4 bytes alone, 7, 6 and 6 bits: by their bytes 0.70, 0.56 and 0.55 of the join they are in.
  // In two passes, 2^27 rows, 1.14 ms, of 8 bytes 1.45.
  constexpr uint64_t kLeastWidth = 8;
  constexpr double kOfTwoPasses = 0.65;
  const double narrower =
      static_cast<double>(kLeastWidth) / static_cast<double>(std::min(row_width, kLeastWidth));
  const double least = passes > 1 ? std::pow(narrower, kOfTwoPasses) : narrower;
  // Rows of few partitions are counted by few counters, which wait for each other. H200, 1.1*10^4 x
  // 2.3*10^7 rows, 3 bits, 1.4 times as long as by the rates of more, 4 bits 1.3, 5 bits 1.15.
  constexpr int32_t kFewBits = 6;
  constexpr double kFewerCounters = 0.25;
  const double waits = 1 + kFewerCounters * std::max(kFewBits - bits, 0);
  const double scatter = waits * std::pow(more, std::max(pass_bits - 8, 0));
  Cost cost = {keys, kCountSlowdown * stream_seconds(keys, facts), 3 + passes / 2};
  for (int32_t i = 0; i < passes; ++i) {
    cost += Cost{pass, slowdown * least * scatter * stream_seconds(pass, facts), 1};
  }
  return cost;
}

// One side's keys and one column, ordered by key bits.
Cost move_column(const JoinPlan& plan, const JoinShape& shape, uint64_t rows, int32_t width,
                 const base::DeviceFacts& facts) {
  const uint64_t value_width = static_cast<uint64_t>(width);
  if (plan.transform == Transform::kMergeSort) {
    return merge_sort_column(shape, rows, value_width, facts);
  }
  if (partitions_in_passes(plan.transform)) {
    return partition_in_passes(plan, shape, rows, value_width, facts);
  }
  const int32_t bits = sort_bits(plan, shape);
  const double passes = static_cast<double>(traffic::radix_passes(bits));
  const Traffic pass = traffic::radix_pass(rows, shape.key_width, value_width);
  const double ranked = ranking_seconds(shape, rows, value_width, facts);
  const Traffic histogram = traffic::radix_histogram(rows, shape.key_width);
  return {traffic::radix_sort(rows, shape.key_width, value_width, bits),
          stream_seconds(histogram, facts) + passes * std::max(ranked, stream_seconds(pass, facts)),
          2 + static_cast<int32_t>(passes)};
}

}  // namespace

Cost transform_cost(const JoinPlan& plan, const JoinShape& shape, const SideStatistics& side,
                    const base::DeviceFacts& facts) {
  Cost cost;
  const uint64_t rows = static_cast<uint64_t>(side.rows);
  if (plan.transform == Transform::kWriteCombined)
    return parts_transform_cost(plan, shape, side, facts);
  if (plan.transform == Transform::kRadixUnordered) {
    const int32_t width = moved_row_width(side, plan, shape.want_pairs);
    return move_rows(plan, shape, rows, shape.key_width + static_cast<uint64_t>(width), facts);
  }
  const std::vector<int32_t> widths = moved_widths(side, plan, shape.want_pairs);
  if (plan.device == Device::kCuda) {
    // Before a partition keys are mixed, and after it its offsets are found; a sort looks which
    // bits vary.
    const Traffic keys = traffic::read_keys(rows, shape.key_width);
    if (partitions(plan.transform)) {
      cost += streamed(traffic::mix_keys(rows, shape.key_width), 1, facts);
    }
    // Bucket chains know their partitions, and make row numbers on the way; a merge sort takes all
    // bits.
    const bool chains = plan.transform == Transform::kBucketChains;
    if (!chains && plan.transform != Transform::kMergeSort) cost += streamed(keys, 1, facts);
    const bool moves_row_ids =
        !moves_payloads(side, plan, shape.want_pairs) || side.payload_widths.empty();
    if (moves_row_ids && !chains) cost += streamed(traffic::write_row_ids(rows), 1, facts);
  }
  return cost += move_column(plan, shape, rows, widths.front(), facts);
}

bool leaves_out_rows(const JoinPlan& plan, const JoinShape& shape, bool of_probe) {
  const SideStatistics& side = of_probe ? shape.probe : shape.build;
  const bool in_parts = plan.transform == Transform::kWriteCombined && plan.keys == Keys::kPlain;
  const bool moves = in_parts || (plan.transform == Transform::kRadixUnordered &&
                                  writes_columns(plan.gather) && plan.filter != Filter::kKeyBits);
  const bool asks_in_place = probes_table(plan.match) && plan.transform == Transform::kNone &&
                             plan.gather == Gather::kCarried && plan.filter == Filter::kNone &&
                             plan.keys == Keys::kPlain && (of_probe || is_one_launch(shape));
  return side.key_nullable && plan.device != Device::kCpu && !moves && !asks_in_place;
}

// Rows whose keys are not NULL are selected, and their keys and columns copied, where neither a
// partitioning leaves the others out as it moves them, nor the probe of a table as it reads them.
// H200, sides of 10^7 rows with a payload, few of them NULL, both by a table: 0.33 ms more than
// without; 1.3*10^5 x 7*10^4 rows of two key columns with a payload, some of it NULL, too: 0.35 ms
// where all columns move, 0.23 where row numbers do.
Cost left_out_cost(const JoinPlan& plan, const JoinShape& shape, bool of_probe,
                   const base::DeviceFacts& facts) {
  if (!leaves_out_rows(plan, shape, of_probe)) return {};
  const SideStatistics& side = of_probe ? shape.probe : shape.build;
  const double keyed = of_probe ? shape.sample.probe_keyed : shape.sample.build_keyed;
  constexpr int32_t kLaunches = 10;  // and the wait for the number of rows
  constexpr int32_t kLaunchesOfColumn = 2;
  constexpr double kSlowdown = 1.8;
  const uint64_t rows = rounded(keyed * static_cast<double>(side.rows));
  Traffic moved = {static_cast<uint64_t>(side.rows) / 8, 0};
  moved += traffic::write_row_ids(rows);
  moved +=
      traffic::gather(rows, static_cast<uint64_t>(side.key_width), traffic::Locality::kClustered);
  int32_t launches = kLaunches;
  if (plan.gather == Gather::kCarried) {
    for (const int32_t width : side.payload_widths) {
      moved += traffic::gather(rows, static_cast<uint64_t>(width), traffic::Locality::kClustered);
      launches += kLaunchesOfColumn;
    }
  }
  return {moved, kSlowdown * stream_seconds(moved, facts), launches};
}

Cost further_columns_cost(const JoinPlan& plan, const JoinShape& shape, const SideStatistics& side,
                          const base::DeviceFacts& facts) {
  Cost cost;
  if (writes_columns(plan.gather)) return cost;
  const uint64_t rows = static_cast<uint64_t>(side.rows);
  const std::vector<int32_t> widths = moved_widths(side, plan, shape.want_pairs);
  for (size_t i = 1; i < widths.size(); ++i) {
    const bool row_ids = shape.want_pairs && side.row_numbers && i + 1 == widths.size();
    if (row_ids) cost += streamed(traffic::write_row_ids(rows), 1, facts);
    cost += move_column(plan, shape, rows, widths[i], facts);
  }
  return cost;
}

}  // namespace gpujoin::plan
