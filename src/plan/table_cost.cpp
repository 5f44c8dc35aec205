// table_cost.cpp: bytes and seconds of a table of the whole build side.
#include <algorithm>
#include <cmath>
#include <optional>

#include "src/plan/sample_rule.hpp"
#include "src/plan/table_cost.hpp"

namespace gpujoin::plan {
namespace {

namespace traffic = base::traffic;
using traffic::Traffic;

Cost build_table(const JoinShape& shape, const base::DeviceFacts& facts) {
  const Traffic moved = traffic::global_table_build(shape.build_rows, shape.key_width);
  const double rows = static_cast<double>(shape.build_rows);
  double inserts = insert_seconds(rows, traffic::global_table_bytes(shape.build_rows), facts);
  if (shape.key_width > 4) inserts += read_seconds(rows, shape.build_rows * shape.key_width, facts);
  return {moved, stream_seconds(moved, facts) + inserts, 3};
}

Cost probe_table(const JoinShape& shape, const base::DeviceFacts& facts) {
  const double build = static_cast<double>(shape.build_rows);
  const double probe = static_cast<double>(shape.probe_rows);
  const double pairs = static_cast<double>(shape.pairs);
  // A key of 8 bytes is verified in its column.
  const double verified = shape.key_width > 4 ? 1 : 0;
  const uint64_t keys = shape.key_width > 4 ? shape.build_rows * shape.key_width : 0;
  const uint64_t table = traffic::global_table_bytes(shape.build_rows) + keys;
  const double emitted = per_second(pairs, facts.emitted_pairs_per_second);
  if (!has_duplicates(shape)) {
    const Traffic moved =
        traffic::global_table_probe(shape.probe_rows, shape.key_width, shape.pairs);
    const double reads = read_seconds(probe * kReadsPerProbe, table, facts) +
                         read_seconds(pairs * verified, table, facts);
    // Pairs are counted by the host before they are gathered: 7*10^5 x 2*10^6 pairs 0.100 ms, 0.086
    // by columns.
    return {moved, std::max({stream_seconds(moved, facts), reads, emitted}), 4};
  }
  const Traffic moved =
      traffic::global_table_group(shape.build_rows, shape.probe_rows, shape.key_width, shape.pairs);
  const uint64_t ids = shape.build_rows * traffic::kRowIdBytes;
  const double looked_up = read_seconds((build + probe) * kReadsPerProbe, table, facts) +
                           read_seconds((build + probe) * verified, table, facts);
  const double counted_and_placed = 2 * insert_seconds(build, ids, facts);
  const double ranges = read_seconds(build + probe, ids, facts);
  return {moved, stream_seconds(moved, facts) + looked_up + counted_and_placed + ranges + emitted,
          11};
}

// H200, 2^27 probe rows with 2^16, 2^20, 2^21, 2^22 build rows: 4 + 4 bytes 1.22, 1.53, 1.90, 2.75
// ms, with two payloads 2.1, 2.7, 4.6, 7.4, keys and payloads of 8 bytes 2.1, 2.9, 6.9, 9.4.
constexpr double kHashedReads = 0.5;
// Of the longest sequence of a warp.
constexpr double kStepsOfSparseTable = 1.2;
constexpr double kStepsOfFullTable = 2;

// Tables of few rows are of 4 bytes a slot, stored by a compare-and-swap of as many: of the time
// that 8 bytes take. H200, pairs of 10^6 x 10^6 rows: 62 us (8 bytes 66), dense keys 44, of 1000 x
// 1000 rows 18 and 13: which is the host and the launch, and a barrier for each step of all blocks.
constexpr double kSmallSwap = 0.65;
constexpr double kSmallHashedReads = 0.6;
constexpr int32_t kSmallHashLaunches = 3;

// Of a probe row that is looked up, beside its bytes, where found rows wait in a buffer.
constexpr double kBufferedRowSeconds = 1.7e-12;

// The share of the build keys that rows which blocks work on at a time have; 1: any, or unknown.
double keys_at_once(const JoinShape& shape) {
  const double in_order = keys_between(shape.sample, kRowsAtOnce);
  if (!is_shuffled_within_blocks(shape)) return in_order;
  const double shuffled = share_between(shape.sample, shape.sample.next_bits) +
                          kRowsAtOnce / static_cast<double>(shape.probe_rows);
  return std::min(in_order, shuffled);
}

// The part of reads by hashes, each of a sector, that a probe waits for: a multiprocessor's own
// cache holds what rows near each other ask for again. H200, by sectors that 2^16 rows ask for:
// hardly any to 128 KB 0.14 to 0.35, 0.2 on average, of 1 to 4 MB 0.25 to 0.45. 3*10^7 sorted rows
// ask 18 362 others with three columns of 8 bytes in 0.32 ms, 0.63 by the rates of any order.
double hashed_reads(const JoinShape& shape, double reads, uint64_t columns) {
  constexpr double kFirstCacheBytes = 128 << 10;
  constexpr double kOfFirstCache = 0.44;
  constexpr double kOctaves = 6;  // until nothing is asked for again in time
  const double in_order = reads_by_order(shape, reads);
  const double keys = keys_between(shape.sample, static_cast<double>(kNeighbourRows));
  if (keys > kKeysOfAnyOrder) return in_order;
  const double build = static_cast<double>(shape.build_rows);
  const double sectors =
      keys_asked_at_once(shape.sample, build) + keys * build * static_cast<double>(columns);
  const double octaves = std::log2(sectors * traffic::kSectorBytes / kFirstCacheBytes);
  const double beyond = std::clamp(octaves / kOctaves, 0.0, 1.0);
  return std::min(in_order, reads * (kOfFirstCache + (1 - kOfFirstCache) * beyond));
}

// Of a table those bytes that rows which blocks work on at a time ask for: near rows have near
// keys, which have slots anywhere. H200, 2.5*10^6 x 1.4*10^8 rows shuffled in blocks of 2048 rows
// 2.3 ms, in no order 5.6 by the rates.
uint64_t bytes_at_once(const JoinShape& shape, uint64_t table_bytes) {
  return rounded(keys_at_once(shape) * static_cast<double>(table_bytes));
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
                       bytes_at_once(shape, slots_bytes + read),
                       hashed_reads(shape, kSmallHashedReads, gathered.count), facts);
}

// All columns of a row are in its slot, which is read again where the key is found.
Cost row_slot_columns(const JoinPlan& plan, const JoinShape& shape, const GatheredColumns& gathered,
                      const base::DeviceFacts& facts) {
  // Of a column, beside the compare-and-swap of the key. H200: 28 ps a row and column, of 7*10^5 x
  // 2*10^6 rows and of 10^6 x 1.6*10^7.
  constexpr double kSlotStore = 0.7;
  constexpr double kStepsOfSparseSlots = 1.6;
  constexpr double kStepsOfFullSlots = 2.6;
  const uint64_t bytes = traffic::row_slots(shape.build_rows) * traffic::kRowSlotBytes;
  const bool is_sparse = traffic::row_slots(shape.build_rows) >= 4 * shape.build_rows;
  const Traffic moved = traffic::row_slots_build(shape.build_rows, shape.key_width, gathered.width);
  const double stores = static_cast<double>(shape.build_rows) *
                        (1 + kSlotStore * static_cast<double>(gathered.count));
  Cost cost = {moved, stream_seconds(moved, facts) + insert_seconds(stores, bytes, facts), 3};
  return cost += probe_columns(plan, shape, static_cast<double>(shape.probe_rows), 0,
                               bytes_at_once(shape, bytes), hashed_reads(shape, kHashedReads, 0),
                               facts, is_sparse ? kStepsOfSparseSlots : kStepsOfFullSlots);
}

Cost hashed_columns(const JoinPlan& plan, const JoinShape& shape, const base::DeviceFacts& facts) {
  if (is_one_launch(shape)) return small_hashed_columns(plan, shape, facts);
  const GatheredColumns gathered = gathered_columns(shape, plan, true);
  // Read at random beside the slot: a key of 8 bytes, to be compared, and columns; a lone value of
  // 4 bytes is in the slot, as a row's number is.
  const bool in_slot = shape.key_width == 4 && gathered.count == 1 && gathered.width == 4;
  const bool fits_slot =
      gathered.count > 0 &&
      gathered.packed_bytes(shape.key_width, shape.build_rows) == traffic::kRowSlotBytes;
  if (!in_slot && fits_slot && traffic::fits_row_slots(shape.build_rows)) {
    return row_slot_columns(plan, shape, gathered, facts);
  }
  GatheredColumns read = in_slot ? GatheredColumns{} : gathered;
  if (shape.key_width > 4) {
    ++read.count;
    read.width += shape.key_width;
  }
  const bool is_sparse = traffic::is_sparse_pair_table(shape.build_rows, read.width);
  const uint64_t slots = traffic::pair_table_slots(shape.build_rows, read.width);
  const uint64_t bytes = slots * traffic::kTableSlotBytes;
  Cost cost = build_table(shape, facts);
  const uint64_t more_slots = bytes - traffic::global_table_bytes(shape.build_rows);
  const uint64_t values = in_slot ? shape.build_rows * gathered.width : 0;
  cost += streamed({more_slots + values, 0}, 0, facts);
  return cost += probe_columns(plan, shape, static_cast<double>(shape.probe_rows),
                               static_cast<double>(shape.pairs) * static_cast<double>(read.count),
                               bytes_at_once(shape, bytes + shape.build_rows * read.width),
                               hashed_reads(shape, kHashedReads, read.count), facts,
                               is_sparse ? kStepsOfSparseTable : kStepsOfFullTable);
}

// What becomes of keys that are no places, whose range is looked at in vain.
struct Scattered {
  Cost cost;
  std::optional<JoinPlan> in_parts;  // as it is then; else they are hashed
};

// Hashed, or, of a direct table that nobody named, joined in partitions where that takes less.
// Where a sample says so it is another plan that partitions at once.
Scattered scattered_keys(const JoinPlan& plan, const JoinShape& shape,
                         const base::DeviceFacts& facts) {
  constexpr int32_t kRangeLaunches = 2;
  Cost hashed = hashed_columns(plan, shape, facts);
  if (plan.match != Match::kDirectTable) return {hashed, {}};
  if (is_one_launch(shape)) {
    hashed.launches += shape.sample.sampled ? 1 : 0;  // a barrier
    return {hashed, {}};
  }
  hashed.launches += kRangeLaunches;
  const bool may_partition = !shape.sample.sampled && !shape.names_table;
  if (!may_partition || plan.filter != Filter::kNone) return {hashed, {}};
  auto [other, in_parts] = partitions_instead(plan, shape, facts);
  in_parts.launches += kRangeLaunches;
  const auto all_seconds = [&](const Cost& cost) {
    return cost.seconds + cost.launches * facts.launch_seconds;
  };
  // What they take is better known than what a table takes.
  constexpr double kBetterParts = 1.05;
  if (all_seconds(in_parts) >= kBetterParts * all_seconds(hashed)) return {hashed, {}};
  return {in_parts, other};
}

}  // namespace

bool is_shuffled_within_blocks(const JoinShape& shape) {
  const SampleStatistics& sample = shape.sample;
  const double keys = width_of(sample.build_range.low, sample.build_range.high);
  const double fewer = static_cast<double>(std::min(shape.build_rows, shape.probe_rows));
  const double between = static_cast<double>(kNeighbourRows) * keys / std::max(fewer, 1.0);
  // Bits of both distances are rounded up.
  return std::ldexp(1.0, sample.neighbour_bits) <=
         2 * (std::ldexp(1.0, sample.next_bits) + between);
}

double reads_by_order(const JoinShape& shape, double reads) {
  constexpr double kInOrder = 0.5;
  return shape.sample.lies_in_order ? kInOrder * reads : reads;
}

uint64_t unread_bytes(const JoinShape& shape) {
  uint64_t unread = 0;
  for (const int32_t width : shape.probe.payload_widths) {
    const uint64_t all = shape.probe_rows * static_cast<uint64_t>(width);
    unread +=
        all - std::min(all, shape.pairs * traffic::sector_bytes(static_cast<uint64_t>(width)));
  }
  return unread;
}

Cost probe_columns(const JoinPlan& plan, const JoinShape& shape, double lookups, double reads,
                   uint64_t table_bytes, double overlapped, const base::DeviceFacts& facts,
                   double steps) {
  const uint64_t of_probe = gathered_columns(shape, plan, false).width;
  const uint64_t of_build = gathered_columns(shape, plan, true).width;
  // A key that is put out is read once all the same, and a probe row knows its number.
  const uint64_t read = read_width(shape, shape.probe);
  const Traffic moved = traffic::table_columns(shape.probe_rows, read, rounded(lookups),
                                               rounded(reads), of_build + of_probe, shape.pairs);
  const Traffic streams = {moved.streamed - unread_bytes(shape), 0};
  // Rows are written in chunks, whose holes are filled; few rows in one launch.
  const int32_t launches = is_one_launch(shape) ? 1 : 4;
  const uint64_t asked = bytes_if_even(table_bytes, shape.sample.heavy_probe_share, facts);
  const double seconds =
      overlapped * read_seconds(steps * lookups + reads, asked, facts) * missed_share(shape.sample);
  // However little is read of a row its key is looked up, and where few match, those found wait in
  // a buffer. H200, pairs: 2*10^8 rows 0.79 ms, 10^8 0.45, of which 0.56 and 0.28 are streams;
  // 1.3*10^8 rows of which 3 % match 0.41, 1.7*10^8 of which 4 % do 0.47, 2.6*10^8 with keys of 8
  // bytes of which 1 % do 1.13. Where nobody knew how many match, and found rows do not wait, the
  // first took 0.82 and the last 1.36.
  constexpr double kFewMatch = 0.75;
  const double rows = static_cast<double>(shape.probe_rows);
  const bool few_match = static_cast<double>(shape.pairs) < kFewMatch * rows;
  const double least = rows * (few_match ? kBufferedRowSeconds : kTableRowSeconds);
  return {moved, stream_seconds(streams, facts) + std::max(seconds, least), launches};
}

bool leaves_scattered_keys(const JoinPlan& plan, const PlanRequest& request,
                           const base::DeviceFacts& facts, uint64_t memory_limit_bytes) {
  if (plan.match != Match::kDirectTable) return false;
  const JoinShape shape = shape_of(plan, request, SampleStatistics());
  const Scattered scattered = scattered_keys(plan, shape, facts);
  if (!scattered.in_parts) return false;
  return memory_limit_bytes == 0 || memory_need(*scattered.in_parts, shape) <= memory_limit_bytes;
}

bool has_duplicates(const JoinShape& shape) {
  return shape.sample.rows_per_match > 1.01 ||
         shape.sample.heaviest_build_key * static_cast<double>(shape.build_rows) > 1.5;
}

Cost global_table_cost(const JoinShape& shape, const base::DeviceFacts& facts) {
  Cost cost = build_table(shape, facts);
  return cost += probe_table(shape, facts);
}

// A table whose probe rows write the output columns. With repeated keys it is in vain, but for few
// rows: another join follows, which is taken for one by pairs.
Cost table_columns_cost(const JoinPlan& plan, const JoinShape& shape,
                        const base::DeviceFacts& facts) {
  const uint64_t places = plan.match == Match::kDirectTable ? direct_places(shape) : 0;
  Cost cost = places == 0 ? scattered_keys(plan, shape, facts).cost
                          : direct_table_cost(plan, shape, places, facts);
  if (places != 0 && !shape.sample.sampled) {
    // Keys are dense more often than not, and who tries in vain loses less than the others gain:
    // H200, 10^6 x 3*10^7 rows of dense keys 0.34 ms, hashed 0.41, of scattered ones 0.42 and 0.41;
    // 10^5 x 10^7 with two payloads 0.18, 0.21, 0.23 and 0.22.
    constexpr double kLikelyDense = 0.75;
    const Cost other = scattered_keys(plan, shape, facts).cost;
    const int32_t more = is_one_launch(shape) ? 0 : other.launches - cost.launches;
    cost.seconds = kLikelyDense * cost.seconds +
                   (1 - kLikelyDense) * (other.seconds + more * facts.launch_seconds);
  }
  if (has_duplicates(shape)) cost += global_table_cost(shape, facts);
  return cost;
}

}  // namespace gpujoin::plan
