// probe_partition.hpp: probe rows against their partition's table; matches go to a batch.
//
// Most probe rows meet a bucket of no entry or of one: they are handled without a branch, the match
// is written and counted or overwritten by the next one. Rows that meet more entries are put aside
// for a second loop.
//
// A segment limits how far into a run of equal build keys the call goes, so that one probe row with
// millions of matches can be shared among tasks.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "src/cpu/partition_table.hpp"

namespace gpujoin::cpu {

inline constexpr uint32_t kBatchRows = 4096;
inline constexpr uint32_t kProbeBlockRows = 512;

// Matches: of each the key, and of either side what its entry holds besides the key.
template <typename Key>
struct MatchBatch {
  Key keys[kBatchRows];
  Key build[kBatchRows];
  Key probe[kBatchRows];
  uint32_t rows = 0;
};

struct ProbeRows {
  const std::byte* rows = nullptr;
  uint32_t row_bytes = 0;
  uint32_t first = 0;
  uint32_t last = 0;
};

struct Segment {
  uint32_t first = 0;
  uint32_t last = UINT32_MAX;
};

// Entries of the bucket with the key; a bucket that is not sorted must be compared one by one.
template <typename Key>
std::pair<uint32_t, uint32_t> equal_entries(const Entry<Key>* entries, uint32_t begin, uint32_t end,
                                            Key key) {
  auto const lower =
      std::lower_bound(entries + begin, entries + end, key,
                       [](const Entry<Key>& entry, Key value) { return entry.key < value; });
  auto const upper =
      std::upper_bound(lower, entries + end, key,
                       [](Key value, const Entry<Key>& entry) { return value < entry.key; });
  return {static_cast<uint32_t>(lower - entries), static_cast<uint32_t>(upper - entries)};
}

template <typename Key, bool kRowIsEntry, typename Flush>
class Prober {
 public:
  Prober(const PartitionTable<Key>& table, const ProbeRows& probe, Segment segment,
         MatchBatch<Key>& batch, const Flush& flush)
      : table_(table), probe_(probe), segment_(segment), batch_(batch), flush_(flush) {}

  // flush() is called with a batch that is full or almost so; rows may be left in it at the end.
  void run() {
    uint32_t several[kProbeBlockRows];
    for (uint32_t block = probe_.first; block < probe_.last;) {
      uint32_t const end = block + std::min(kProbeBlockRows, probe_.last - block);
      if (batch_.rows + (end - block) > kBatchRows) flush();
      uint32_t const count = single_entries(block, end, several);
      for (uint32_t i = 0; i < count; ++i) several_entries(several[i]);
      block = end;
    }
  }

 private:
  Entry<Key> probe_entry(uint32_t position) const {
    return entry_at<Key>(probe_.rows, kRowIsEntry ? sizeof(Entry<Key>) : probe_.row_bytes,
                         kRowIsEntry, position);
  }

  uint32_t single_entries(uint32_t begin, uint32_t end, uint32_t* several) {
    uint32_t const* const starts = table_.starts();
    Entry<Key> const* const entries = table_.entries();
    uint32_t const first_segment = segment_.first == 0 ? 1 : 0;
    uint32_t rows = batch_.rows;
    uint32_t several_count = 0;
    for (uint32_t position = begin; position < end; ++position) {
      Entry<Key> const probe = probe_entry(position);
      uint32_t const bucket = table_.bucket(probe.key);
      uint32_t const start = starts[bucket];
      uint32_t const length = starts[bucket + 1] - start;
      Entry<Key> const build = entries[start];
      batch_.keys[rows] = probe.key;
      batch_.build[rows] = build.rest;
      batch_.probe[rows] = probe.rest;
      rows += static_cast<uint32_t>(length == 1) & static_cast<uint32_t>(build.key == probe.key) &
              first_segment;
      several[several_count] = position;
      several_count += length > 1 ? 1 : 0;
    }
    batch_.rows = rows;
    return several_count;
  }

  void several_entries(uint32_t position) {
    Entry<Key> const probe = probe_entry(position);
    uint32_t const bucket = table_.bucket(probe.key);
    uint32_t begin = table_.starts()[bucket];
    uint32_t end = table_.starts()[bucket + 1];
    if (end - begin > kSortedFrom) {
      auto const [lower, upper] = equal_entries(table_.entries(), begin, end, probe.key);
      uint32_t const run = upper - lower;
      emit_run(probe, lower + std::min(run, segment_.first), lower + std::min(run, segment_.last));
    } else if (segment_.first == 0) {
      compare_each(probe, begin, end);
    }
  }

  // At most kSortedFrom entries.
  void compare_each(const Entry<Key>& probe, uint32_t begin, uint32_t end) {
    if (batch_.rows + (end - begin) > kBatchRows) flush();
    Entry<Key> const* const entries = table_.entries();
    uint32_t rows = batch_.rows;
    for (uint32_t i = begin; i < end; ++i) {
      batch_.keys[rows] = probe.key;
      batch_.build[rows] = entries[i].rest;
      batch_.probe[rows] = probe.rest;
      rows += entries[i].key == probe.key ? 1 : 0;
    }
    batch_.rows = rows;
  }

  void emit_run(const Entry<Key>& probe, uint32_t begin, uint32_t end) {
    Entry<Key> const* const entries = table_.entries();
    while (begin < end) {
      if (batch_.rows == kBatchRows) flush();
      uint32_t const rows = std::min(end - begin, kBatchRows - batch_.rows);
      std::fill_n(batch_.keys + batch_.rows, rows, probe.key);
      std::fill_n(batch_.probe + batch_.rows, rows, probe.rest);
      for (uint32_t i = 0; i < rows; ++i) batch_.build[batch_.rows + i] = entries[begin + i].rest;
      batch_.rows += rows;
      begin += rows;
    }
  }

  void flush() {
    flush_();
    batch_.rows = 0;
  }

  const PartitionTable<Key>& table_;
  ProbeRows probe_;
  Segment segment_;
  MatchBatch<Key>& batch_;
  const Flush& flush_;
};

// Matches of all segments together, without writing any.
template <typename Key>
uint64_t count_matches(const PartitionTable<Key>& table, const ProbeRows& probe) {
  uint64_t matches = 0;
  for (uint32_t position = probe.first; position < probe.last; ++position) {
    Key key;
    std::memcpy(&key, probe.rows + uint64_t{position} * probe.row_bytes, sizeof(key));
    uint32_t const bucket = table.bucket(key);
    uint32_t const begin = table.starts()[bucket];
    uint32_t const end = table.starts()[bucket + 1];
    if (end - begin > kSortedFrom) {
      auto const [lower, upper] = equal_entries(table.entries(), begin, end, key);
      matches += upper - lower;
    } else {
      for (uint32_t i = begin; i < end; ++i) matches += table.entries()[i].key == key ? 1 : 0;
    }
  }
  return matches;
}

}  // namespace gpujoin::cpu
