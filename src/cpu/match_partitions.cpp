#include "src/cpu/match_partitions.hpp"

#include <algorithm>
#include <atomic>
#include <memory>

#include "src/base/streaming.hpp"
#include "src/cpu/match_state.hpp"
#include "src/cpu/partition_table.hpp"
#include "src/cpu/probe_partition.hpp"

namespace gpujoin::cpu {

namespace {

// Probe rows of one task: a tenth of a millisecond's work, far more than it costs to hand it over.
constexpr uint64_t kChunkRows = uint64_t{1} << 16;
// Build rows of one run that one task copies out for a probe row.
constexpr uint64_t kSegmentRows = uint64_t{1} << 18;
// Matches that a task may have to write when all its probe rows meet the longest bucket.
constexpr uint64_t kTaskMatches = uint64_t{1} << 22;

// How the work on one partition is cut: chunks of probe rows by segments of runs.
struct Cut {
  uint64_t probe_rows = 0;
  uint64_t chunk_rows = 0;
  uint64_t chunks = 0;
  uint64_t segments = 0;

  Cut(uint32_t rows, uint32_t longest_run) : probe_rows(rows) {
    uint64_t const longest = std::max<uint64_t>(longest_run, 1);
    segments = (longest + kSegmentRows - 1) / kSegmentRows;
    uint64_t const per_row = std::min(longest, kSegmentRows);
    chunk_rows = std::clamp<uint64_t>(kTaskMatches / per_row, 16, kChunkRows);
    chunks = rows <= 2 * chunk_rows ? 1 : (rows + chunk_rows - 1) / chunk_rows;
    if (chunks == 1) chunk_rows = rows;
  }
  SharedRows shared() const {
    if (segments > 1) return SharedRows::kOfBoth;
    return chunks > 1 ? SharedRows::kOfBuild : SharedRows::kNone;
  }
  int64_t items() const { return static_cast<int64_t>(chunks * segments); }
  ProbeRows probe(const PartitionedRows& side, uint32_t partition, int64_t item) const {
    uint64_t const first = static_cast<uint64_t>(item) % chunks * chunk_rows;
    return {side.rows_of(partition), side.layout.row_bytes, static_cast<uint32_t>(first),
            static_cast<uint32_t>(std::min(first + chunk_rows, probe_rows))};
  }
  Segment segment(int64_t item) const {
    uint64_t const number = static_cast<uint64_t>(item) / chunks;
    if (segments == 1) return {};
    return {static_cast<uint32_t>(number * kSegmentRows),
            static_cast<uint32_t>((number + 1) * kSegmentRows)};
  }
};

// body(partition, table, probe rows, segment, what other workers have of it, worker) for all of
// them.
template <typename Key, typename Body>
void for_each_co_partition(base::Queue& queue, Workers& workers, const PartitionedRows& build,
                           const PartitionedRows& probe, const Body& body) {
  std::vector<PartitionTable<Key>> tables(static_cast<size_t>(workers.threads()));
  workers.for_each("match", build.partitions(), [&](int64_t item, int32_t worker) {
    auto const partition = static_cast<uint32_t>(item);
    if (build.rows_in(partition) == 0 || probe.rows_in(partition) == 0) return;
    PartitionTable<Key>& table = tables[static_cast<size_t>(worker)];
    table.build(queue.host_pool, build.rows_of(partition), build.layout.row_bytes,
                build.rows_in(partition), build.radix_bits);
    Cut const cut(probe.rows_in(partition), table.longest_run());
    auto const run = [&](int64_t piece, int32_t by) {
      body(partition, table, cut.probe(probe, partition, piece), cut.segment(piece), cut.shared(),
           by);
    };
    if (cut.items() == 1) {
      run(0, worker);
    } else {
      workers.for_each_inside(cut.items(), run);
    }
  });
}

template <typename Key>
void match(base::Queue& queue, Workers& workers, const PartitionedRows& build,
           const PartitionedRows& probe, const MatchFilter& filter, MatchSinks& sinks) {
  std::vector<std::unique_ptr<MatchState<Key>>> states(static_cast<size_t>(workers.threads()));
  for_each_co_partition<Key>(
      queue, workers, build, probe,
      [&](uint32_t partition, const PartitionTable<Key>& table, const ProbeRows& rows,
          Segment segment, SharedRows shared, int32_t worker) {
        auto& state = states[static_cast<size_t>(worker)];
        if (!state) state = std::make_unique<MatchState<Key>>(filter, sinks.make<Key>(worker));
        PartitionRows const of_build{&build.layout, build.rows_of(partition)};
        PartitionRows const of_probe{&probe.layout, probe.rows_of(partition)};
        state->run(workers, table, rows, segment, of_build, of_probe, shared);
        base::finish_streaming();
      });
}

template <typename Key>
uint64_t count(base::Queue& queue, Workers& workers, const PartitionedRows& build,
               const PartitionedRows& probe) {
  std::atomic<uint64_t> matches{0};
  for_each_co_partition<Key>(queue, workers, build, probe,
                             [&](uint32_t, const PartitionTable<Key>& table, const ProbeRows& rows,
                                 Segment segment, SharedRows, int32_t) {
                               // The count needs no segments: it does not visit the matches.
                               if (segment.first == 0) {
                                 matches.fetch_add(count_matches(table, rows),
                                                   std::memory_order_relaxed);
                               }
                             });
  return matches.load(std::memory_order_relaxed);
}

}  // namespace

void match_partitions(base::Queue& queue, Workers& workers, const PartitionedRows& build,
                      const PartitionedRows& probe, const MatchFilter& filter, MatchSinks& sinks) {
  if (build.layout.key_bytes == 4) {
    match<uint32_t>(queue, workers, build, probe, filter, sinks);
  } else {
    match<uint64_t>(queue, workers, build, probe, filter, sinks);
  }
}

uint64_t count_partitions_matches(base::Queue& queue, Workers& workers,
                                  const PartitionedRows& build, const PartitionedRows& probe) {
  return build.layout.key_bytes == 4 ? count<uint32_t>(queue, workers, build, probe)
                                     : count<uint64_t>(queue, workers, build, probe);
}

}  // namespace gpujoin::cpu
