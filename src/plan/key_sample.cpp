// key_sample.cpp: the table of sampled keys on the host, and the sums over it.
#include "src/plan/key_sample.hpp"

namespace gpujoin::plan {

void TileCounts::add(const TileCounts& other) {
  rows.resize(std::max(rows.size(), other.rows.size()), 0);
  tiles.resize(rows.size(), 0);
  for (size_t i = 0; i < other.rows.size(); ++i) {
    rows[i] += other.rows[i];
    tiles[i] += other.tiles[i];
  }
  bounds.add(other.bounds);
  within += other.within;
}

SampleTable::SampleTable(int32_t key_width)
    : key_width_(key_width), filter_(kSampleFilterWords, 0), slots_(kSampleSlots, -1) {
  keys_.reserve(kSamplePositions);
  draws_.reserve(kSamplePositions);
}

void SampleTable::draw(uint64_t key) {
  ++positions_;
  bounds_.add(key, key_width_);
  const SampleFilterBits bits = sample_filter_bits(key);
  filter_[bits.word] |= bits.mask();
  int32_t& number = slots_[slot_of(key)];
  if (number < 0) {
    number = distinct_keys();
    keys_.push_back(key);
    draws_.push_back(0);
  }
  ++draws_[static_cast<size_t>(number)];
}

void SampleTable::draw(const DrawnRow& row) {
  if (!row.has_key) {
    ++positions_;
    return;
  }
  draw(row.key);
  descents_ += row.descends ? 1 : 0;
  if (row.next_bits >= 0) ++to_next_[row.next_bits];
  if (row.neighbour_bits >= 0) ++to_neighbour_[row.neighbour_bits];
}

DrawnKeys SampleTable::drawn() const {
  DrawnKeys drawn;
  drawn.positions = positions_;
  drawn.distinct = distinct_keys();
  drawn.bounds = bounds_;
  drawn.next_bits = usual_bits(to_next_);
  drawn.descents = descents_;
  drawn.neighbour_bits = usual_bits(to_neighbour_);
  for (const int64_t draws : draws_) {
    drawn.valid += draws;
    drawn.most = std::max(drawn.most, draws);
    if (draws >= kHeavyDraws) drawn.heavy += draws;
  }
  return drawn;
}

void SampleTable::finish(const TileCounts& scan, int64_t scanned, SampleFindings* found) const {
  found->counted = true;
  found->scanned_rows = scanned;
  found->scanned = scan.bounds;
  found->scanned_within = scan.within;
  for (size_t i = 0; i < scan.rows.size(); ++i) {
    const int64_t rows = scan.rows[i];
    if (rows == 0) continue;
    found->met_in_one_tile += scan.tiles[i] == 1 ? 1 : 0;
    found->met_in_two_tiles += scan.tiles[i] == 2 ? 1 : 0;
    MetKeys& met = scan.tiles[i] <= 2 ? found->met_seldom : found->met_often;
    ++met.keys;
    met.draws += draws_[i];
    met.rows += rows;
    met.drawn_rows += draws_[i] * rows;
    met.squares += rows * rows;
    met.drawn_squares += draws_[i] * rows * rows;
    met.most = std::max(met.most, rows);
  }
}

HotTable::HotTable(const SampleTable& build, int64_t build_rows, const SampleTable& probe,
                   int64_t probe_rows)
    : keys_(build.key_width()) {
  if (!may_count_hot_keys(build_rows, probe_rows)) return;
  for (int32_t number = 0; number < build.distinct_keys(); ++number) {
    if (build.draws(number) < hot_draws(build_rows)) continue;
    keys_.draw(build.key(number));
    const int32_t at = probe.find(build.key(number));
    probe_numbers_.push_back(at);
    probe_draws_.push_back(at < 0 ? 0 : probe.draws(at));
  }
}

HotKeys HotTable::finish(const std::vector<int64_t>& build_rows,
                         const std::vector<int64_t>& probe_rows, TileCounts* scan) const {
  HotKeys hot;
  hot.keys = keys_.distinct_keys();
  for (size_t i = 0; i < build_rows.size(); ++i) {
    if (scan != nullptr && probe_numbers_[i] >= 0) {
      scan->rows[static_cast<size_t>(probe_numbers_[i])] = 0;
    }
    hot.probe_draws += probe_draws_[i];
    hot.probe_keys += probe_draws_[i] != 0 ? 1 : 0;
    hot.rows += probe_rows[i];
    hot.most = std::max(hot.most, probe_rows[i]);
    hot.pairs += hot_pairs(build_rows[i], probe_rows[i]);
    hot.most_build = std::max(hot.most_build, build_rows[i]);
  }
  return hot;
}

}  // namespace gpujoin::plan
