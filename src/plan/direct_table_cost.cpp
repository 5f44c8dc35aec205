// direct_table_cost.cpp: bytes and seconds of a table of dense keys.
#include <algorithm>
#include <cmath>

#include "kernels/limits.hpp"
#include "src/plan/sample_rule.hpp"
#include "src/plan/table_cost.hpp"

namespace gpujoin::plan {

namespace traffic = base::traffic;
using traffic::Traffic;

uint64_t direct_places(const JoinShape& shape) {
  const SampleStatistics& sample = shape.sample;
  if (!sample.sampled) return shape.build_rows;
  if (sample.build_range.low > sample.build_range.high) return 0;
  const uint64_t steps =
      steps_between(sample.build_range.low, sample.build_range.high, sample.varying_key_bits);
  return steps < traffic::most_direct_places(shape.build_rows) ? steps + 1 : 0;
}

namespace {

// What a place has: a column each, or all of a row side by side.
struct PlaceRow {
  uint64_t columns;
  uint64_t width;
};
PlaceRow place_row(const JoinPlan& plan, const JoinShape& shape) {
  const GatheredColumns gathered = gathered_columns(shape, plan, true);
  const uint64_t packed = gathered.count > 1 ? gathered.packed_bytes(0, shape.build_rows) : 0;
  return {packed != 0 ? 1 : gathered.count, std::max(gathered.width, packed)};
}

// Bytes of the places between two keys so far apart. Infinite: they may be anywhere.
double bytes_apart(const JoinPlan& plan, const JoinShape& shape, uint64_t places, int32_t bits) {
  constexpr int32_t kMostBits = 60;
  const SampleStatistics& sample = shape.sample;
  if (!sample.sampled || places == 0 || bits > kMostBits) return HUGE_VAL;
  const double keys = width_of(sample.build_range.low, sample.build_range.high);
  const double distance =
      static_cast<double>(uint64_t{1} << bits) * static_cast<double>(places) / keys;
  return distance * static_cast<double>(std::max<uint64_t>(place_row(plan, shape).width, 1));
}

// Whether the places of rows that blocks work on at a time are no more than a slice: in order they
// are as far apart as rows so far from each other, in no order as rows next to each other and what
// comes to all of them. Bits of a distance are rounded up, to one and a half times as much on
// average; and what a place further on has is asked for later. Where both sides lie in order no
// place is asked for again, however far the next one is.
bool lies_near(const JoinPlan& plan, const JoinShape& shape, uint64_t places) {
  if (shape.sample.lies_in_order && places != 0) return true;
  const double in_order = bytes_apart(plan, shape, places, shape.sample.neighbour_bits) *
                          kRowsAtOnce / static_cast<double>(kNeighbourRows);
  const double of_all = kRowsAtOnce * static_cast<double>(place_row(plan, shape).width * places) /
                        static_cast<double>(shape.build_rows);
  const double shuffled = is_shuffled_within_blocks(shape)
                              ? bytes_apart(plan, shape, places, shape.sample.next_bits) + of_all
                              : HUGE_VAL;
  return std::min(in_order, shuffled) / 2 <= static_cast<double>(kernels::kDirectSliceBytes);
}

// Of the table in shared memory, on average.
double slices_of_tile(const JoinPlan& plan, const JoinShape& shape, uint64_t places,
                      const base::DeviceFacts& facts) {
  const double row = static_cast<double>(place_row(plan, shape).width * places) /
                     static_cast<double>(shape.build_rows);
  const double apart = bytes_apart(plan, shape, places, shape.sample.next_bits);
  return 1 + (apart + kernels::kNearTile * row) / static_cast<double>(facts.shared_bytes_per_block);
}

// Whether the places of a warp's rows share sectors: what is near and in no order takes an access
// a row, as any row in L2 does.
bool lies_in_order(const JoinPlan& plan, const JoinShape& shape, uint64_t places) {
  return shape.sample.lies_in_order ||
         bytes_apart(plan, shape, places, shape.sample.next_bits) <= 2 * traffic::kSectorBytes;
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
// Of bits alone, keys of 13, 33 and 134 million rows in 4, 4 and 16 MiB: 15, 16 and 16 ps a row
// where they are looked at first, 10 where they are not, and 5 of each that asks.
constexpr double kBitStore = 0.33;
constexpr double kBitStoreOfMany = 0.5;
constexpr double kBitReads = 0.9;
constexpr double kBitReadsBesideValues = 0.3;
constexpr int32_t kDirectBuildLaunches = 6;  // and the wait for the keys' range
// Tables of few rows are of 4 bytes a place, stored by an exchange: of the time that 8 bytes take.
// H200, pairs of 10^6 x 10^6 rows: 44 us, hashed keys 62.
constexpr double kSmallExchange = 0.45;
constexpr int32_t kSmallBuildLaunches = 2;

// Columns of 1 and 2 bytes that lie side by side at their places: put together, taken apart, and
// written in less than sectors, each by itself. H200, 10^6 x 10^8 rows with one, two and four of 1
// byte a side 0.86, 1.14 and 1.70 ms, of 2 bytes 0.91, 1.20 and 1.85; 10^7 x 10^7 0.43, 0.45 and
// 0.58.
double narrow_seconds(const JoinPlan& plan, const JoinShape& shape) {
  constexpr double kPlaced = 4e-12;
  constexpr double kWritten = 1.05e-12;
  const GatheredColumns build = gathered_columns(shape, plan, true);
  const GatheredColumns probe = gathered_columns(shape, plan, false);
  const auto narrow = [](const GatheredColumns& columns) {
    return static_cast<double>(columns.values.ones + columns.values.twos);
  };
  const bool are_apart = place_row(plan, shape).columns == build.count;
  if (narrow(build) == 0 || are_apart || is_one_launch(shape)) return 0;
  return kPlaced * narrow(build) * static_cast<double>(shape.build_rows) +
         kWritten * (narrow(build) + narrow(probe)) * static_cast<double>(shape.pairs);
}

// Bytes of the places that probe rows near each other ask for.
double window_bytes(const JoinPlan& plan, const JoinShape& shape, uint64_t places) {
  return bytes_apart(plan, shape, places, shape.sample.probe_neighbour_bits);
}

// Whether a multiprocessor's own cache holds those that it asks for at a time.
bool fits_first_cache(double window) {
  constexpr double kFirstCacheBytes = 128 << 10;
  return window <= kFirstCacheBytes;
}

// Reads of such places.
// H200, 2*10^5 x 1.5*10^8 rows with four columns of 8 bytes, shuffled in blocks whose places are 50
// and 400 KB: 1.76 and 3.88 ms; in no order, 7 MB, 4.4.
double reads_by_window(double window, double reads) {
  constexpr double kFirstCacheReads = 0.15;
  return fits_first_cache(window) ? kFirstCacheReads * reads : reads;
}

// Of the window, what there is of it in L2.
uint64_t cached_bytes(double window, uint64_t places, uint64_t row_width) {
  return rounded(std::min(window, static_cast<double>(places * row_width)));
}

// Whether slices of the table fit shared memory: see place_rows.hpp.
bool fits_slices(const JoinShape& shape, const PlaceRow& row, uint64_t places, bool near,
                 const base::DeviceFacts& facts) {
  // Of a side of which a part was looked at the range may be a little wider.
  const bool is_dense = shape.build_rows <= places + places / 64;
  const bool is_word = row.columns == 1 && (row.width == 4 || row.width == 8 || row.width == 16);
  const uint64_t most = near ? kernels::kMostNearSlices : kernels::kMostPlaceSlices;
  const uint64_t slice = places / most * (8 * row.width + 1) / 8;
  return is_dense && is_word && shape.build_rows >= kernels::kLeastPlacedBySlices &&
         slice < facts.shared_bytes_per_block;
}

// Whether rows go to their places through them.
bool places_by_slices(const JoinShape& shape, const PlaceRow& row, uint64_t places, bool near,
                      const base::DeviceFacts& facts) {
  return fits_slices(shape, row, places, near, facts) && places <= 2 * shape.build_rows;
}

// Buckets of rows and their places are written and read between. H200: 16 ps a row of 4 bytes, 25
// of 8, where their bytes take 7 and 11; where rows near each other have places near each other, 14
// and 19.
Cost place_by_slices(const JoinShape& shape, const PlaceRow& row, uint64_t places, bool near,
                     const base::DeviceFacts& facts) {
  const double slowdown = near ? 1.7 : 2.3;
  const Traffic moved = {shape.build_rows * (2 * shape.key_width + row.width) +
                             shape.build_rows * 2 * (traffic::kRowIdBytes + row.width) +
                             places * row.width + places / 8,
                         0};
  return {moved, slowdown * stream_seconds(moved, facts), kDirectBuildLaunches};
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
      plan.neighbours != PlacesOfNeighbours::kAnywhere
          ? 1
          : std::max<uint64_t>(1, (places * width + kSliceBytes - 1) / kSliceBytes);
  const double words = static_cast<double>(1 + std::max(columns, (width + 3) / 4));
  const double stores =
      build * (is_small ? kSmallExchange
               : row.columns == 0
                   ? (shape.keys_repeat ? kBitStoreOfMany : kBitStore)
                   : words * kDirectStore * (1 + kFurtherSlice * static_cast<double>(slices - 1)));
  Cost cost = {moved, stream_seconds(moved, facts) + insert_seconds(stores, slice, facts),
               is_small ? kSmallBuildLaunches : kDirectBuildLaunches};
  if (!is_small && places_by_slices(shape, row, places, false, facts)) {
    cost = place_by_slices(shape, row, places, false, facts);
  }
  const double probe = static_cast<double>(shape.probe_rows);
  // Whether a place is taken is asked where not all are, or keys may repeat. The bits are few.
  const bool may_be_free =
      (row.columns == 0 && shape.keys_repeat) || places > shape.build_rows + shape.build_rows / 64;
  const double asked = is_small || may_be_free ? probe : 0;
  const double asking = is_small || row.columns != 0 ? kBitReadsBesideValues : kBitReads;
  const double values = static_cast<double>(shape.pairs * (is_small ? gathered.count : columns));
  double reads = slice > kSliceBytes / 2 ? kFullSliceReads * kDirectReads : kDirectReads;
  if (!is_small) reads = reads_by_window(window_bytes(plan, shape, places), reads);
  cost += probe_columns(plan, shape, asking * asked, values, slice, reads_by_order(shape, reads),
                        facts);
  const uint64_t read = read_width(shape, shape.probe);
  cost.seconds +=
      static_cast<double>(slices - 1) *
      (probe * kSliceSecondsPerRow + stream_seconds({shape.probe_rows * read, 0}, facts));
  return cost;
}

// Where neighbours have neighbouring places, all of it is read and written once, as it lies, or of
// few pairs a sector of the table each. Rows that have all places in their order stay where they
// are.
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
  const uint64_t sectors = traffic::kSectorBytes * (stays ? row.columns : 1);
  asked.streamed +=
      std::min(places * row.width, shape.pairs * std::max<uint64_t>(row.width, sectors));
  const Traffic streams = {asked.streamed - unread_bytes(shape), 0};
  // The bits of places are set one by one, unless all are taken. H200, 1.5*10^7 rows without
  // columns that lie in order, a third of the places: 0.19 ms.
  const double marks = stays ? 0 : kDirectStore * static_cast<double>(shape.build_rows);
  Cost cost = {placed, stream_seconds(placed, facts) + insert_seconds(marks, places / 8, facts),
               kDirectBuildLaunches};
  // H200, 3.8*10^7, 1.9*10^8 and, pairs, 2*10^8 probe rows: 0.62, 2.96 and 0.78 ms, where their
  // bytes take 0.42, 2.51 and 0.55.
  constexpr double kSlowdown = 1.05;
  constexpr int32_t kProbeLaunches = 4;
  // Rows of a side that nobody scanned may have places that are not quite in their order.
  constexpr double kUnscanned = 1.03;
  return cost += {asked,
                  kSlowdown * (shape.is_scanned ? 1 : kUnscanned) * stream_seconds(streams, facts) +
                      kTableRowSeconds * static_cast<double>(shape.probe_rows),
                  kProbeLaunches};
}

// From where they lie: tiles are read for each slice of their places. H200, 10^8 rows of 4 + 8
// bytes, columns of 4, shuffled in blocks of 4096 and 65536 rows: 0.78 and 1.12 ms, where their
// bytes take 0.65 and 1.22.
Cost place_from_tiles(const JoinPlan& plan, const JoinShape& shape, const PlaceRow& row,
                      uint64_t places, const base::DeviceFacts& facts) {
  constexpr double kSlowdown = 1.05;
  constexpr int32_t kTileLaunches = 1;
  const uint64_t keys = shape.build_rows * shape.key_width;
  const uint64_t rows = keys + shape.build_rows * row.width;
  const double read = slices_of_tile(plan, shape, places, facts) * static_cast<double>(rows);
  const Traffic moved = {keys + rounded(read) + places * row.width + places / 8, 0};
  return {moved, kSlowdown * stream_seconds(moved, facts), kDirectBuildLaunches + kTileLaunches};
}

// Where neighbours have places near each other in no order: build rows are placed from where they
// lie or through buckets, and what a probe row reads is in L2.
Cost shuffled_columns(const JoinPlan& plan, const JoinShape& shape, uint64_t places,
                      const base::DeviceFacts& facts) {
  // H200, the probe of 10^8 x 10^8 rows shuffled in blocks of 65536 and 5*10^5 rows of 8 bytes:
  // 1.23 and 1.3 ms, where streams take 0.95; in blocks of 65536 rows of 16 bytes 1.9. By a stride
  // 10^6 and 4*10^6 rows took 1.63 and 2.12.
  constexpr double kShuffledReads = 0.3;
  constexpr double kLargeWindow = 2.5;
  constexpr double kWideRow = 1.5;
  const PlaceRow row = place_row(plan, shape);
  const bool from_tiles = plan.neighbours == PlacesOfNeighbours::kInFewSlices;
  const bool fits = from_tiles ? fits_slices(shape, row, places, true, facts)
                               : places_by_slices(shape, row, places, true, facts);
  if (!fits) return direct_columns(plan, shape, places, facts);
  Cost cost = from_tiles ? place_from_tiles(plan, shape, row, places, facts)
                         : place_by_slices(shape, row, places, true, facts);
  const double asked =
      places > shape.build_rows + shape.build_rows / 64 ? static_cast<double>(shape.probe_rows) : 0;
  const uint64_t in_cache = cached_bytes(window_bytes(plan, shape, places), places, row.width);
  const double reads = kShuffledReads * (row.width > 8 ? kWideRow : 1) *
                       (in_cache > kernels::kDirectSliceBytes / 4 ? kLargeWindow : 1);
  cost += probe_columns(plan, shape, 0.3 * asked, static_cast<double>(shape.pairs), in_cache, reads,
                        facts);
  const Traffic table = {std::min(places, shape.pairs) * row.width, 0};
  cost.seconds += stream_seconds(table, facts);
  return cost;
}

// Build rows stay where they lie, and a column is an access at random by itself.
Cost unplaced_columns(const JoinPlan& plan, const JoinShape& shape, uint64_t places,
                      const base::DeviceFacts& facts) {
  const GatheredColumns gathered = gathered_columns(shape, plan, true);
  const double window = window_bytes(plan, shape, places);
  const Traffic looked = {shape.build_rows * shape.key_width, 0};
  Cost cost = {looked, stream_seconds(looked, facts), kDirectBuildLaunches};
  return cost += probe_columns(plan, shape, 0, static_cast<double>(shape.pairs * gathered.count),
                               cached_bytes(window, places, gathered.width),
                               reads_by_window(window, kDirectReads), facts);
}

}  // namespace

void set_neighbours(const PlanRequest& request, const SampleStatistics& sample,
                    const base::DeviceFacts& facts, JoinPlan* plan) {
  plan->neighbours = PlacesOfNeighbours::kAnywhere;
  plan->rows_stay = plan->asks_near = false;
  if (plan->match != Match::kDirectTable || !sample.sampled) return;
  const JoinShape shape = shape_of(*plan, request, sample);
  const uint64_t places = direct_places(shape);
  if (is_one_launch(shape) || !lies_near(*plan, shape, places)) return;
  plan->neighbours = slices_of_tile(*plan, shape, places, facts) <= kernels::kMostNearVisits
                         ? PlacesOfNeighbours::kInFewSlices
                         : PlacesOfNeighbours::kNear;
  plan->asks_near = fits_first_cache(window_bytes(*plan, shape, places));
  const bool may_stay = shape.sample.build_in_order && places <= shape.build_rows;
  plan->rows_stay = lies_in_order(*plan, shape, places) ||
                    (may_stay && unplaced_columns(*plan, shape, places, facts).seconds <
                                     shuffled_columns(*plan, shape, places, facts).seconds);
}

Cost direct_table_cost(const JoinPlan& plan, const JoinShape& shape, uint64_t places,
                       const base::DeviceFacts& facts) {
  const bool anywhere = plan.neighbours == PlacesOfNeighbours::kAnywhere;
  if (!anywhere && lies_in_order(plan, shape, places)) {
    return near_columns(plan, shape, places, facts);
  }
  if (!anywhere && plan.rows_stay) return unplaced_columns(plan, shape, places, facts);
  Cost cost = anywhere ? direct_columns(plan, shape, places, facts)
                       : shuffled_columns(plan, shape, places, facts);
  cost.seconds += narrow_seconds(plan, shape);
  return cost;
}

}  // namespace gpujoin::plan
