// traffic.hpp: the bytes that each technique moves, read + written. The cost model, explain, the
// statistics of a result and the benchmarks all ask here.
//
// Logical bytes: a row that is read twice counts twice, whatever a cache does. A random access
// counts the 32-byte sectors that it touches, apart from the streamed bytes, since the two are paid
// for at different rates.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>

#include "kernels/limits.hpp"

namespace gpujoin::base::traffic {

inline constexpr uint64_t kSectorBytes = 32;  // the unit of a DRAM and of an L2 access
inline constexpr uint64_t kRowIdBytes = 4;
inline constexpr uint64_t kPairBytes = 8;       // two row ids
inline constexpr uint64_t kTableSlotBytes = 8;  // of the global table: key or tag, and row id
inline constexpr int32_t kBitsPerPass = 8;      // of one radix pass

struct Traffic {
  uint64_t streamed = 0;
  uint64_t random = 0;

  constexpr uint64_t bytes() const { return streamed + random; }
  constexpr Traffic& operator+=(const Traffic& other) {
    streamed += other.streamed;
    random += other.random;
    return *this;
  }
  friend constexpr Traffic operator+(Traffic a, const Traffic& b) { return a += b; }
  friend constexpr bool operator==(const Traffic&, const Traffic&) = default;
};

// Where neighbouring output rows come from: neighbouring input rows, or anywhere.
enum class Locality { kClustered, kRandom };

// The sectors under one access at a multiple of its width.
constexpr uint64_t sector_bytes(uint64_t width) {
  return (width + kSectorBytes - 1) / kSectorBytes * kSectorBytes;
}

constexpr uint64_t radix_passes(int32_t bits) {
  return static_cast<uint64_t>((bits + kBitsPerPass - 1) / kBitsPerPass);
}

// Over the host link: the bytes are those on the link.
constexpr Traffic host_copy(uint64_t rows, uint64_t width) { return {rows * width, 0}; }

// Of pageable memory through page-locked pieces, on the host's memory bus: read, written to a
// piece, and read from it by the link. On the link the bytes are those of host_copy.
constexpr Traffic staged_copy(uint64_t rows, uint64_t width) { return {rows * 3 * width, 0}; }

// Managed memory crosses the link in whole pages of this size at least, prefetched or faulted.
inline constexpr uint64_t kManagedPageBytes = 65536;
constexpr Traffic page_migration(uint64_t rows, uint64_t width) {
  const uint64_t pages = (rows * width + kManagedPageBytes - 1) / kManagedPageBytes;
  return {pages * kManagedPageBytes, 0};
}

// Read where it lies, over the link: so often the whole column, and so many values of it at random.
constexpr Traffic zero_copy(uint64_t rows, uint64_t width, uint64_t readings,
                            uint64_t random_values) {
  return {rows * width * readings, random_values * sector_bytes(width)};
}

// A probe side in chunks: its rows to the device, the result's rows back, on one link each way.
constexpr Traffic probe_chunks(uint64_t probe_rows, uint64_t probe_row_width, uint64_t output_rows,
                               uint64_t output_row_width) {
  return host_copy(probe_rows, probe_row_width) + host_copy(output_rows, output_row_width);
}

// Marks of rows by their numbers: a sector each, which most find in the cache.
constexpr uint64_t mark_rows(uint64_t rows) { return rows * (kRowIdBytes + kSectorBytes); }

// Rows behind others: both are read and written.
constexpr uint64_t append_rows(uint64_t rows, uint64_t width) { return rows * 2 * width; }

// Row numbers of both sides, written.
constexpr uint64_t cross_pairs(uint64_t rows) { return rows * kPairBytes; }

// Mixing: each key is read and its hash written.
constexpr Traffic mix_keys(uint64_t rows, uint64_t key_width) { return {rows * 2 * key_width, 0}; }

// Keys looked at once: which bits vary, where partitions begin.
constexpr Traffic read_keys(uint64_t rows, uint64_t key_width) { return {rows * key_width, 0}; }

// Row ids 0, 1, 2, ... to be moved with their keys.
constexpr Traffic write_row_ids(uint64_t rows) { return {rows * kRowIdBytes, 0}; }

// The histograms of all passes are counted in one read of the keys.
constexpr Traffic radix_histogram(uint64_t rows, uint64_t key_width) {
  return {rows * key_width, 0};
}

// One pass reads and writes keys and values once.
constexpr Traffic radix_pass(uint64_t rows, uint64_t key_width, uint64_t value_width) {
  return {rows * 2 * (key_width + value_width), 0};
}

// A radix sort, or a partition, by so many bits.
constexpr Traffic radix_sort(uint64_t rows, uint64_t key_width, uint64_t value_width,
                             int32_t bits) {
  Traffic total = radix_histogram(rows, key_width);
  for (uint64_t pass = 0; pass < radix_passes(bits); ++pass) {
    total += radix_pass(rows, key_width, value_width);
  }
  return total;
}

// Rounds of merging after a merge sort's tiles, each of which doubles the runs.
constexpr uint64_t merge_rounds(uint64_t rows) {
  uint64_t rounds = 0;
  for (uint64_t run = kernels::kSortTile; run < rows; run *= 2) ++rounds;
  return rounds;
}

// The tiles and each round read and write keys and values once.
constexpr Traffic merge_sort(uint64_t rows, uint64_t key_width, uint64_t value_width) {
  return {(1 + merge_rounds(rows)) * rows * 2 * (key_width + value_width), 0};
}

// One pass of a partitioning that counts first. Keys are counted, then read again with the values
// and written where they belong. A counter of 4 bytes for each partition and histogram is written,
// read and written by the scan, and read.
constexpr Traffic histogram_pass(uint64_t rows, uint64_t key_width, uint64_t value_width,
                                 uint64_t partitions, uint64_t histograms) {
  return {rows * (3 * key_width + 2 * value_width) + partitions * histograms * 16, 0};
}

// One pass of bucket chains. Where the first one makes row numbers value_bytes_read is 0.
constexpr Traffic bucket_chain_pass(uint64_t rows, uint64_t key_width, uint64_t value_width,
                                    uint64_t value_bytes_read) {
  return {rows * (2 * key_width + value_width + value_bytes_read), 0};
}

// One pass of the partitioning that moves whole rows: read and written once.
constexpr Traffic radix_unordered_pass(uint64_t rows, uint64_t row_width) {
  return {rows * 2 * row_width, 0};
}

// The join of partitions that writes columns: each row of both sides once, and the output.
constexpr Traffic carried_columns(uint64_t build_rows, uint64_t build_width, uint64_t probe_rows,
                                  uint64_t probe_width, uint64_t pairs, uint64_t output_width) {
  return {build_rows * build_width + probe_rows * probe_width + pairs * output_width, 0};
}

// Narrow columns out of words, by the bytes that a row of either has.
constexpr Traffic unpack_words(uint64_t rows, uint64_t words, uint64_t columns) {
  return {rows * (words + columns), 0};
}

// Slots of the global table: a power of two, load at most one half.
constexpr uint64_t global_table_slots(uint64_t build_rows) {
  return std::bit_ceil(std::max<uint64_t>(2 * build_rows, 2));
}
constexpr uint64_t global_table_bytes(uint64_t build_rows) {
  return global_table_slots(build_rows) * kTableSlotBytes;
}

// Of a table whose slots are looked at in pairs: a warp waits for the longest of its sequences,
// which is short where four times as many slots as rows stay in L2, beside so many bytes of each
// build row. H200, 2^27 probe rows of 4 + 4 bytes, 2^16, 2^18, 2^20 build rows, with twice and four
// times as many: 1.78 and 1.22, 1.79 and 1.26, 1.78 and 1.53 ms; eight times as many are no better.
constexpr bool is_sparse_pair_table(uint64_t build_rows, uint64_t row_bytes) {
  constexpr uint64_t kInL2 = uint64_t{32} << 20;
  return 2 * global_table_bytes(build_rows) + build_rows * row_bytes <= kInL2;
}
constexpr uint64_t pair_table_slots(uint64_t build_rows, uint64_t row_bytes) {
  return global_table_slots(build_rows) * (is_sparse_pair_table(build_rows, row_bytes) ? 2 : 1);
}

// Slots of 16 bytes that hold a row's key and columns, for rows of which L2 holds twice as many; of
// four times as many, where it does.
constexpr uint64_t kRowSlotBytes = 16;
constexpr uint64_t kMostRowSlots = (uint64_t{32} << 20) / kRowSlotBytes;
constexpr bool fits_row_slots(uint64_t build_rows) {
  return global_table_slots(build_rows) <= kMostRowSlots;
}
constexpr uint64_t row_slots(uint64_t build_rows) {
  return std::min(2 * global_table_slots(build_rows), kMostRowSlots);
}
constexpr Traffic row_slots_build(uint64_t rows, uint64_t key_width, uint64_t columns_width) {
  return {row_slots(rows) * kRowSlotBytes + rows * (key_width + columns_width),
          rows * 2 * kSectorBytes};
}

// The table is cleared, the keys are read, and each insert reads and writes back a sector. A key of
// 8 bytes does not fit its slot, so whoever meets the slot reads the key column at random.
constexpr Traffic global_table_build(uint64_t rows, uint64_t key_width) {
  const uint64_t key_reads = key_width > 4 ? rows * sector_bytes(key_width) : 0;
  return {global_table_bytes(rows) + rows * key_width, rows * 2 * kSectorBytes + key_reads};
}
// The same of few rows: a slot has the row and a part of the hash, and what is there already is
// hardly ever looked at.
constexpr Traffic small_hash_build(uint64_t rows, uint64_t key_width) {
  return {global_table_bytes(rows) + rows * key_width, rows * 2 * kSectorBytes};
}

// Each probe row reads its key and one sector of the table, each pair after a row's first one more;
// pairs are written.
constexpr Traffic global_table_probe(uint64_t probe_rows, uint64_t key_width, uint64_t pairs) {
  const uint64_t more = pairs > probe_rows ? pairs - probe_rows : 0;
  const uint64_t key_reads = key_width > 4 ? pairs * sector_bytes(key_width) : 0;
  return {probe_rows * key_width + pairs * kPairBytes,
          (probe_rows + more) * kSectorBytes + key_reads};
}

// Dense keys as addresses: places for so many times the build rows at most.
constexpr uint64_t most_direct_places(uint64_t build_rows) { return 4 * build_rows + 1024; }

// Their range is looked for, then keys and columns are read, and each goes to its place: a bit,
// which is read and written back, and a sector for each column.
constexpr Traffic direct_table_build(uint64_t rows, uint64_t key_width, uint64_t columns,
                                     uint64_t columns_width, uint64_t places) {
  return {rows * (2 * key_width + columns_width) + places / 8, rows * (2 + columns) * kSectorBytes};
}

// Probe rows that write columns: keys and the probe side's columns are read in order; lookups, and
// so many values of the build side, at random; output rows are written.
constexpr Traffic table_columns(uint64_t probe_rows, uint64_t probe_width, uint64_t lookups,
                                uint64_t values, uint64_t output_width, uint64_t pairs) {
  return {probe_rows * probe_width + pairs * output_width, (lookups + values) * kSectorBytes};
}

// Rows that cannot match left out before they are moved: keys are read so often, for a filter by
// bits once more for ranges that no sample saw; a bit of each that has one; kept keys and row
// numbers are written, and each kept row's columns read and written side by side.
inline constexpr uint64_t kMostFilterPlaces = uint64_t{1} << 29;  // 64 MiB of bits
constexpr Traffic filter_rows(uint64_t rows, uint64_t key_width, uint64_t times_read,
                              uint64_t asked, uint64_t kept, uint64_t columns_width) {
  return {rows * times_read * key_width + kept * (key_width + kRowIdBytes + 2 * columns_width),
          asked * kSectorBytes};
}
// Bits of a filter by hashes: eight a row that may set one, in 16 MiB at most, which L2 holds
// beside what streams through it.
constexpr uint64_t hash_filter_places(uint64_t marking_rows) {
  constexpr uint64_t kMostRows = uint64_t{1} << 24;
  return std::bit_ceil(8 * std::clamp<uint64_t>(marking_rows, 128, kMostRows));
}

// What a pair costs to write: two numbers, and two row ids looked up where pairs are not positions.
constexpr uint64_t pair_bytes(bool with_row_ids) {
  return kPairBytes + (with_row_ids ? 2 * kRowIdBytes : 0);
}

// Both sides' keys are read once; the tables are in shared memory; pairs are written.
constexpr Traffic co_partitions(uint64_t build_rows, uint64_t probe_rows, uint64_t key_width,
                                bool with_row_ids, uint64_t pairs) {
  return {(build_rows + probe_rows) * key_width + pairs * pair_bytes(with_row_ids), 0};
}

// The same bytes: what a nested loop does more is to compare each row with each of the other side's
// in its partition, in registers and shared memory.
constexpr Traffic nested_loop(uint64_t build_rows, uint64_t probe_rows, uint64_t key_width,
                              bool with_row_ids, uint64_t pairs) {
  return co_partitions(build_rows, probe_rows, key_width, with_row_ids, pairs);
}

// Work units of partitions: both sides' offsets are read, sums of units written.
constexpr Traffic count_units(uint64_t partitions) { return {partitions * (16 + 8), 0}; }

// Build rows that are read again: every unit reads those of its partition. units_each: of a
// partition, those that join the same build rows.
constexpr Traffic reread_build(uint64_t build_rows, uint64_t units_each, uint64_t key_width) {
  return {build_rows * (units_each > 1 ? units_each - 1 : 0) * key_width, 0};
}

// Direct output into pages: each pair is written once. Of each page that its writer leaves partly
// filled, half is empty: its first empty place is noted, the places are sorted and summed, and each
// empty one takes a pair from the end, unless the pages end there. A page of one place has no
// holes.
constexpr Traffic paged_pairs(uint64_t pairs, bool with_row_ids, uint64_t writers,
                              uint64_t page_pairs) {
  Traffic total = {pairs * pair_bytes(with_row_ids), 0};
  if (page_pairs <= 1) return total;
  const uint64_t tails = writers < pairs ? writers : pairs;
  const uint64_t holes = tails * page_pairs / 2;
  const uint64_t moved = holes < pairs ? holes : pairs;
  total += {tails * 8, 0};
  total += radix_sort(tails, 8, 0, 32);
  total += {tails * 32 + moved * 2 * kPairBytes, 0};
  return total;
}

// Two passes: the match reads its inputs once more; counts of work units are cleared, added to,
// summed and moved on.
constexpr Traffic two_passes(uint64_t build_rows, uint64_t probe_rows, uint64_t key_width,
                             bool with_row_ids, uint64_t units, uint64_t pairs) {
  return co_partitions(build_rows, probe_rows, key_width, with_row_ids, 0) +
         co_partitions(build_rows, probe_rows, key_width, with_row_ids, pairs) +
         Traffic{units * 7 * 8, 0};
}

// Groups by estimate, beside the match itself: both offsets of each partition are read, its
// estimate written, summed and read back with the end of its work units.
constexpr Traffic estimated_groups(uint64_t partitions) {
  return {partitions * (2 * 4 + 8 + 16 + 16), 0};
}

// Duplicates on the build side of a global table: rows of equal keys are brought together, so that
// a probe row meets a range. Each build row looks its key up, counts it and is placed; each probe
// row looks its range up; counts are summed on both sides and ranges expanded.
constexpr Traffic global_table_group(uint64_t build_rows, uint64_t probe_rows, uint64_t key_width,
                                     uint64_t pairs) {
  const uint64_t group_and_place = build_rows * (key_width + 8 + 12);
  const uint64_t sums = build_rows * 12 + probe_rows * 12;
  const uint64_t ranges = probe_rows * (key_width + 8 + 12);
  // Random: slot, counter (read and written back), offset, place (likewise); slot and offset.
  return {group_and_place + sums + ranges + pairs * (kRowIdBytes + kPairBytes),
          build_rows * 6 * kSectorBytes + probe_rows * 2 * kSectorBytes};
}

// Slots of the row multiset: windows of four, load at most one half, and a directory of long
// sequences.
constexpr uint64_t row_multiset_slots(uint64_t build_rows) {
  const uint64_t slots = global_table_slots(build_rows);
  return slots < 4 ? 4 : slots;
}
constexpr uint64_t row_multiset_long_sequences(uint64_t build_rows) {
  const uint64_t entries = row_multiset_slots(build_rows) / 512;
  return entries < 64 ? 64 : entries;
}
constexpr uint64_t row_multiset_bytes(uint64_t build_rows) {
  return row_multiset_slots(build_rows) * kTableSlotBytes +
         row_multiset_long_sequences(build_rows) * 16;
}

// The table is cleared, all key columns are read, and each insert reads and writes back a sector.
constexpr Traffic row_multiset_build(uint64_t rows, uint64_t key_bytes) {
  return {row_multiset_bytes(rows) + rows * key_bytes, rows * 2 * kSectorBytes};
}

// Each probe row reads its key columns and one window of four slots, each four pairs after a row's
// first another. A pair is verified in the key columns of both rows, at random on the build side.
// verified_columns: 0 for one key of 4 bytes, which the slot holds.
constexpr Traffic row_multiset_count(uint64_t probe_rows, uint64_t key_bytes,
                                     uint64_t verified_columns, uint64_t pairs) {
  const uint64_t more = pairs > probe_rows ? (pairs - probe_rows) / 4 : 0;
  const uint64_t compared = verified_columns > 0 ? pairs * key_bytes : 0;
  return {probe_rows * key_bytes + compared,
          (probe_rows + more + pairs * verified_columns) * kSectorBytes};
}

// The same walk, and the pairs are written.
constexpr Traffic row_multiset_retrieve(uint64_t probe_rows, uint64_t key_bytes,
                                        uint64_t verified_columns, uint64_t pairs) {
  return row_multiset_count(probe_rows, key_bytes, verified_columns, pairs) +
         Traffic{pairs * kPairBytes, 0};
}

// Bounds: both sides' keys are read, lower bound and count written for each probe row. Sum: counts
// are read, 8-byte offsets written. Expand: lower bounds and offsets are read, pairs written.
constexpr Traffic merge_path(uint64_t build_rows, uint64_t probe_rows, uint64_t key_width,
                             bool with_row_ids, uint64_t pairs) {
  const uint64_t bounds = (build_rows + probe_rows) * key_width + probe_rows * 8;
  const uint64_t sum = probe_rows * 12;
  const uint64_t expand = probe_rows * 12 + pairs * pair_bytes(with_row_ids);
  return {bounds + sum + expand, 0};
}

// The same with the upper bounds from a second merge path: both sides' keys are read again, with
// the lower bounds, instead of a search in the cache.
constexpr Traffic merge_two_bounds(uint64_t build_rows, uint64_t probe_rows, uint64_t key_width,
                                   bool with_row_ids, uint64_t pairs) {
  const Traffic second = {(build_rows + probe_rows) * key_width + probe_rows * 4, 0};
  return merge_path(build_rows, probe_rows, key_width, with_row_ids, pairs) + second;
}

// One bound where build keys turn out to be unique; where they do not, the second merge path writes
// the counts again.
constexpr Traffic merge_one_bound(uint64_t build_rows, uint64_t probe_rows, uint64_t key_width,
                                  bool with_row_ids, uint64_t pairs, bool unique) {
  if (unique) return merge_path(build_rows, probe_rows, key_width, with_row_ids, pairs);
  const Traffic again = {probe_rows * 4, 0};
  return merge_two_bounds(build_rows, probe_rows, key_width, with_row_ids, pairs) + again;
}

// One output column: an index and a value are read for each row, the value is written.
constexpr Traffic gather(uint64_t rows, uint64_t width, Locality locality) {
  if (locality == Locality::kClustered) return {rows * (4 + 2 * width), 0};
  return {rows * (4 + width), rows * sector_bytes(width)};
}

// Pairs put in the order of their row numbers: read as they are and written as numbers, radix
// passes over those, read and written as pairs again.
constexpr Traffic order_pairs(uint64_t pairs, int32_t bits) {
  return Traffic{pairs * 4 * kPairBytes, 0} + radix_sort(pairs, kPairBytes, 0, bits);
}

}  // namespace gpujoin::base::traffic
