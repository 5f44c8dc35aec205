// key_sample.hpp: what the executors find out about the keys for the planner, and how.
//
// The rule. The build side is build_side_of(request), the probe side the other one.
//   1. Read the probe keys at the rows sample_row(0..P-1, probe_rows), P = sample_positions(rows),
//      and the build keys at the rows of the same rule for build_rows (sample_rule.hpp).
//   2. Read all build keys once, in order, and count for each sampled probe key how many valid
//      build rows have it; or and and all their bits on the way.
//   NULL keys are left out of the key lists and of the counts; the positions count them.
//
// Why a full scan of one side: a sample of both sides by position never meets itself (4096 of
// 2^27 rows on each side share a key once in a hundred tries), and a sample of both by a hash of the
// key has to read all of both. Reading only the smaller side gives the exact multiplicity of each
// sampled probe key, so match ratio and rows per match carry only the error of 1024 draws,
// however small the match ratio and whatever the skew. It costs one streaming read of 4 or 8
// bytes a build row: 0.13 ms for 2^27 rows on an H200, of a join of 10 ms. sample_effort weighs
// that cost.
//
// On the CPU: SampleTable once, count_build_rows on slices of the build side in parallel, add()
// them.
// On the GPU: gather both position lists, make a SampleTable on the host, copy filter, slot_keys
// and slot_ids over, scan with one counter for each distinct key in shared memory (a key that
// fills the build side would queue up on one global counter), add the blocks' counters, copy them
// back.
#pragma once

#include <cstdint>
#include <vector>

#include "src/plan/choose_plan.hpp"
#include "src/plan/sample_rule.hpp"

namespace gpujoin::plan {

// Keys are bit patterns, zero-extended to 64 bits.
struct KeySample {
  int64_t build_positions = 0;         // rows read at sample positions, NULL keys included
  int64_t probe_positions = 0;         // likewise
  std::vector<uint64_t> build_keys;    // the valid ones, in the order of the positions
  std::vector<uint64_t> probe_keys;    // likewise
  bool counted = false;                // step 2 was done: the members below say something
  std::vector<uint64_t> build_counts;  // of probe_keys[i], its number among all valid build rows
  uint64_t key_or = 0;                 // of all valid build keys and of the sampled probe keys
  uint64_t key_and = ~uint64_t{0};     // likewise
};

// The estimates. build_rows and probe_rows are those of the relations, NULL keys included.
SampleStatistics sample_from_counts(const KeySample& sample, int64_t build_rows,
                                    int64_t probe_rows);

// What one scan of build rows found. counts is parallel to the distinct keys of the table.
struct BuildCounts {
  std::vector<uint64_t> counts;
  uint64_t key_or = 0;
  uint64_t key_and = ~uint64_t{0};
  void add(const BuildCounts& other);
};

// The distinct sampled probe keys. Immutable: any number of threads may look keys up.
class SampleTable {
 public:
  explicit SampleTable(const std::vector<uint64_t>& probe_keys);

  int32_t distinct_keys() const { return distinct_keys_; }

  // The number of the distinct key, 0 to distinct_keys() - 1, or -1 when it was not sampled.
  int32_t find(uint64_t key) const {
    const uint32_t bit = sample_filter_bit(key);
    if ((filter_[bit / 32] >> (bit % 32) & 1U) == 0) return -1;
    uint32_t slot = sample_slot(key);
    while (slot_ids_[slot] >= 0 && slot_keys_[slot] != key) {
      slot = (slot + 1) & static_cast<uint32_t>(kSampleSlots - 1);
    }
    return slot_ids_[slot];
  }

  // The arrays behind find, for a copy to the device: kSampleFilterBits / 32 words, and
  // kSampleSlots keys and ids; an empty slot's id is -1.
  const std::vector<uint32_t>& filter() const { return filter_; }
  const std::vector<uint64_t>& slot_keys() const { return slot_keys_; }
  const std::vector<int32_t>& slot_ids() const { return slot_ids_; }

  // Completes sample.build_counts, key_or and key_and from the scan of all build rows.
  // expected: sample.probe_keys are the keys the table was made of.
  void finish(const BuildCounts& scan, KeySample* sample) const;

 private:
  std::vector<uint32_t> filter_;
  std::vector<uint64_t> slot_keys_;
  std::vector<int32_t> slot_ids_;
  std::vector<int32_t> id_of_probe_key_;
  int32_t distinct_keys_ = 0;
};

// Step 1 on the host. build_key_at and probe_key_at are called as bool(int64_t row, uint64_t* key)
// and answer false for a NULL key.
template <typename BuildKeyAt, typename ProbeKeyAt>
KeySample read_positions(int64_t build_rows, const BuildKeyAt& build_key_at, int64_t probe_rows,
                         const ProbeKeyAt& probe_key_at) {
  KeySample sample;
  sample.build_positions = sample_positions(build_rows);
  sample.probe_positions = sample_positions(probe_rows);
  uint64_t key = 0;
  for (int32_t i = 0; i < sample.build_positions; ++i) {
    if (build_key_at(sample_row(i, build_rows), &key)) sample.build_keys.push_back(key);
  }
  for (int32_t i = 0; i < sample.probe_positions; ++i) {
    if (probe_key_at(sample_row(i, probe_rows), &key)) sample.probe_keys.push_back(key);
  }
  return sample;
}

// Step 2 on the host, for the rows from begin to end - 1.
template <typename BuildKeyAt>
BuildCounts count_build_rows(const SampleTable& table, int64_t begin, int64_t end,
                             const BuildKeyAt& build_key_at) {
  BuildCounts scan;
  scan.counts.assign(static_cast<size_t>(table.distinct_keys()), 0);
  uint64_t key = 0;
  for (int64_t row = begin; row < end; ++row) {
    if (!build_key_at(row, &key)) continue;
    scan.key_or |= key;
    scan.key_and &= key;
    const int32_t id = table.find(key);
    if (id >= 0) ++scan.counts[static_cast<size_t>(id)];
  }
  return scan;
}

// Both steps, on one thread: the reference that the executors' sampling is tested against.
template <typename BuildKeyAt, typename ProbeKeyAt>
KeySample sample_keys(int64_t build_rows, const BuildKeyAt& build_key_at, int64_t probe_rows,
                      const ProbeKeyAt& probe_key_at) {
  KeySample sample = read_positions(build_rows, build_key_at, probe_rows, probe_key_at);
  const SampleTable table(sample.probe_keys);
  table.finish(count_build_rows(table, 0, build_rows, build_key_at), &sample);
  return sample;
}

}  // namespace gpujoin::plan
