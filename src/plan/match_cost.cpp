// match_cost.cpp: bytes and seconds of finding the pairs and writing them.
#include "src/plan/stage_costs.hpp"

#include <algorithm>
#include <cmath>

#include "src/base/status.hpp"

namespace gpujoin::plan {
namespace {

namespace traffic = base::traffic;
using traffic::Traffic;

uint64_t rounded(double value) { return static_cast<uint64_t>(std::llround(value)); }

// Reads of the table a probe row makes at load one half with linear probing. H200: 2^27 probes of a
// table of 2 GiB take 5.2 ms, at 36.7e9 reads/s that is 1.4.
constexpr double kReadsPerProbe = 1.4;
// Of the co-partitions match, a round in which each thread of a block writes up to four pairs. H200,
// 10^7 rows of which 10^6 have one key, met by 100 probe rows: 4096 rounds in a row take 10 ms.
constexpr double kRoundSeconds = 2.4e-6;

Cost build_table(const JoinShape& shape, const base::DeviceFacts& facts) {
  const Traffic moved = traffic::global_table_build(shape.build_rows, shape.key_width);
  const double rows = static_cast<double>(shape.build_rows);
  double inserts =
      random_seconds(rows, traffic::global_table_bytes(shape.build_rows),
                     facts.random_inserts_per_second, facts.l2_random_inserts_per_second, facts);
  if (shape.key_width > 4) inserts += read_seconds(rows, shape.build_rows * shape.key_width, facts);
  return {moved, stream_seconds(moved, facts) + inserts, 3};
}

// Whether build keys are likely to repeat; nobody looked: they are taken to be unique.
bool has_duplicates(const JoinShape& shape) {
  return shape.sample.rows_per_match > 1.01 ||
         shape.sample.heaviest_build_key * static_cast<double>(shape.build_rows) > 1.5;
}

Cost probe_table(const JoinShape& shape, const base::DeviceFacts& facts) {
  const double build = static_cast<double>(shape.build_rows);
  const double probe = static_cast<double>(shape.probe_rows);
  const double pairs = static_cast<double>(shape.pairs);
  const uint64_t table = traffic::global_table_bytes(shape.build_rows);
  const uint64_t keys = shape.build_rows * shape.key_width;
  const double emitted = per_second(pairs, facts.emitted_pairs_per_second);
  // A key of 8 bytes is verified in its column.
  const double verified = shape.key_width > 4 ? 1 : 0;
  if (!has_duplicates(shape)) {
    const Traffic moved =
        traffic::global_table_probe(shape.probe_rows, shape.key_width, shape.pairs);
    const double reads = read_seconds(probe * kReadsPerProbe, table, facts) +
                         read_seconds(pairs * verified, keys, facts);
    return {moved, std::max({stream_seconds(moved, facts), reads, emitted}), 2};
  }
  const Traffic moved =
      traffic::global_table_group(shape.build_rows, shape.probe_rows, shape.key_width, shape.pairs);
  const uint64_t ids = shape.build_rows * traffic::kRowIdBytes;
  const double looked_up = read_seconds((build + probe) * kReadsPerProbe, table, facts) +
                           read_seconds((build + probe) * verified, keys, facts);
  const double counted_and_placed = 2 * random_seconds(build, ids, facts.random_inserts_per_second,
                                                       facts.l2_random_inserts_per_second, facts);
  const double ranges = read_seconds(build + probe, ids, facts);
  return {moved, stream_seconds(moved, facts) + looked_up + counted_and_placed + ranges + emitted,
          11};
}

// Probe rows read again because a build partition takes several tables.
double reread_rows(const JoinPlan& plan, const JoinShape& shape) {
  const double partitions = std::ldexp(1.0, partition_bits(plan, shape));
  const double build = static_cast<double>(shape.build_rows);
  const double probe = static_cast<double>(shape.probe_rows);
  const double room = static_cast<double>(kPartitionRoom);
  const double average = std::max(std::ceil(build / partitions / room) - 1, 0.0) * probe;
  const double heavy_build = shape.sample.heaviest_build_key * build;
  const double heavy_probe = probe * std::max(1 / partitions, shape.sample.heaviest_probe_key);
  return average + std::max(std::ceil(heavy_build / room) - 1, 0.0) * heavy_probe;
}

}  // namespace

Cost match_cost(const JoinPlan& plan, const JoinShape& shape, const base::DeviceFacts& facts) {
  if (plan.match == Match::kGlobalTable) {
    Cost cost = build_table(shape, facts);
    return cost += probe_table(shape, facts);
  }
  const bool row_ids = plan.gather == Gather::kUntransformed;
  const bool merge = merges(plan.match);
  double rows = static_cast<double>(shape.build_rows + shape.probe_rows);
  Traffic moved;
  if (merge) {
    moved = traffic::merge_path(shape.build_rows, shape.probe_rows, shape.key_width, row_ids,
                                shape.pairs);
  } else {
    const double reread = reread_rows(plan, shape);
    rows += reread;
    moved = traffic::co_partitions(shape.build_rows, shape.probe_rows + rounded(reread),
                                   shape.key_width, row_ids, shape.pairs);
  }
  double computed =
      per_second(rows, merge ? facts.merge_rows_per_second : facts.shared_probe_rows_per_second) +
      per_second(static_cast<double>(shape.pairs), facts.emitted_pairs_per_second);
  if (!merge) {
    const uint64_t further = shape.pairs - std::min(shape.pairs, shape.matching_rows);
    computed += per_second(static_cast<double>(further), facts.further_pairs_per_second);
    // A table full of one key: whoever meets it writes its rows in as many rounds, alone.
    const double heavy_build =
        shape.sample.heaviest_build_key * static_cast<double>(shape.build_rows);
    if (heavy_build > kPartitionRoom) computed += kPartitionRoom * kRoundSeconds;
  }
  return {moved, std::max(stream_seconds(moved, facts), computed), merge ? 7 : 5};
}

}  // namespace gpujoin::plan
