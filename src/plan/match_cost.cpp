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

double insert_seconds(double rows, uint64_t table_bytes, const base::DeviceFacts& facts) {
  return random_seconds(rows, table_bytes, facts.random_inserts_per_second,
                        facts.l2_random_inserts_per_second, facts);
}

Cost build_table(const JoinShape& shape, const base::DeviceFacts& facts) {
  const Traffic moved = traffic::global_table_build(shape.build_rows, shape.key_width);
  const double rows = static_cast<double>(shape.build_rows);
  double inserts = insert_seconds(rows, traffic::global_table_bytes(shape.build_rows), facts);
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
  const double counted_and_placed = 2 * insert_seconds(build, ids, facts);
  const double ranges = read_seconds(build + probe, ids, facts);
  return {moved, stream_seconds(moved, facts) + looked_up + counted_and_placed + ranges + emitted,
          11};
}

// Places of dense build keys as far as was looked, build_rows where nobody looked; 0: they are too far apart.
uint64_t direct_places(const JoinShape& shape) {
  const SampleStatistics& sample = shape.sample;
  if (!sample.sampled) return shape.build_rows;
  if (sample.build_range.low > sample.build_range.high) return 0;
  uint64_t steps = static_cast<uint64_t>(sample.build_range.high) -
                   static_cast<uint64_t>(sample.build_range.low);
  const int32_t bits = sample.varying_key_bits;
  if (bits > 0 && bits < 64) steps = std::min(steps, (uint64_t{1} << bits) - 1);
  return steps < traffic::most_direct_places(shape.build_rows) ? steps + 1 : 0;
}

// Of a table that stays in L2 its reads and the streams overlap in part, less where a value is read after a slot. H200, 2^27 probe rows
// of 4 + 4 bytes with tables of 4, 16 and 32 MiB: 1.36, 1.38 and 1.93 ms, two payloads a side 1.6, keys and payloads of 8 bytes 1.9;
// hashed keys 2.5.
constexpr double kDirectReads = 0.55;
constexpr double kHashedReads = 0.6;

// Tables of few rows are of 4 bytes a place or a slot, stored by an exchange or a compare-and-swap of as many: of the time that 8 bytes
// take. H200, pairs of 10^6 x 10^6 rows: dense keys 44 us, hashed ones 62 (8 bytes 66), of 1000 x 1000 rows 13 and 18: which is the host
// and the launch, and a barrier for each step of all blocks.
constexpr double kSmallExchange = 0.45;
constexpr double kSmallSwap = 0.65;
constexpr int32_t kSmallBuildLaunches = 2;
constexpr int32_t kSmallHashLaunches = 3;

bool is_one_launch(const JoinShape& shape) {
  return shape.build_rows + shape.probe_rows <= kSmallTableRows;
}

Cost probe_columns(const JoinPlan& plan, const JoinShape& shape, double lookups, double reads,
                   uint64_t table_bytes, double overlapped, const base::DeviceFacts& facts) {
  const uint64_t of_probe = gathered_columns(shape, plan, false).width;
  const uint64_t of_build = gathered_columns(shape, plan, true).width;
  // A key that is put out is read once all the same, and a probe row knows its number.
  const uint64_t read = shape.key_width + sum_of(shape.probe.payload_widths);
  const Traffic moved = traffic::table_columns(shape.probe_rows, read, rounded(lookups),
                                               rounded(reads), of_build + of_probe, shape.pairs);
  // Rows are written in chunks, whose holes are squeezed out; few rows in one launch.
  const int32_t launches = is_one_launch(shape) ? 1 : 8;
  const double seconds =
      overlapped * read_seconds(lookups + reads, table_bytes, facts) * missed_share(shape.sample);
  return {moved, stream_seconds(moved, facts) + seconds, launches};
}

Cost direct_columns(const JoinPlan& plan, const JoinShape& shape, uint64_t places,
                    const base::DeviceFacts& facts) {
  // H200: each further slice of a table takes 2^27 probe rows 0.35 ms.
  constexpr double kSliceSecondsPerRow = 2.6e-12;
  constexpr uint64_t kSliceBytes = uint64_t{32} << 20;
  const bool is_small = is_one_launch(shape);
  const GatheredColumns gathered = gathered_columns(shape, plan, true);
  const bool is_packed = gathered.count > 1 && gathered.width <= 16;
  // A column each, or all of a row side by side; of few rows the row's number, and the columns where they are.
  const uint64_t columns = is_packed || is_small ? 1 : gathered.count;
  const uint64_t width = is_small ? traffic::kRowIdBytes : gathered.width;
  const double build = static_cast<double>(shape.build_rows);
  const Traffic moved =
      traffic::direct_table_build(shape.build_rows, shape.key_width, columns, width, places);
  const uint64_t slice = std::min(places * width, kSliceBytes);
  const uint64_t slices = std::max<uint64_t>(1, (places * width + kSliceBytes - 1) / kSliceBytes);
  const double stores = build * (is_small ? kSmallExchange : static_cast<double>(1 + columns));
  Cost cost = {moved, stream_seconds(moved, facts) + insert_seconds(stores, slice, facts),
               is_small ? kSmallBuildLaunches : 5};
  const double probe = static_cast<double>(shape.probe_rows);
  const double pairs = static_cast<double>(shape.pairs);
  // Whether a place is taken is asked where not all are. The bits are few.
  const double asked = is_small || places > shape.build_rows + shape.build_rows / 64 ? probe : 0;
  const double values = pairs * static_cast<double>(is_small ? gathered.count : columns);
  cost += probe_columns(plan, shape, 0.3 * asked, values, slice, kDirectReads, facts);
  cost.seconds += static_cast<double>(slices - 1) * probe * kSliceSecondsPerRow;
  return cost;
}

// Of few rows: a lookup sees four slots, and reads the key of the row that it finds there.
Cost small_hashed_columns(const JoinPlan& plan, const JoinShape& shape,
                          const base::DeviceFacts& facts) {
  const GatheredColumns gathered = gathered_columns(shape, plan, true);
  const uint64_t slots_bytes = traffic::global_table_bytes(shape.build_rows);
  const Traffic moved = traffic::small_hash_build(shape.build_rows, shape.key_width);
  const double swaps = kSmallSwap * static_cast<double>(shape.build_rows);
  Cost cost = {moved, stream_seconds(moved, facts) + insert_seconds(swaps, slots_bytes, facts),
               kSmallHashLaunches};
  const uint64_t read = shape.build_rows * (shape.key_width + gathered.width);
  return cost +=
         probe_columns(plan, shape, static_cast<double>(shape.probe_rows),
                       static_cast<double>(shape.pairs) * (1 + static_cast<double>(gathered.count)),
                       slots_bytes + read, kHashedReads, facts);
}

Cost hashed_columns(const JoinPlan& plan, const JoinShape& shape, const base::DeviceFacts& facts) {
  if (is_one_launch(shape)) return small_hashed_columns(plan, shape, facts);
  const GatheredColumns gathered = gathered_columns(shape, plan, true);
  const uint64_t table_bytes =
      traffic::global_table_bytes(shape.build_rows) + shape.build_rows * gathered.width;
  Cost cost = build_table(shape, facts);
  const double verified = shape.key_width > 4 ? 1 : 0;
  return cost += probe_columns(
             plan, shape, static_cast<double>(shape.probe_rows) * kReadsPerProbe,
             static_cast<double>(shape.pairs) * (verified + static_cast<double>(gathered.count)),
             table_bytes, kHashedReads, facts);
}

// A table whose probe rows write the output columns. With repeated keys it is in vain: another join follows, which is taken
// for one by pairs.
Cost table_columns_cost(const JoinPlan& plan, const JoinShape& shape,
                        const base::DeviceFacts& facts) {
  const uint64_t places = plan.match == Match::kDirectTable ? direct_places(shape) : 0;
  Cost cost =
      places != 0 ? direct_columns(plan, shape, places, facts) : hashed_columns(plan, shape, facts);
  if (places != 0 && !shape.sample.sampled) {
    // Dense or not is a toss.
    cost.seconds = (cost.seconds + hashed_columns(plan, shape, facts).seconds) / 2;
  }
  // Their range is looked at in vain, of few rows within the one launch.
  if (places == 0 && plan.match == Match::kDirectTable && shape.sample.sampled) {
    cost.launches += is_one_launch(shape) ? 1 : 3;
  }
  if (has_duplicates(shape)) {
    cost += build_table(shape, facts);
    cost += probe_table(shape, facts);
  }
  return cost;
}

// Probe rows read again because a build partition takes several tables.
double reread_rows(const JoinPlan& plan, const JoinShape& shape) {
  const double partitions = std::ldexp(1.0, partition_bits(plan, shape));
  const double build = static_cast<double>(shape.build_rows);
  const double probe = static_cast<double>(shape.probe_rows);
  const double room =
      static_cast<double>(plan.gather == Gather::kCarried ? kCarriedRoom : kPartitionRoom);
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
double page_seconds(int32_t page_pairs) {
  constexpr double kAtomic = 2.2e-11;
  constexpr double kSector = 0.5e-11;
  const double page = page_pairs == 0 ? 4 : page_pairs;
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
      const auto page = static_cast<uint64_t>(plan.page_pairs == 0 ? 4 : plan.page_pairs);
      const Traffic all = traffic::paged_pairs(shape.pairs, row_ids, kWriters, page);
      const Traffic once = {shape.pairs * traffic::pair_bytes(row_ids), 0};
      return {{all.streamed - once.streamed, 0},
              static_cast<double>(shape.pairs) * page_seconds(plan.page_pairs),
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
  const uint64_t key_bytes = shape.key_width * static_cast<uint64_t>(shape.key_count);
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

uint64_t row_width(const SideStatistics& side, const JoinShape& shape) {
  return shape.key_width + static_cast<uint64_t>(moved_row_width(side, shape.want_pairs));
}

// H200: 2^27 x 2^27 rows with 1, 2 and 4 payloads of 4 bytes a side 1.55, 2.1 and 3.5 ms, 2^22 x 2^27
// with one 1.1 ms, where their bytes take 0.88, 1.38, 2.38 and 0.63.
Cost carried_cost(const JoinPlan& plan, const JoinShape& shape, const base::DeviceFacts& facts) {
  constexpr double kSlowdown = 1.35;
  constexpr double kRowsFaster = 5;  // beside a table whose pairs are found and then written
  const uint64_t output_width =
      gathered_columns(shape, plan, true).width + gathered_columns(shape, plan, false).width;
  const double reread = reread_rows(plan, shape);
  const Traffic moved = traffic::carried_columns(
      shape.build_rows, row_width(shape.build, shape), shape.probe_rows + rounded(reread),
      row_width(shape.probe, shape), shape.pairs, output_width);
  const double rows = static_cast<double>(shape.build_rows + shape.probe_rows) + reread;
  const uint64_t further = shape.pairs - std::min(shape.pairs, shape.matching_rows);
  double seconds = kSlowdown * stream_seconds(moved, facts) +
                   per_second(rows, kRowsFaster * facts.shared_probe_rows_per_second) +
                   per_second(static_cast<double>(further), 3 * facts.further_pairs_per_second);
  // Units are counted and summed; the chunks' tails are sorted, summed and filled.
  constexpr int32_t kLaunches = 11;
  // The partition of a key with so many rows is left to another launch, for which units are counted again. How many rows it makes is known:
  // the sample counts the rows of hot keys.
  constexpr int32_t kLeftLaunches = 6;
  const double heavy_build =
      shape.sample.heaviest_build_key * static_cast<double>(shape.build_rows);
  return {moved, seconds, heavy_build > kPartitionRoom ? kLaunches + kLeftLaunches : kLaunches};
}

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
  if (probes_table(plan.match) && plan.gather == Gather::kCarried) {
    return table_columns_cost(plan, shape, facts);
  }
  if (plan.match == Match::kGlobalTable) {
    Cost cost = build_table(shape, facts);
    return cost += probe_table(shape, facts);
  }
  if (plan.match == Match::kRowMultiset) return multiset_cost(plan, shape, facts);
  if (plan.gather == Gather::kCarried) return carried_cost(plan, shape, facts);
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
  if (heavy_build > kPartitionRoom) computed += kPartitionRoom * kRoundSeconds;
  computed += straggler_seconds(plan, shape, probed, facts);
  Cost cost = {moved, std::max(stream_seconds(moved, facts), computed), 5};
  return cost += output_cost(plan, shape, row_ids, probed, facts);
}

}  // namespace gpujoin::plan
