// match_state.hpp: what a worker keeps while it looks up probe rows: a batch of matches, and their
// way to the output.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <numeric>
#include <type_traits>
#include <utility>

#include "src/cpu/batch_filter.hpp"
#include "src/cpu/key_bits.hpp"
#include "src/cpu/line_table.hpp"
#include "src/cpu/match_sink.hpp"
#include "src/cpu/partition_table.hpp"
#include "src/cpu/probe_partition.hpp"
#include "src/cpu/probe_tables.hpp"
#include "src/cpu/sorted_prober.hpp"
#include "src/cpu/workers.hpp"

namespace gpujoin::cpu {

// Not thread-safe: one for each worker.
template <typename Key>
class MatchState {
 public:
  MatchState(const MatchFilter& filter, std::unique_ptr<MatchSink<Key>> sink)
      : sink_(std::move(sink)) {
    if (!filter.is_empty()) filter_ = std::make_unique<BatchFilter<Key>>(filter);
  }

  // Writes the matches of the rows.
  void run(Workers& workers, const PartitionTable<Key>& table, const ProbeRows& rows,
           Segment segment, const PartitionRows& build, const PartitionRows& probe,
           SharedRows shared) {
    run_with(workers, build, probe, shared, [&](const auto& flush) {
      using Flush = std::remove_cvref_t<decltype(flush)>;
      with_form_of(rows, [&](auto is_entry) {
        Prober<Key, is_entry(), Flush>(table, rows, segment, batch_, flush).run();
      });
    });
  }
  // The same, of build rows that are entries; other workers have matches of them.
  void run(Workers& workers, const PartitionTables<Key>& tables, const ProbeRows& rows,
           const PartitionRows& build, const PartitionRows& probe) {
    run_with(workers, build, probe, SharedRows::kOfBuild, [&](const auto& flush) {
      using Flush = std::remove_cvref_t<decltype(flush)>;
      with_form_of(rows, [&](auto is_entry) {
        TablesProber<Key, is_entry(), Flush>(tables, rows, batch_, flush).run();
      });
    });
  }

  void run(Workers& workers, const LineTable<Key>& table, const ProbeRows& rows,
           const PartitionRows& build, const PartitionRows& probe) {
    run_with(workers, build, probe, SharedRows::kOfBuild, [&](const auto& flush) {
      using Flush = std::remove_cvref_t<decltype(flush)>;
      with_form_of(rows, [&](auto is_entry) {
        LineProber<Key, is_entry(), Flush>(table, rows, batch_, flush).run();
      });
    });
  }

  // The same, of build rows that are found by their keys' numbers, where they lie or are placed.
  void run(Workers& workers, const KeyBits& keys, const ProbeRows& rows, const PartitionRows& build,
           const PartitionRows& probe) {
    run_with(workers, build, probe, SharedRows::kOfBuild, [&](const auto& flush) {
      with_form_of(rows, [&](auto is_entry) { look_up_bits<is_entry()>(keys, rows, flush); });
    });
  }

  // body(prober) of sides whose rows are not moved.
  template <typename Body>
  void run(Workers& workers, const SortedSides<Key>& sides, const PartitionRows& build,
           const PartitionRows& probe, SharedRows shared, const Body& body) {
    run_with(workers, build, probe, shared, [&](const auto& flush) {
      using Flush = std::remove_cvref_t<decltype(flush)>;
      SortedProber<Key, Flush> prober(sides, batch_, flush);
      body(prober);
    });
  }

 private:
  // body(true_type or false_type): whether the rows are entries.
  template <typename Body>
  static void with_form_of(const ProbeRows& rows, const Body& body) {
    if (rows.are_entries<Key>()) {
      body(std::true_type());
    } else {
      body(std::false_type());
    }
  }

  template <bool kRowIsEntry, typename Flush>
  void look_up_bits(const KeyBits& keys, const ProbeRows& rows, const Flush& flush) {
    for (uint32_t first = rows.first, end; first < rows.last; first = end) {
      end = begin_block<kProbeBlockRows>(rows, first, batch_, flush);
      Key* const numbers = batch_.build + batch_.rows;
      uint32_t found = batch_.rows;
      auto const* const column = reinterpret_cast<const Key*>(rows.rows);
      if (!kRowIsEntry && rows.row_bytes == sizeof(Key) &&
          keys.has_all(column + first, end - first, numbers)) {
        std::copy_n(column + first, end - first, batch_.keys + found);
        std::iota(batch_.probe + found, batch_.probe + found + (end - first),
                  static_cast<Key>(first));
        found += end - first;
      } else {
        for (uint32_t row = first; row < end; ++row) {
          auto const probe = entry_at<Key, kRowIsEntry>(rows.rows, rows.row_bytes, row);
          batch_.keys[found] = probe.key;
          batch_.probe[found] = probe.rest;
          batch_.build[found] = keys.number_of(probe.key);
          found += keys.has(probe.key) ? 1 : 0;
        }
      }
      if (keys.keeps_rows()) keys.to_rows(numbers, found - batch_.rows);
      batch_.rows = found;
    }
  }

  template <typename Probe>
  void run_with(Workers& workers, const PartitionRows& build, const PartitionRows& probe,
                SharedRows shared, const Probe& probe_rows) {
    auto const flush = [&] {
      workers.poll();
      if (filter_) filter_->apply(batch_, build, probe);
      sink_->write(batch_, build, probe, shared);
    };
    batch_.rows = 0;
    probe_rows(flush);
    if (batch_.rows != 0) flush();
  }

  MatchBatch<Key> batch_;
  std::unique_ptr<BatchFilter<Key>> filter_;  // null: every match is written
  std::unique_ptr<MatchSink<Key>> sink_;
};

}  // namespace gpujoin::cpu
