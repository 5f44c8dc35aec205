// probe_partition.hpp: probe rows against their partition's table; matches go to a batch.
//
// Most probe rows meet a place, or a bucket of no entry or of one: they are handled without a
// branch, the match is written and counted or overwritten by the next one. Rows that meet more
// entries are put aside for a second loop.
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

// Packed rows, or the values of a key column, whose entries are key and position.
struct ProbeRows {
  const std::byte* rows = nullptr;
  uint32_t row_bytes = 0;
  uint32_t first = 0;
  uint32_t last = 0;

  template <typename Key>
  bool are_entries() const {
    return row_bytes == sizeof(Entry<Key>);
  }
};

// The end of the block of at most kRows rows from `first` on; the batch then has room for a match
// of each. flush(): takes what is in the batch.
template <uint32_t kRows, typename Key, typename Flush>
uint32_t begin_block(const ProbeRows& rows, uint32_t first, MatchBatch<Key>& batch,
                     const Flush& flush) {
  uint32_t const end = first + std::min(kRows, rows.last - first);
  if (batch.rows + (end - first) > kBatchRows) {
    flush();
    batch.rows = 0;
  }
  return end;
}

// The part of each run of equal build keys that is longer than kSortedFrom. Shorter ones belong to
// the first segment.
struct Segment {
  uint32_t first = 0;
  uint32_t last = UINT32_MAX;
};

// kAtOnce: entries of a bucket that are compared together, some of them behind its last; 1 where
// the table is in no cache, and those behind may be a line that nobody asked for.
template <typename Key, bool kRowIsEntry, typename Flush, uint32_t kAtOnce = kReadBehind>
class Prober {
  static_assert(kAtOnce <= kReadBehind);

 public:
  struct Several {
    uint32_t position;
    Group group;
  };

  Prober(const PartitionTable<Key>& table, const ProbeRows& probe, Segment segment,
         MatchBatch<Key>& batch, const Flush& flush)
      : table_(table), probe_(probe), segment_(segment), batch_(batch), flush_(flush) {}

  // flush() is called with a batch that is full or almost so; rows may be left in it at the end.
  void run() {
    Several several[kProbeBlockRows];
    for (uint32_t block = probe_.first, end; block < probe_.last; block = end) {
      end = begin_block<kProbeBlockRows>(probe_, block, batch_, flush_);
      switch (table_.view().form) {
        case Form::kOnePlace:
          entries_of_places<false>(block, end);
          break;
        case Form::kTwoPlaces:
          entries_of_places<true>(block, end);
          break;
        case Form::kGroups:
          uint32_t const count = single_entries(block, end, several);
          for (uint32_t i = 0; i < count; ++i) several_entries(several[i]);
          break;
      }
    }
  }

  // A row that meets several entries.
  void several_entries(const Several& row) {
    Entry<Key> const probe = probe_entry(row.position);
    table_.visit_group(row.group, probe.key, [&](const Entry<Key>* first, const Entry<Key>* last) {
      auto const run = static_cast<uint32_t>(last - first);
      if (run > kSortedFrom) {
        emit_run(probe, first + std::min(run, segment_.first),
                 first + std::min(run, segment_.last));
      } else if (segment_.first == 0) {
        compare_each(probe, first, last);
      }
    });
  }

 private:
  Entry<Key> probe_entry(uint32_t position) const {
    return entry_at<Key, kRowIsEntry>(probe_.rows, probe_.row_bytes, position);
  }

  template <bool kTwoPlaces>
  void entries_of_places(uint32_t begin, uint32_t end) {
    TableView<Key> const view = table_.view();
    uint32_t rows = batch_.rows;
    for (uint32_t position = begin; position < end; ++position) {
      Entry<Key> const probe = probe_entry(position);
      auto const found = view.template find<kTwoPlaces>(probe.key, hash_of(probe.key));
      batch_.keys[rows] = probe.key;
      batch_.build[rows] = found.rest;
      batch_.probe[rows] = probe.rest;
      rows += found.entries;
    }
    if (segment_.first == 0) batch_.rows = rows;
  }

  // The rows that meet one entry at most. Answers how many meet more; several lists those.
  uint32_t single_entries(uint32_t begin, uint32_t end, Several* several) {
    TableView<Key> const view = table_.view();
    uint32_t rows = batch_.rows;
    uint32_t several_count = 0;
    for (uint32_t position = begin; position < end; ++position) {
      Entry<Key> const probe = probe_entry(position);
      Group group;
      auto const found = view.find_single(probe.key, hash_of(probe.key), &group);
      batch_.keys[rows] = probe.key;
      batch_.build[rows] = found.rest;
      batch_.probe[rows] = probe.rest;
      rows += found.entries;
      several[several_count] = {position, group};
      several_count += group.length > 1 ? 1 : 0;
    }
    if (segment_.first == 0) batch_.rows = rows;
    return several_count;
  }

  // At most kSortedFrom entries. How many there are changes from row to row, and nobody can predict
  // where a loop over each of them ends.
  void compare_each(const Entry<Key>& probe, const Entry<Key>* first, const Entry<Key>* last) {
    if (batch_.rows + static_cast<uint32_t>(last - first) + kAtOnce > kBatchRows) flush();
    uint32_t rows = batch_.rows;
    for (; first < last; first += kAtOnce) {
      auto const left = static_cast<uint32_t>(last - first);
      for (uint32_t i = 0; i < kAtOnce; ++i) {
        batch_.keys[rows] = probe.key;
        batch_.build[rows] = first[i].rest;
        batch_.probe[rows] = probe.rest;
        rows += static_cast<uint32_t>(i < left) & static_cast<uint32_t>(first[i].key == probe.key);
      }
    }
    batch_.rows = rows;
  }

  // Entries that all have the key.
  void emit_run(const Entry<Key>& probe, const Entry<Key>* first, const Entry<Key>* last) {
    while (first != last) {
      if (batch_.rows == kBatchRows) flush();
      uint32_t const rows = std::min(static_cast<uint32_t>(last - first), kBatchRows - batch_.rows);
      std::fill_n(batch_.keys + batch_.rows, rows, probe.key);
      std::fill_n(batch_.probe + batch_.rows, rows, probe.rest);
      for (uint32_t i = 0; i < rows; ++i) batch_.build[batch_.rows + i] = first[i].rest;
      batch_.rows += rows;
      first += rows;
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
    table.visit(key, [&](const Entry<Key>* first, const Entry<Key>* last) {
      if (last - first > kSortedFrom) {
        matches += static_cast<uint64_t>(last - first);
        return;
      }
      for (; first != last; ++first) matches += first->key == key ? 1 : 0;
    });
  }
  return matches;
}

}  // namespace gpujoin::cpu
