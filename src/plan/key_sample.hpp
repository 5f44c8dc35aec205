// key_sample.hpp: what the executors find out about the keys for the planner, and how.
//
// The rule. The build side is build_side_of(request), the probe side the other one.
//   1. Draw: read the keys of both sides at the rows sample_row(0..P-1, rows), P =
//   sample_positions(rows)
//      (sample_rule.hpp), and at two neighbours of each.
//   2. Scan: read the build keys of sample_tiles(build_rows) tiles, all rows of a side of up to
//   2^23 (of the CPU's up to 2^17), and count for each drawn probe key the rows and the tiles that
//   have it.
//   3. Count: where a build key is hot, the rows of both sides that have it, all of them.
//   NULL keys are left out; the positions count them. What is handed on are sums
//   (sample_findings.hpp).
//
// Why a scan of one side: a sample of both sides by position never meets itself (4096 of 2^27 rows
// on each side share a key once in ten tries), and a sample of both by a hash of the key has to
// read all of both. A part of the build side is enough where the side is large: of a key in one
// row, an eighth of the rows has that row once in eight times, and of 4096 draws 512 are left to
// count.
//
// Why tiles: rows of a key lie together in a sorted side, and then a scan has all of them or none.
// So a key was met as often as there are tiles that have it, not rows: the slices of a tile come
// from all over the relation, and rows side by side are one meeting. statistics.cpp has the
// estimates.
//
// Why a count: output goes with the product of both sides' rows. 3 of 4096 draws may be missed, and
// of a key in 10^6 build rows each of them is as many output rows as a side of 10^7 has 250 times
// over. Where many probe rows have the key the draws would do, but then the output takes so long
// that a look at all probe keys is nothing. A build key that was drawn four times has as many rows
// as that says give or take half: too little room is a join done twice, twice the room is
// gigabytes, and the keys of both sides are read in a tenth of the time of any join of them at
// most.
//
// On the CPU: SampleTable for each side, count_tiles on slices of the tiles in parallel, add()
// them; HotTable, and hot rows of slices of both sides in parallel.
// On the GPU: four kernels and one wait (kernels/sample/).
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "src/plan/choose_plan.hpp"
#include "src/plan/sample_findings.hpp"
#include "src/plan/sample_rule.hpp"

namespace gpujoin::plan {

// The estimates. build_rows and probe_rows are those of the relations, NULL keys included.
SampleStatistics statistics_of(const SampleFindings& found, int64_t build_rows, int64_t probe_rows);

// What a scan of build tiles found. rows and tiles are parallel to the distinct keys of the table.
struct TileCounts {
  std::vector<int64_t> rows;   // that have the key
  std::vector<int64_t> tiles;  // likewise
  KeyBounds bounds;
  int64_t within = 0;  // rows with a key between the lowest and the highest of the table
  void add(const TileCounts& other);
};

// The keys drawn from one side. Any number of threads may look keys up once all are drawn.
class SampleTable {
 public:
  explicit SampleTable(int32_t key_width);

  // Of the next position: bit patterns, zero-extended to 64 bits. At most kSamplePositions of both.
  void draw(uint64_t key);
  void draw_null() { ++positions_; }
  // Of a drawn key those of the row that is kNextRow apart, or kNeighbourRows.
  // is_behind: it is the row before, of the last one.
  void draw_next(uint64_t key, uint64_t next, bool is_behind) {
    ++to_next_[bits_between(key, next)];
    const int64_t one = KeyBounds::value_of(key, key_width_);
    const int64_t other = KeyBounds::value_of(next, key_width_);
    descents_ += (is_behind ? one < other : other < one) ? 1 : 0;
  }
  void draw_neighbour(uint64_t key, uint64_t other) { ++to_neighbour_[bits_between(key, other)]; }

  int32_t key_width() const { return key_width_; }
  int32_t distinct_keys() const { return static_cast<int32_t>(keys_.size()); }

  // The number of the distinct key, 0 to distinct_keys() - 1, or -1 when it was not drawn.
  int32_t find(uint64_t key) const {
    const SampleFilterBits bits = sample_filter_bits(key);
    if (!bits.held_by(filter_[bits.word])) return -1;
    return slots_[slot_of(key)];
  }

  DrawnKeys drawn() const;
  const KeyBounds& bounds() const { return bounds_; }
  uint64_t key(int32_t number) const { return keys_[static_cast<size_t>(number)]; }
  int64_t draws(int32_t number) const { return draws_[static_cast<size_t>(number)]; }

  // Adds what the scan of so many build rows found. expected: this is the probe side's table.
  void finish(const TileCounts& scan, int64_t scanned, SampleFindings* found) const;

 private:
  int32_t bits_between(uint64_t one, uint64_t other) const {
    return distance_bits(KeyBounds::value_of(one, key_width_),
                         KeyBounds::value_of(other, key_width_));
  }
  // Where the key is, or else the empty slot where it belongs.
  uint32_t slot_of(uint64_t key) const {
    uint32_t slot = sample_slot(key);
    while (slots_[slot] >= 0 && keys_[static_cast<size_t>(slots_[slot])] != key) {
      slot = (slot + 1) & static_cast<uint32_t>(kSampleSlots - 1);
    }
    return slot;
  }

  int32_t key_width_;
  int64_t positions_ = 0;
  KeyBounds bounds_;
  uint32_t to_next_[kDistances] = {};
  uint32_t to_neighbour_[kDistances] = {};
  int64_t descents_ = 0;
  std::vector<uint32_t> filter_;
  std::vector<int32_t> slots_;  // numbers of distinct keys, or -1
  std::vector<uint64_t> keys_;  // distinct
  std::vector<int64_t> draws_;  // of each
};

// The hot keys.
class HotTable {
 public:
  HotTable(const SampleTable& build, int64_t build_rows, const SampleTable& probe,
           int64_t probe_rows);

  bool is_empty() const { return keys_.distinct_keys() == 0; }

  // Step 3 on the host, of one side: adds the rows from begin to end - 1 to those of each key.
  template <typename KeyAt>
  void count(int64_t begin, int64_t end, const KeyAt& key_at, std::vector<int64_t>* rows) const {
    rows->resize(static_cast<size_t>(keys_.distinct_keys()), 0);
    uint64_t key = 0;
    for (int64_t row = begin; row < end; ++row) {
      if (!key_at(row, &key)) continue;
      const int32_t number = keys_.find(key);
      if (number >= 0) ++(*rows)[static_cast<size_t>(number)];
    }
  }
  // The rows of each key. scan: null when there was none; else the keys are taken out of it.
  HotKeys finish(const std::vector<int64_t>& build_rows, const std::vector<int64_t>& probe_rows,
                 TileCounts* scan) const;

 private:
  SampleTable keys_;
  std::vector<int32_t> probe_numbers_;  // of each in the probe side's table, or -1
  std::vector<int64_t> probe_draws_;
};

// Step 1 on the host, of one side. key_at is called as bool(int64_t row, uint64_t* key) and answers
// false for a NULL key. ask_for(row): its key is wanted soon, of rows from all over the side, each
// of which waits for memory otherwise.
template <typename KeyAt, typename AskFor>
SampleTable draw_keys(int64_t rows, const KeyAt& key_at, const AskFor& ask_for, int32_t key_width) {
  constexpr int32_t kAhead = 16;
  SampleTable table(key_width);
  uint64_t key = 0;
  uint64_t other = 0;
  const int32_t positions = sample_positions(rows);
  for (int32_t i = 0; i < positions; ++i) {
    const int64_t ahead = sample_row(std::min(i + kAhead, positions - 1), rows);
    ask_for(ahead);
    ask_for(std::max<int64_t>(neighbour_row(ahead, rows, kNeighbourRows), 0));
    const int64_t row = sample_row(i, rows);
    const int64_t next = neighbour_row(row, rows, kNextRow);
    const int64_t neighbour = neighbour_row(row, rows, kNeighbourRows);
    if (!key_at(row, &key)) {
      table.draw_null();
      continue;
    }
    table.draw(key);
    if (next >= 0 && key_at(next, &other)) table.draw_next(key, other, next < row);
    if (neighbour >= 0 && key_at(neighbour, &other)) table.draw_neighbour(key, other);
  }
  return table;
}

// Step 2 on the host, for the tiles from begin to end - 1 of a side of so many rows.
template <typename BuildKeyAt>
TileCounts count_tiles(const SampleTable& table, int64_t begin, int64_t end, int64_t build_rows,
                       const BuildKeyAt& build_key_at, int64_t fewest = kFewestSampleTiles) {
  TileCounts scan;
  const auto distinct = static_cast<size_t>(table.distinct_keys());
  scan.rows.assign(distinct, 0);
  scan.tiles.assign(distinct, 0);
  std::vector<int64_t> last_tile(distinct, -1);
  if (begin == end) return scan;
  const SampleSlices slices(build_rows, fewest);
  uint64_t key = 0;
  for (int64_t tile = begin; tile < end; ++tile) {
    for (int64_t slice = 0; slice < kSampleTileSlices; ++slice) {
      const int64_t first = slices.first_row(tile, slice);
      const int64_t beyond = std::min(first + kSampleSliceRows, build_rows);
      for (int64_t row = first; row < beyond; ++row) {
        if (!build_key_at(row, &key)) continue;
        scan.bounds.add(key, table.key_width());
        scan.within += table.bounds().holds(key, table.key_width()) ? 1 : 0;
        const int32_t number = table.find(key);
        if (number < 0) continue;
        const auto at = static_cast<size_t>(number);
        ++scan.rows[at];
        if (last_tile[at] != tile) ++scan.tiles[at];
        last_tile[at] = tile;
      }
    }
  }
  return scan;
}

// All steps, on one thread: the reference that the executors' sampling is tested against. effort:
// kPositions leaves the scan out.
template <typename BuildKeyAt, typename ProbeKeyAt>
SampleFindings sample_keys(int64_t build_rows, const BuildKeyAt& build_key_at, int64_t probe_rows,
                           const ProbeKeyAt& probe_key_at, int32_t key_width,
                           SampleEffort effort = SampleEffort::kCounted,
                           int64_t fewest = kFewestSampleTiles) {
  SampleFindings found;
  const auto is_near = [](int64_t) {};
  const SampleTable build = draw_keys(build_rows, build_key_at, is_near, key_width);
  found.build = build.drawn();
  const SampleTable table = draw_keys(probe_rows, probe_key_at, is_near, key_width);
  found.probe = table.drawn();
  const HotTable hot(build, build_rows, table, probe_rows);
  std::vector<int64_t> hot_build;
  std::vector<int64_t> hot_probe;
  if (!hot.is_empty()) {
    hot.count(0, build_rows, build_key_at, &hot_build);
    hot.count(0, probe_rows, probe_key_at, &hot_probe);
  }
  if (effort != SampleEffort::kCounted) {
    found.hot = hot.finish(hot_build, hot_probe, nullptr);
    return found;
  }
  TileCounts scan =
      count_tiles(table, 0, sample_tiles(build_rows, fewest), build_rows, build_key_at, fewest);
  found.hot = hot.finish(hot_build, hot_probe, &scan);
  table.finish(scan, scanned_rows(build_rows, fewest), &found);
  return found;
}

}  // namespace gpujoin::plan
