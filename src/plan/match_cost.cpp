// match_cost.cpp: bytes and seconds of finding the pairs and writing them.
#include "src/plan/stage_costs.hpp"

#include <algorithm>
#include <cmath>

#include "kernels/limits.hpp"
#include "src/base/status.hpp"

namespace gpujoin::plan {
namespace {

namespace traffic = base::traffic;
using traffic::Traffic;

// Of the co-partitions match, a round in which each thread of a block writes up to four pairs.
// H200, 10^7 rows of which 10^6 have one key, met by 100 probe rows: 4096 rounds in a row take 10
// ms.
constexpr double kRoundSeconds = 2.4e-6;

// Probe rows read again because a build partition takes several tables.
double reread_rows(const JoinPlan& plan, const JoinShape& shape) {
  const double partitions = std::ldexp(1.0, partition_bits(plan, shape));
  const double build = static_cast<double>(shape.build_rows);
  const double probe = static_cast<double>(shape.probe_rows);
  const double room =
      writes_columns(plan.gather) ? kernels::kCarriedBuildRows : kernels::kCoPartitionBuildRows;
  const double average = std::max(std::ceil(build / partitions / room) - 1, 0.0) * probe;
  const double heavy_build = shape.sample.heaviest_build_key * build;
  const double heavy_probe = probe * std::max(1 / partitions, shape.sample.heaviest_probe_key);
  return average + std::max(std::ceil(heavy_build / room) - 1, 0.0) * heavy_probe;
}

// Comparisons of a nested loop in a second. H200, 2^27 x 2^27 in 2^16 partitions: 36.8 ms.
constexpr double kComparisonsPerSecondAndSm = 5.7e10;

double compared_seconds(const JoinPlan& plan, const JoinShape& shape,
                        const base::DeviceFacts& facts) {
  const double build = static_cast<double>(shape.build_rows);
  const double probe = static_cast<double>(shape.probe_rows);
  const double spread = build * probe / std::ldexp(1.0, partition_bits(plan, shape));
  const double heavy =
      build * shape.sample.heaviest_build_key * probe * shape.sample.heaviest_probe_key;
  return per_second(spread + heavy, kComparisonsPerSecondAndSm * facts.sm_count);
}

// Seconds of a pair that a thread writes to its own page. H200, 2^27 pairs: 3.7 ms with pages of 1
// pair, 2.2 of 2, 1.6 of 4, 2.4 of 8, 9.3 of 64: small pages cost atomics, large ones sectors.
double page_seconds(double page) {
  constexpr double kAtomic = 2.2e-11;
  constexpr double kSector = 0.5e-11;
  return kAtomic / page + kSector * std::pow(page, 0.65);
}
// A group of partitions: a launch, a wait, and its read-back. H200: 10 groups take 0.35 ms.
constexpr double kGroupSeconds = 35e-6;
constexpr int32_t kGroups = 10;

// What a way of writing costs beside reserving exactly.
Cost output_cost(const JoinPlan& plan, const JoinShape& shape, bool row_ids, double probe_seconds,
                 const base::DeviceFacts& facts) {
  constexpr uint64_t kWriters = uint64_t{1} << 17;  // threads that are resident at one time
  switch (plan.output) {
    case Output::kThreadPages: {
      const int32_t page = plan.page_pairs == 0 ? kernels::kThreadPagePairs : plan.page_pairs;
      const Traffic all =
          traffic::paged_pairs(shape.pairs, row_ids, kWriters, static_cast<uint64_t>(page));
      const Traffic once = {shape.pairs * traffic::pair_bytes(row_ids), 0};
      return {{all.streamed - once.streamed, 0},
              static_cast<double>(shape.pairs) * page_seconds(page),
              4};
    }
    case Output::kBlockChunks:
      return {{0, 0}, 0, 4};
    case Output::kTwoPasses: {
      const Traffic again =
          traffic::co_partitions(shape.build_rows, shape.probe_rows, shape.key_width, row_ids, 0);
      return {again, std::max(probe_seconds, stream_seconds(again, facts)), 4};
    }
    case Output::kEstimatedGroups: {
      const uint64_t partitions = uint64_t{1} << partition_bits(plan, shape);
      return {traffic::estimated_groups(partitions), kGroups * kGroupSeconds, kGroups};
    }
    default:
      return {};
  }
}

// The heaviest partition by one block, while the others wait: a block has its share of what all
// multiprocessors do together.
double straggler_seconds(const JoinPlan& plan, const JoinShape& shape, double seconds,
                         const base::DeviceFacts& facts) {
  if (plan.skew != Skew::kNone || facts.sm_count == 0) return 0;
  const double rows = static_cast<double>(shape.build_rows + shape.probe_rows);
  const double heavy = shape.sample.heaviest_probe_key * static_cast<double>(shape.probe_rows) +
                       shape.sample.heaviest_build_key * static_cast<double>(shape.build_rows);
  constexpr double kBlocksPerSm = 1.5;  // a block alone on its multiprocessor runs faster
  return rows > 0 ? seconds * heavy / rows * facts.sm_count * kBlocksPerSm : 0;
}

// Multiset of hash and row number: as the global table, but rows of equal keys lie in a sequence of
// slots that each probe row walks.
Cost multiset_cost(const JoinPlan& plan, const JoinShape& shape, const base::DeviceFacts& facts) {
  const uint64_t key_bytes = shape.key_width;
  const bool one_short_key = shape.key_count == 1 && shape.key_width == 4;
  const uint64_t verified = one_short_key ? 0 : static_cast<uint64_t>(shape.key_count);
  const uint64_t table = traffic::row_multiset_bytes(shape.build_rows);
  const Traffic build = traffic::row_multiset_build(shape.build_rows, key_bytes);
  Cost cost = {build,
               stream_seconds(build, facts) +
                   insert_seconds(static_cast<double>(shape.build_rows), table, facts),
               4};
  const double walked =
      read_seconds(static_cast<double>(shape.probe_rows + shape.pairs / 4) * kReadsPerProbe, table,
                   facts) +
      read_seconds(static_cast<double>(shape.pairs * verified), shape.build_rows * shape.key_width,
                   facts);
  if (plan.output == Output::kTwoPasses) {
    cost += Cost{traffic::row_multiset_count(shape.probe_rows, key_bytes, verified, shape.pairs),
                 walked, 3};
  }
  const Traffic written =
      traffic::row_multiset_retrieve(shape.probe_rows, key_bytes, verified, shape.pairs);
  return cost +=
         Cost{written,
              std::max(walked, stream_seconds(written, facts)) +
                  per_second(static_cast<double>(shape.pairs), facts.emitted_pairs_per_second),
              2};
}

uint64_t row_width(const SideStatistics& side, const JoinPlan& plan, const JoinShape& shape) {
  return shape.key_width + static_cast<uint64_t>(moved_row_width(side, plan, shape.want_pairs));
}

}  // namespace

Cost unpack_cost(const JoinPlan& plan, const JoinShape& shape, const base::DeviceFacts& facts) {
  const PackedBytes packed = packed_of(shape, plan);
  if (packed.words == 0) return {};
  const Traffic unpacked = traffic::unpack_words(shape.pairs, static_cast<uint64_t>(packed.words),
                                                 static_cast<uint64_t>(packed.columns));
  return {unpacked, stream_seconds(unpacked, facts), 1};
}

// H200: 2^27 x 2^27 rows with 1, 2 and 4 payloads of 4 bytes a side 1.55, 2.1 and 3.5 ms, 2^22 x
// 2^27 with one 1.1 ms, where their bytes take 0.88, 1.38, 2.38 and 0.63.
Cost carried_cost(const JoinPlan& plan, const JoinShape& shape, const base::DeviceFacts& facts) {
  constexpr double kSlowdown = 1.35;
  constexpr double kRowsFaster = 5;  // beside a table whose pairs are found and then written
  // A column alone in its word is written in less than sectors. H200, 10^7 x 10^7 and 2^25 x 2^27
  // rows with one of 1 byte a side 0.48 and 3.33 ms, of 4 bytes 0.46 and 3.05.
  constexpr double kAloneSeconds = 1.2e-12;
  double alone = 0;
  for (const SideStatistics* side : {&shape.build, &shape.probe}) {
    const bool is_one = side->validities == 0 && plan.gather == Gather::kCarried &&
                        packed_of(*side, plan).columns !=
                            packed_bytes(side->payload_widths, AloneInWord::kPacked).columns;
    if (is_one) alone += kAloneSeconds * static_cast<double>(shape.pairs);
  }
  const PackedBytes packed = packed_of(shape, plan);
  const uint64_t output_width = written_width(shape, plan, true) +
                                written_width(shape, plan, false) +
                                static_cast<uint64_t>(packed.words - packed.columns);
  const double reread = reread_rows(plan, shape);
  const Traffic moved = traffic::carried_columns(
      shape.build_rows, row_width(shape.build, plan, shape), shape.probe_rows + rounded(reread),
      row_width(shape.probe, plan, shape), shape.pairs, output_width);
  const double rows = static_cast<double>(shape.build_rows + shape.probe_rows) + reread;
  const uint64_t further = shape.pairs - std::min(shape.pairs, shape.matching_rows);
  double seconds = kSlowdown * stream_seconds(moved, facts) +
                   per_second(rows, kRowsFaster * facts.shared_probe_rows_per_second) +
                   per_second(static_cast<double>(further), 3 * facts.further_pairs_per_second) +
                   alone;
  // Partitions in which build keys repeat are tried by rank and left to another launch; where a few
  // hot keys repeat, theirs alone. H200, 2^25 x 2^25 rows drawn from 2^26 keys take 0.35 ms more
  // than unique ones, keys of 8 bytes 0.5.
  constexpr double kTriedFaster = 1.1;
  const double hot = static_cast<double>(shape.sample.hot_rows);
  const double others = static_cast<double>(shape.pairs) - hot;
  if (others > 1.01 * static_cast<double>(shape.matching_rows)) {
    seconds += per_second(rows, kTriedFaster * facts.shared_probe_rows_per_second);
  }
  // Units are counted, counters cleared, the chunks' holes filled; and the host's wait for its end.
  constexpr int32_t kLaunches = 8;
  // The partition of a key with so many rows is left to another launch, for which units are counted
  // again. How many rows it makes is known: the sample counts the rows of hot keys.
  constexpr int32_t kLeftLaunches = 3;
  const double heavy_build =
      shape.sample.heaviest_build_key * static_cast<double>(shape.build_rows);
  const bool leaves = heavy_build > kernels::kCoPartitionBuildRows;
  Cost cost = {moved, seconds, leaves ? kLaunches + kLeftLaunches : kLaunches};
  return cost += unpack_cost(plan, shape, facts);
}

PartitionsInstead partitions_instead(const JoinPlan& plan, const JoinShape& shape,
                                     const base::DeviceFacts& facts) {
  PartitionsInstead other = {in_partitions(plan, shape.kind, shape.build.rows, shape.probe.rows,
                                           static_cast<int32_t>(shape.key_width), facts),
                             {}};
  other.cost = transform_cost(other.plan, shape, shape.build, facts);
  other.cost += transform_cost(other.plan, shape, shape.probe, facts);
  other.cost += carried_cost(other.plan, shape, facts);
  return other;
}

namespace {

Traffic merge_traffic(const JoinPlan& plan, const JoinShape& shape, bool row_ids) {
  switch (plan.match) {
    case Match::kMergeTwoBounds:
      return traffic::merge_two_bounds(shape.build_rows, shape.probe_rows, shape.key_width, row_ids,
                                       shape.pairs);
    case Match::kMergeOneBound:
      return traffic::merge_one_bound(shape.build_rows, shape.probe_rows, shape.key_width, row_ids,
                                      shape.pairs, !has_duplicates(shape));
    default:
      return traffic::merge_path(shape.build_rows, shape.probe_rows, shape.key_width, row_ids,
                                 shape.pairs);
  }
}

Cost merge_cost(const JoinPlan& plan, const JoinShape& shape, bool row_ids,
                const base::DeviceFacts& facts) {
  const Traffic moved = merge_traffic(plan, shape, row_ids);
  const bool twice = plan.match == Match::kMergeTwoBounds ||
                     (plan.match == Match::kMergeOneBound && has_duplicates(shape));
  const double rows = static_cast<double>(shape.build_rows + shape.probe_rows);
  const double computed =
      per_second(twice ? 2 * rows : rows, facts.merge_rows_per_second) +
      per_second(static_cast<double>(shape.pairs), facts.emitted_pairs_per_second);
  return {moved, std::max(stream_seconds(moved, facts), computed), twice ? 9 : 7};
}

}  // namespace

Cost match_cost(const JoinPlan& plan, const JoinShape& shape, const base::DeviceFacts& facts) {
  if (plan.transform == Transform::kWriteCombined) return parts_match_cost(plan, shape, facts);
  if (probes_table(plan.match) && plan.gather == Gather::kCarried) {
    return table_columns_cost(plan, shape, facts);
  }
  if (plan.match == Match::kMergeTiles) return tiles_cost(plan, shape, facts);
  if (plan.match == Match::kGlobalTable) {
    return global_table_cost(shape, facts);
  }
  if (plan.match == Match::kRowMultiset) return multiset_cost(plan, shape, facts);
  if (writes_columns(plan.gather)) return carried_cost(plan, shape, facts);
  const bool row_ids = plan.gather == Gather::kUntransformed;
  if (merges(plan.match)) return merge_cost(plan, shape, row_ids, facts);

  const double reread = reread_rows(plan, shape);
  const Traffic moved = traffic::co_partitions(shape.build_rows, shape.probe_rows + rounded(reread),
                                               shape.key_width, row_ids, shape.pairs);
  // Rows in buckets: H200, 2^27 x 2^27 rows 2.36 ms, side by side 2.05.
  const double reading = plan.transform == Transform::kBucketChains ? 1.15 : 1;
  const double rows = (static_cast<double>(shape.build_rows + shape.probe_rows) + reread) * reading;
  const double probed = plan.match == Match::kNestedLoop
                            ? compared_seconds(plan, shape, facts)
                            : per_second(rows, facts.shared_probe_rows_per_second);
  double computed =
      probed + per_second(static_cast<double>(shape.pairs), facts.emitted_pairs_per_second);
  const uint64_t further = shape.pairs - std::min(shape.pairs, shape.matching_rows);
  computed += per_second(static_cast<double>(further), facts.further_pairs_per_second);
  // A table full of one key: whoever meets it writes its rows in as many rounds, alone.
  const double heavy_build =
      shape.sample.heaviest_build_key * static_cast<double>(shape.build_rows);
  constexpr double kRoom = kernels::kCoPartitionBuildRows;
  if (heavy_build > kRoom) computed += kRoom * kRoundSeconds;
  computed += straggler_seconds(plan, shape, probed, facts);
  Cost cost = {moved, std::max(stream_seconds(moved, facts), computed), 5};
  return cost += output_cost(plan, shape, row_ids, probed, facts);
}

}  // namespace gpujoin::plan
