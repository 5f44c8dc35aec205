// statistics.cpp: from a key sample to the figures that the planner works with.
#include <algorithm>
#include <array>
#include <bit>

#include "src/plan/key_sample.hpp"

namespace gpujoin::plan {
namespace {

// Draws of one key below which its frequency in a sample is chance: among 1024 draws of 2^20
// equally frequent keys some pair meets nearly always, three of a kind hardly ever.
constexpr int64_t kFewestDraws = 3;

// Draws of the key that was drawn most often. Counted in a table: a sort took 15 us of a join's time for each side.
int64_t most_draws(const std::vector<uint64_t>& keys) {
  std::array<uint64_t, kSampleSlots> slot_keys;
  std::array<int32_t, kSampleSlots> draws{};
  int32_t most = 0;
  for (const uint64_t key : keys) {
    uint32_t slot = sample_slot(key);
    while (draws[slot] != 0 && slot_keys[slot] != key) {
      slot = (slot + 1) & static_cast<uint32_t>(kSampleSlots - 1);
    }
    slot_keys[slot] = key;
    most = std::max(most, ++draws[slot]);
  }
  return most;
}

// The share of the most frequent key among the rows that were drawn, or that of a single row.
double heaviest_share(const std::vector<uint64_t>& keys, int64_t positions, int64_t rows) {
  if (rows == 0 || positions == 0) return 0;
  const int64_t most = most_draws(keys);
  const bool all_rows_read = positions == rows;
  if (all_rows_read || most >= kFewestDraws) {
    return static_cast<double>(most) / static_cast<double>(positions);
  }
  return 1.0 / static_cast<double>(rows);
}

// From the lowest to the highest bit in which two keys differ.
int32_t varying_bits(uint64_t key_or, uint64_t key_and) {
  const uint64_t varying = key_or & ~key_and;
  if (varying == 0) return 1;  // one key only; 0 would say that nobody looked
  return static_cast<int32_t>(std::bit_width(varying)) - std::countr_zero(varying);
}

}  // namespace

SampleStatistics sample_from_counts(const KeySample& sample, int64_t build_rows,
                                    int64_t probe_rows) {
  SampleStatistics statistics;
  statistics.sampled = true;
  statistics.counted = sample.counted;

  uint64_t matching = 0;
  uint64_t pairs = 0;
  uint64_t most = 0;
  for (const uint64_t count : sample.build_counts) {
    matching += count > 0 ? 1 : 0;
    pairs += count;
    most = std::max(most, count);
  }
  if (sample.counted) {
    statistics.match_ratio =
        sample.probe_positions == 0
            ? 0
            : static_cast<double>(matching) / static_cast<double>(sample.probe_positions);
  }
  if (matching > 0) {
    statistics.rows_per_match = static_cast<double>(pairs) / static_cast<double>(matching);
  }

  // The scan counted sampled probe keys exactly; a heavy build key that no sampled probe row has
  // shows in the sampled build rows.
  statistics.heaviest_build_key =
      heaviest_share(sample.build_keys, sample.build_positions, build_rows);
  if (build_rows > 0) {
    statistics.heaviest_build_key = std::max(
        statistics.heaviest_build_key, static_cast<double>(most) / static_cast<double>(build_rows));
  }
  statistics.heaviest_probe_key =
      heaviest_share(sample.probe_keys, sample.probe_positions, probe_rows);

  const bool saw_a_key =
      sample.counted && ((sample.key_or & ~sample.key_and) != 0 || !sample.build_keys.empty() ||
                         !sample.probe_keys.empty());
  if (saw_a_key) statistics.varying_key_bits = varying_bits(sample.key_or, sample.key_and);
  return statistics;
}

void BuildCounts::add(const BuildCounts& other) {
  counts.resize(std::max(counts.size(), other.counts.size()), 0);
  for (size_t i = 0; i < other.counts.size(); ++i) counts[i] += other.counts[i];
  key_or |= other.key_or;
  key_and &= other.key_and;
}

SampleTable::SampleTable(const std::vector<uint64_t>& probe_keys)
    : filter_(kSampleFilterBits / 32, 0), slot_keys_(kSampleSlots, 0), slot_ids_(kSampleSlots, -1) {
  id_of_probe_key_.reserve(probe_keys.size());
  for (const uint64_t key : probe_keys) {
    const uint32_t bit = sample_filter_bit(key);
    filter_[bit / 32] |= 1U << (bit % 32);
    uint32_t slot = sample_slot(key);
    while (slot_ids_[slot] >= 0 && slot_keys_[slot] != key) {
      slot = (slot + 1) & static_cast<uint32_t>(kSampleSlots - 1);
    }
    if (slot_ids_[slot] < 0) {
      slot_keys_[slot] = key;
      slot_ids_[slot] = distinct_keys_++;
    }
    id_of_probe_key_.push_back(slot_ids_[slot]);
  }
}

void SampleTable::finish(const BuildCounts& scan, KeySample* sample) const {
  sample->counted = true;
  sample->build_counts.clear();
  sample->build_counts.reserve(id_of_probe_key_.size());
  for (const int32_t id : id_of_probe_key_) {
    sample->build_counts.push_back(scan.counts[static_cast<size_t>(id)]);
  }
  sample->key_or = scan.key_or;
  sample->key_and = scan.key_and;
  for (const uint64_t key : sample->probe_keys) {
    sample->key_or |= key;
    sample->key_and &= key;
  }
}

}  // namespace gpujoin::plan
