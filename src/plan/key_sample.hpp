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
// On the CPU: positions of both sides read in parallel, and a SampleTable made of each; tiles
// counted in parallel, and add()ed; HotTable, and hot rows of slices of both sides in parallel.
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
  std::vector<uint32_t> rows;      // that have the key
  std::vector<uint32_t> tiles;     // likewise
  std::vector<int64_t> last_tile;  // that had it, of those counted here, or -1
  KeyBounds bounds;
  int64_t within = 0;  // rows with a key between the lowest and the highest of the table
  void add(const TileCounts& other);
};

// What the row at a position says.
struct DrawnRow {
  static constexpr int8_t kNoKey = -1;

  uint64_t key = 0;  // bit pattern, zero-extended to 64 bits
  bool has_key = false;
  bool descends = false;  // the next row's key is lower
  // Of the distances to the keys of the rows that are kNextRow and kNeighbourRows apart.
  int8_t next_bits = kNoKey;
  int8_t neighbour_bits = kNoKey;
};

// The keys drawn from one side. Any number of threads may look keys up once all are drawn.
class SampleTable {
 public:
  explicit SampleTable(int32_t key_width);

  // At most kSamplePositions of both.
  void draw(uint64_t key);
  void draw(const DrawnRow& row);

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
  // Where the key is, or else the empty slot where it belongs.
  uint32_t slot_of(uint64_t key) const {
    uint32_t slot = sample_hash(key) & static_cast<uint32_t>(kSampleSlots - 1);
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

// Step 1 on the host, of one side: what the rows at the positions from begin to end - 1 say. key_at
// is called as bool(int64_t row, uint64_t* key) and answers false for a NULL key. ask_for(row): its
// key is wanted soon, of rows from all over the side, each of which waits for memory otherwise.
// expected: end - begin <= kPositionsAtOnce.
inline constexpr int32_t kPositionsAtOnce = 256;
template <typename KeyAt, typename AskFor>
void read_positions(int32_t begin, int32_t end, int64_t rows, const KeyAt& key_at,
                    const AskFor& ask_for, int32_t key_width, DrawnRow* read) {
  int64_t drawn[kPositionsAtOnce];
  for (int32_t i = begin; i < end; ++i) {
    const int64_t row = sample_row(i, rows);
    drawn[i - begin] = row;
    ask_for(row);
    ask_for(std::max<int64_t>(neighbour_row(row, rows, kNeighbourRows), 0));
  }
  for (int32_t i = 0; i < end - begin; ++i) {
    const int64_t row = drawn[i];
    DrawnRow& found = read[i] = DrawnRow();
    found.has_key = key_at(row, &found.key);
    if (!found.has_key) continue;
    const int64_t value = KeyBounds::value_of(found.key, key_width);
    uint64_t other = 0;
    const int64_t next = neighbour_row(row, rows, kNextRow);
    if (next >= 0 && key_at(next, &other)) {
      const int64_t beside = KeyBounds::value_of(other, key_width);
      found.next_bits = static_cast<int8_t>(distance_bits(value, beside));
      // It is the row before, of the last one.
      found.descends = next < row ? value < beside : beside < value;
    }
    const int64_t neighbour = neighbour_row(row, rows, kNeighbourRows);
    if (neighbour >= 0 && key_at(neighbour, &other)) {
      const int64_t beyond = KeyBounds::value_of(other, key_width);
      found.neighbour_bits = static_cast<int8_t>(distance_bits(value, beyond));
    }
  }
}

// Step 2 on the host: adds the tiles from begin to end - 1 of a side of so many rows to the scan,
// which has none of them yet.
template <typename BuildKeyAt, typename AskFor>
void count_tiles(const SampleTable& table, int64_t begin, int64_t end, int64_t build_rows,
                 const BuildKeyAt& build_key_at, const AskFor& ask_for, TileCounts* scan,
                 int64_t fewest = kFewestSampleTiles) {
  constexpr int64_t kSlicesAhead = 4;
  const auto distinct = static_cast<size_t>(table.distinct_keys());
  scan->rows.resize(distinct, 0);
  scan->tiles.resize(distinct, 0);
  scan->last_tile.resize(distinct, -1);
  if (begin == end) return;
  const SampleSlices slices(build_rows, fewest);
  const auto ask_for_slice = [&](int64_t first) {
    constexpr int64_t kRowsOfLine = 8;  // of wide keys
    const int64_t beyond = std::min(first + kSampleSliceRows, build_rows);
    for (int64_t row = first; row < beyond; row += kRowsOfLine) ask_for(row);
  };
  const KeyBounds& drawn = table.bounds();
  // Written once: other workers' counts lie in the lines of this one's.
  KeyBounds all;
  int64_t within = 0;
  for (int64_t tile = begin; tile < end; ++tile) {
    for (int64_t slice = 0; slice < kSampleTileSlices; ++slice) {
      const int64_t first = slices.first_row(tile, slice);
      const int64_t beyond = std::min(first + kSampleSliceRows, build_rows);
      ask_for_slice(slices.first_row(tile, std::min(slice + kSlicesAhead, kSampleTileSlices - 1)));
      uint64_t keys[kSampleSliceRows];
      int32_t count = 0;
      for (int64_t row = first; row < beyond; ++row)
        count += build_key_at(row, &keys[count]) ? 1 : 0;
      KeyBounds bounds;
      for (int32_t i = 0; i < count; ++i) bounds.add(keys[i], table.key_width());
      all.add(bounds);
      if (drawn.low <= bounds.low && bounds.high <= drawn.high) {
        within += count;
      } else if (drawn.low <= bounds.high && bounds.low <= drawn.high) {
        for (int32_t i = 0; i < count; ++i) {
          within += drawn.holds(keys[i], table.key_width()) ? 1 : 0;
        }
      }
      for (int32_t i = 0; i < count; ++i) {
        const int32_t number = table.find(keys[i]);
        if (number < 0) continue;
        const auto at = static_cast<size_t>(number);
        ++scan->rows[at];
        if (scan->last_tile[at] != tile) ++scan->tiles[at];
        scan->last_tile[at] = tile;
      }
    }
  }
  scan->bounds.add(all);
  scan->within += within;
}

// Step 1 on one thread.
template <typename KeyAt>
SampleTable draw_keys(int64_t rows, const KeyAt& key_at, int32_t key_width) {
  SampleTable table(key_width);
  const int32_t positions = sample_positions(rows);
  DrawnRow read[kPositionsAtOnce];
  for (int32_t begin = 0; begin < positions; begin += kPositionsAtOnce) {
    const int32_t end = std::min(begin + kPositionsAtOnce, positions);
    read_positions(
        begin, end, rows, key_at, [](int64_t) {}, key_width, read);
    for (int32_t i = 0; i < end - begin; ++i) table.draw(read[i]);
  }
  return table;
}

// All steps, on one thread: the reference that the executors' sampling is tested against. effort:
// kPositions leaves the scan out.
template <typename BuildKeyAt, typename ProbeKeyAt>
SampleFindings sample_keys(int64_t build_rows, const BuildKeyAt& build_key_at, int64_t probe_rows,
                           const ProbeKeyAt& probe_key_at, int32_t key_width,
                           SampleEffort effort = SampleEffort::kCounted,
                           int64_t fewest = kFewestSampleTiles) {
  SampleFindings found;
  const SampleTable build = draw_keys(build_rows, build_key_at, key_width);
  found.build = build.drawn();
  const SampleTable table = draw_keys(probe_rows, probe_key_at, key_width);
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
  TileCounts scan;
  count_tiles(
      table, 0, sample_tiles(build_rows, fewest), build_rows, build_key_at, [](int64_t) {}, &scan,
      fewest);
  found.hot = hot.finish(hot_build, hot_probe, &scan);
  table.finish(scan, scanned_rows(build_rows, fewest), &found);
  return found;
}

}  // namespace gpujoin::plan
