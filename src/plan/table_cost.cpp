// table_cost.cpp: bytes and seconds of a table of the whole build side.
#include <algorithm>
#include <cmath>
#include <optional>

#include "kernels/limits.hpp"
#include "src/plan/sample_rule.hpp"
#include "src/plan/stage_costs.hpp"

namespace gpujoin::plan {
namespace {

namespace traffic = base::traffic;
using traffic::Traffic;

uint64_t rounded(double value) { return static_cast<uint64_t>(std::llround(value)); }

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

// Places of dense build keys as far as was looked, build_rows where nobody looked; 0: they are too
// far apart.
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

// What a place has: a column each, or all of a row side by side.
struct PlaceRow {
  uint64_t columns;
  uint64_t width;
};
PlaceRow place_row(const JoinPlan& plan, const JoinShape& shape) {
  const GatheredColumns gathered = gathered_columns(shape, plan, true);
  const uint64_t packed = gathered.count > 1 ? gathered.packed_bytes(0) : 0;
  return {packed != 0 ? 1 : gathered.count, std::max(gathered.width, packed)};
}

// Rows that blocks work on at a time.
constexpr double kRowsAtOnce = 1 << 20;

// Bytes of the places between two keys so far apart. Infinite: they may be anywhere.
double bytes_apart(const JoinPlan& plan, const JoinShape& shape, uint64_t places, int32_t bits) {
  constexpr int32_t kMostBits = 60;
  const SampleStatistics& sample = shape.sample;
  if (!sample.sampled || places == 0 || bits > kMostBits) return HUGE_VAL;
  const double keys = static_cast<double>(sample.build_range.high) -
                      static_cast<double>(sample.build_range.low) + 1;
  const double distance =
      static_cast<double>(uint64_t{1} << bits) * static_cast<double>(places) / keys;
  return distance * static_cast<double>(std::max<uint64_t>(place_row(plan, shape).width, 1));
}

// Whether the places of rows that blocks work on at a time are no more than a slice. Bits of a
// distance are rounded up, to one and a half times as much on average; and what a place further on
// has is asked for later.
bool lies_near(const JoinPlan& plan, const JoinShape& shape, uint64_t places) {
  const double window = bytes_apart(plan, shape, places, shape.sample.neighbour_bits) *
                        kRowsAtOnce / static_cast<double>(kNeighbourRows);
  return window / 2 <= static_cast<double>(kernels::kDirectSliceBytes);
}

// Whether the places of a warp's rows share sectors: what is near and in no order takes an access
// a row, as any row in L2 does.
bool lies_in_order(const JoinPlan& plan, const JoinShape& shape, uint64_t places) {
  return bytes_apart(plan, shape, places, shape.sample.next_bits) <= 2 * traffic::kSectorBytes;
}

// Of a table that stays in L2 its reads and the streams overlap in part, less where a value is read
// after a slot. H200, 2^27 probe rows of 4 + 4 bytes with tables of 4, 16 and 32 MiB: 1.36, 1.38
// and 1.93 ms, two payloads a side 1.6, keys and payloads of 8 bytes 1.9; hashed keys 2.5.
constexpr double kDirectReads = 0.55;
// Beside a compare-and-swap of 8 bytes, the store of a word of a row, or of its bit. H200, all of
// dense joins of 3, 5 and 8 million rows on both sides 0.175, 0.25 and 0.40 ms, of which 35 ps a
// build row are stores; rows of 8 bytes 59 ps. Of 16 and 40 million rows, in two and five slices,
// 0.91 and 3.96 ms; of 2^25 x 2^27, in four, 4.65.
constexpr double kDirectStore = 0.43;
constexpr double kFurtherSlice = 0.7;
constexpr int32_t kDirectBuildLaunches = 6;  // and the wait for the keys' range
// H200, 2^27 probe rows with 2^16, 2^20, 2^21, 2^22 build rows: 4 + 4 bytes 1.22, 1.53, 1.90, 2.75
// ms, with two payloads 2.1, 2.7, 4.6, 7.4, keys and payloads of 8 bytes 2.1, 2.9, 6.9, 9.4.
constexpr double kHashedReads = 0.5;
// Of the longest sequence of a warp.
constexpr double kStepsOfSparseTable = 1.2;
constexpr double kStepsOfFullTable = 2;

// Tables of few rows are of 4 bytes a place or a slot, stored by an exchange or a compare-and-swap
// of as many: of the time that 8 bytes take. H200, pairs of 10^6 x 10^6 rows: dense keys 44 us,
// hashed ones 62 (8 bytes 66), of 1000 x 1000 rows 13 and 18: which is the host and the launch, and
// a barrier for each step of all blocks.
constexpr double kSmallExchange = 0.45;
constexpr double kSmallSwap = 0.65;
constexpr double kSmallHashedReads = 0.6;
constexpr int32_t kSmallBuildLaunches = 2;
constexpr int32_t kSmallHashLaunches = 3;

bool is_one_launch(const JoinShape& shape) {
  return shape.build_rows + shape.probe_rows <= kernels::kSmallTableRows;
}

// Neighbours of sides in order ask for the same slots. H200, 2*10^5 x 3*10^7 rows 0.27 ms in order,
// 0.39 by the rates of any order.
double hashed_reads(const JoinShape& shape, double reads) {
  constexpr double kInOrder = 0.4;
  return shape.sample.lies_in_order ? kInOrder * reads : reads;
}

// steps: of a lookup, which a warp waits for.
Cost probe_columns(const JoinPlan& plan, const JoinShape& shape, double lookups, double reads,
                   uint64_t table_bytes, double overlapped, const base::DeviceFacts& facts,
                   double steps = 1) {
  const uint64_t of_probe = gathered_columns(shape, plan, false).width;
  const uint64_t of_build = gathered_columns(shape, plan, true).width;
  // A key that is put out is read once all the same, and a probe row knows its number.
  const uint64_t read = read_width(shape, shape.probe);
  const Traffic moved = traffic::table_columns(shape.probe_rows, read, rounded(lookups),
                                               rounded(reads), of_build + of_probe, shape.pairs);
  // Rows are written in chunks, whose holes are filled; few rows in one launch.
  const int32_t launches = is_one_launch(shape) ? 1 : 4;
  const double seconds = overlapped * read_seconds(steps * lookups + reads, table_bytes, facts) *
                         missed_share(shape.sample);
  return {moved, stream_seconds(moved, facts) + seconds, launches};
}

// Whether rows go to their places through slices in shared memory: see place_by_slices.hpp.
bool places_by_slices(const JoinShape& shape, const PlaceRow& row, uint64_t places,
                      const base::DeviceFacts& facts) {
  // Of a side of which a part was looked at the range may be a little wider.
  const bool is_dense = shape.build_rows <= places + places / 64 && places <= 2 * shape.build_rows;
  const bool is_word = row.columns == 1 && (row.width == 4 || row.width == 8 || row.width == 16);
  const uint64_t slice = places / kernels::kMostPlaceSlices * (8 * row.width + 1) / 8;
  return is_dense && is_word && shape.build_rows >= kernels::kLeastPlacedBySlices &&
         slice < facts.shared_bytes_per_block;
}

// Buckets of rows and their places are written and read between. H200: 16 ps a row of 4 bytes, 25
// of 8, where their bytes take 7 and 11.
Cost place_by_slices(const JoinShape& shape, const PlaceRow& row, uint64_t places,
                     const base::DeviceFacts& facts) {
  constexpr double kSlowdown = 2.3;
  const Traffic moved = {shape.build_rows * (2 * shape.key_width + row.width) +
                             shape.build_rows * 2 * (traffic::kRowIdBytes + row.width) +
                             places * row.width + places / 8,
                         0};
  return {moved, kSlowdown * stream_seconds(moved, facts), kDirectBuildLaunches};
}

Cost direct_columns(const JoinPlan& plan, const JoinShape& shape, uint64_t places,
                    const base::DeviceFacts& facts) {
  // Each further slice reads the probe side again. H200, 2^27 probe rows: 0.22 ms of keys alone,
  // 0.35 and 0.46 with one and two payloads. Slices that fill L2 leave less of it to the streams:
  // tables of 16 and 32 MiB 1.27 and 1.72 ms, 1.59 and 2.27 with two payloads.
  constexpr double kSliceSecondsPerRow = 0.75e-12;
  constexpr double kFullSliceReads = 1.35;
  constexpr uint64_t kSliceBytes = kernels::kDirectSliceBytes;
  const bool is_small = is_one_launch(shape);
  const GatheredColumns gathered = gathered_columns(shape, plan, true);
  const PlaceRow row = place_row(plan, shape);
  // Of few rows the row's number, and the columns where they are.
  const uint64_t columns = is_small ? 1 : row.columns;
  const uint64_t width = is_small ? traffic::kRowIdBytes : row.width;
  const double build = static_cast<double>(shape.build_rows);
  const Traffic moved =
      traffic::direct_table_build(shape.build_rows, shape.key_width, columns, width, places);
  const uint64_t slice = std::min(places * width, kSliceBytes);
  const uint64_t slices =
      plan.asks_as_a_whole
          ? 1
          : std::max<uint64_t>(1, (places * width + kSliceBytes - 1) / kSliceBytes);
  const double words = static_cast<double>(1 + std::max(columns, (width + 3) / 4));
  const double stores =
      build * (is_small
                   ? kSmallExchange
                   : words * kDirectStore * (1 + kFurtherSlice * static_cast<double>(slices - 1)));
  Cost cost = {moved, stream_seconds(moved, facts) + insert_seconds(stores, slice, facts),
               is_small ? kSmallBuildLaunches : kDirectBuildLaunches};
  if (!is_small && places_by_slices(shape, row, places, facts)) {
    cost = place_by_slices(shape, row, places, facts);
  }
  const double probe = static_cast<double>(shape.probe_rows);
  // Whether a place is taken is asked where not all are. The bits are few.
  const double asked = is_small || places > shape.build_rows + shape.build_rows / 64 ? probe : 0;
  const double values = static_cast<double>(shape.pairs * (is_small ? gathered.count : columns));
  const double reads = slice > kSliceBytes / 2 ? kFullSliceReads * kDirectReads : kDirectReads;
  cost += probe_columns(plan, shape, 0.3 * asked, values, slice, reads, facts);
  const uint64_t read = read_width(shape, shape.probe);
  cost.seconds +=
      static_cast<double>(slices - 1) *
      (probe * kSliceSecondsPerRow + stream_seconds({shape.probe_rows * read, 0}, facts));
  return cost;
}

// Where neighbours have neighbouring places, all of it is read and written once, as it lies. Rows
// that have all places in their order stay where they are.
Cost near_columns(const JoinPlan& plan, const JoinShape& shape, uint64_t places,
                  const base::DeviceFacts& facts) {
  const PlaceRow row = place_row(plan, shape);
  Traffic placed =
      traffic::direct_table_build(shape.build_rows, shape.key_width, 0, row.width, places);
  const bool stays = shape.sample.lies_in_order && places <= shape.build_rows;
  placed.streamed =
      stays ? shape.build_rows * shape.key_width : placed.streamed + places * row.width;
  placed.random = 0;
  const uint64_t output =
      gathered_columns(shape, plan, true).width + gathered_columns(shape, plan, false).width;
  const uint64_t read = read_width(shape, shape.probe);
  Traffic asked = traffic::table_columns(shape.probe_rows, read, 0, 0, output, shape.pairs);
  asked.streamed += std::min(places, shape.pairs) * row.width;
  Cost cost = {placed, stream_seconds(placed, facts), kDirectBuildLaunches};
  constexpr int32_t kProbeLaunches = 4;
  return cost += {asked, stream_seconds(asked, facts), kProbeLaunches};
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
                       slots_bytes + read, hashed_reads(shape, kSmallHashedReads), facts);
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
  return cost += probe_columns(plan, shape, static_cast<double>(shape.probe_rows), 0, bytes,
                               hashed_reads(shape, kHashedReads), facts,
                               is_sparse ? kStepsOfSparseSlots : kStepsOfFullSlots);
}

Cost hashed_columns(const JoinPlan& plan, const JoinShape& shape, const base::DeviceFacts& facts) {
  if (is_one_launch(shape)) return small_hashed_columns(plan, shape, facts);
  const GatheredColumns gathered = gathered_columns(shape, plan, true);
  // Read at random beside the slot: a key of 8 bytes, to be compared, and columns; a lone value of
  // 4 bytes is in the slot, as a row's number is.
  const bool in_slot = shape.key_width == 4 && gathered.count == 1 && gathered.width == 4;
  const bool fits_slot = gathered.count > 0 && gathered.packed_bytes(shape.key_width) != 0;
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
  return cost +=
         probe_columns(plan, shape, static_cast<double>(shape.probe_rows),
                       static_cast<double>(shape.pairs) * static_cast<double>(read.count),
                       bytes + shape.build_rows * read.width, hashed_reads(shape, kHashedReads),
                       facts, is_sparse ? kStepsOfSparseTable : kStepsOfFullTable);
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

bool asks_as_a_whole(const JoinPlan& plan, const PlanRequest& request,
                     const SampleStatistics& sample) {
  if (plan.match != Match::kDirectTable || !sample.sampled) return false;
  const JoinShape shape = shape_of(plan, request, sample);
  return !is_one_launch(shape) && lies_near(plan, shape, direct_places(shape));
}

// A table whose probe rows write the output columns. With repeated keys it is in vain: another join
// follows, which is taken for one by pairs.
Cost table_columns_cost(const JoinPlan& plan, const JoinShape& shape,
                        const base::DeviceFacts& facts) {
  const uint64_t places = plan.match == Match::kDirectTable ? direct_places(shape) : 0;
  Cost cost = places == 0 ? scattered_keys(plan, shape, facts).cost
              : plan.asks_as_a_whole && lies_in_order(plan, shape, places)
                  ? near_columns(plan, shape, places, facts)
                  : direct_columns(plan, shape, places, facts);
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
