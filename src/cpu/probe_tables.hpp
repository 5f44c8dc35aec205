// probe_tables.hpp: probe rows in any order against the tables of all build partitions.
//
// Each row meets another table, and what it reads there is in no cache. So a block of rows is gone
// through twice (group prefetching, Chen et al., ICDE 2004): the first time asks for what the
// second reads.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "src/base/prefetch.hpp"
#include "src/cpu/partition_table.hpp"
#include "src/cpu/probe_partition.hpp"
#include "src/cpu/radix_partition.hpp"
#include "src/cpu/workers.hpp"

namespace gpujoin::cpu {

// A table of each build partition, all kept.
template <typename Key>
class PartitionTables {
 public:
  PartitionTables(base::Queue& queue, Workers& workers, const PartitionedRows& build)
      : radix_bits_(build.radix_bits), tables_(build.partitions()), views_(build.partitions()) {
    while (!is_one() && number_of(hash_of(none_of_first_.key)) == 0) ++none_of_first_.key;
    workers.for_each("match", build.partitions(), [&](int64_t item, int32_t) {
      auto const number = static_cast<uint32_t>(item);
      if (build.rows_in(number) == 0) {
        // Its one place has a key that is never looked up there: 0, and in the first partition, to
        // which 0 belongs, a key of another.
        views_[number].entries = number == 0 ? &none_of_first_ : &none_;
        return;
      }
      PartitionTable<Key>& table = tables_[number];
      table.build(queue.host_pool, build.rows_of(number), build.layout.row_bytes,
                  build.rows_in(number), build.radix_bits);
      views_[number] = table.view();
    });
  }

  bool is_one() const { return radix_bits_ == 0; }
  // No bits: the first.
  uint32_t number_of(uint32_t hash) const {
    return static_cast<uint32_t>(uint64_t{hash} >> (32 - radix_bits_));
  }
  const TableView<Key>& view(uint32_t number) const { return views_[number]; }
  // Of a partition with rows.
  const PartitionTable<Key>& table(uint32_t number) const { return tables_[number]; }

 private:
  uint32_t radix_bits_;
  Entry<Key> none_{};
  Entry<Key> none_of_first_{};
  std::vector<PartitionTable<Key>> tables_;
  std::vector<TableView<Key>> views_;
};

template <typename Key, bool kRowIsEntry, typename Flush>
class TablesProber {
 public:
  TablesProber(const PartitionTables<Key>& tables, const ProbeRows& probe, MatchBatch<Key>& batch,
               const Flush& flush)
      : tables_(tables), probe_(probe), batch_(batch), flush_(flush) {}

  // As Prober::run.
  void run() {
    for (uint32_t block = probe_.first, end; block < probe_.last; block = end) {
      end = begin_block<kBlockRows>(probe_, block, batch_, flush_);
      ask_for(block, end);
      Several several[kBlockRows];
      uint32_t const count = single_entries(block, end, several);
      for (uint32_t i = 0; i < count; ++i) {
        auto const& table = tables_.table(tables_.number_of(hashes_[several[i].position - block]));
        OneRow(table, probe_, {}, batch_, flush_).several_entries(several[i]);
      }
    }
  }

 private:
  using OneRow = Prober<Key, kRowIsEntry, Flush, 1>;
  using Several = typename OneRow::Several;
  // What they ask for is on its way at once, and stays in the second cache.
  static constexpr uint32_t kBlockRows = 128;

  Entry<Key> probe_entry(uint32_t row) const {
    return entry_at<Key, kRowIsEntry>(probe_.rows, probe_.row_bytes, row);
  }
  const TableView<Key>& view_of(uint32_t hash) const {
    return tables_.view(tables_.number_of(hash));
  }

  void ask_for(uint32_t begin, uint32_t end) {
    bool has_groups = false;
    for (uint32_t row = begin; row < end; ++row) {
      Key const key = probe_entry(row).key;
      uint32_t const hash = hash_of(key);
      hashes_[row - begin] = hash;
      TableView<Key> const& view = view_of(hash);
      uint32_t const bucket = view.bucket_of(hash);
      if (view.form == Form::kGroups) {
        base::ask_for(view.starts + bucket);
        has_groups = true;
        continue;
      }
      base::ask_for(view.entries + bucket);
      if (view.form == Form::kTwoPlaces) {
        base::ask_for(view.entries + second_place_of(key, view.bucket_bits));
      }
    }
    if (!has_groups) return;
    for (uint32_t i = 0; i < end - begin; ++i) {
      TableView<Key> const& view = view_of(hashes_[i]);
      if (view.form != Form::kGroups) continue;
      base::ask_for(view.entries + view.starts[view.bucket_of(hashes_[i])]);
    }
  }

  // The rows that meet one entry at most. Answers how many meet more; several lists those.
  uint32_t single_entries(uint32_t begin, uint32_t end, Several* several) {
    uint32_t rows = batch_.rows;
    uint32_t several_count = 0;
    for (uint32_t row = begin; row < end; ++row) {
      Entry<Key> const probe = probe_entry(row);
      uint32_t const hash = hashes_[row - begin];
      TableView<Key> const& view = view_of(hash);
      Group group{0, 1};
      auto const found = view.form == Form::kGroups ? view.find_single(probe.key, hash, &group)
                                                    : view.find(probe.key, hash);
      batch_.keys[rows] = probe.key;
      batch_.build[rows] = found.rest;
      batch_.probe[rows] = probe.rest;
      rows += found.entries;
      several[several_count] = {row, group};
      several_count += group.length > 1 ? 1 : 0;
    }
    batch_.rows = rows;
    return several_count;
  }

  const PartitionTables<Key>& tables_;
  ProbeRows probe_;
  MatchBatch<Key>& batch_;
  const Flush& flush_;
  uint32_t hashes_[kBlockRows];
};

// Matches, without writing any.
template <typename Key>
uint64_t count_matches(const PartitionTables<Key>& tables, const ProbeRows& probe) {
  uint64_t matches = 0;
  for (uint32_t row = probe.first; row < probe.last; ++row) {
    Key const key = entry_at<Key, false>(probe.rows, probe.row_bytes, row).key;
    uint32_t const number = tables.number_of(hash_of(key));
    if (tables.view(number).bucket_of.mask == 0) continue;  // a partition without rows
    matches +=
        count_matches(tables.table(number), ProbeRows{probe.rows, probe.row_bytes, row, row + 1});
  }
  return matches;
}

}  // namespace gpujoin::cpu
