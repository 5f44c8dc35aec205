// match_state.hpp: what a worker keeps while it looks up probe rows: a batch of matches, and their
// way to the output.
#pragma once

#include <cstdint>
#include <memory>
#include <type_traits>
#include <vector>

#include "src/cpu/batch_filter.hpp"
#include "src/cpu/batch_writer.hpp"
#include "src/cpu/partition_table.hpp"
#include "src/cpu/probe_partition.hpp"
#include "src/cpu/probe_tables.hpp"
#include "src/cpu/workers.hpp"

namespace gpujoin::cpu {

// Not thread-safe: one for each worker.
template <typename Key>
class MatchState {
 public:
  MatchState(const MatchFilter& filter, const std::vector<OutputSource>& sources,
             OutputRows& output)
      : writer_(sources, output) {
    if (!filter.is_empty()) filter_ = std::make_unique<BatchFilter<Key>>(filter);
  }

  // Writes the matches of the rows.
  void run(Workers& workers, const PartitionTable<Key>& table, const ProbeRows& rows,
           Segment segment, const PartitionRows& build, const PartitionRows& probe) {
    run_with(workers, build, probe, [&](const auto& flush) {
      using Flush = std::remove_cvref_t<decltype(flush)>;
      if (rows.are_entries<Key>()) {
        Prober<Key, true, Flush>(table, rows, segment, batch_, flush).run();
      } else {
        Prober<Key, false, Flush>(table, rows, segment, batch_, flush).run();
      }
    });
  }
  // The same, of build rows that are entries.
  void run(Workers& workers, const PartitionTables<Key>& tables, const ProbeRows& rows,
           const PartitionRows& build, const PartitionRows& probe) {
    run_with(workers, build, probe, [&](const auto& flush) {
      using Flush = std::remove_cvref_t<decltype(flush)>;
      if (rows.are_entries<Key>()) {
        TablesProber<Key, true, Flush>(tables, rows, batch_, flush).run();
      } else {
        TablesProber<Key, false, Flush>(tables, rows, batch_, flush).run();
      }
    });
  }

 private:
  template <typename Probe>
  void run_with(Workers& workers, const PartitionRows& build, const PartitionRows& probe,
                const Probe& probe_rows) {
    auto const flush = [&] {
      workers.poll();
      if (filter_) filter_->apply(batch_, build, probe);
      writer_.write(batch_, build, probe);
    };
    batch_.rows = 0;
    probe_rows(flush);
    if (batch_.rows != 0) flush();
  }

  MatchBatch<Key> batch_;
  std::unique_ptr<BatchFilter<Key>> filter_;  // null: every match is written
  BatchWriter<Key> writer_;
};

}  // namespace gpujoin::cpu
