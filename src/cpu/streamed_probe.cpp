#include "src/cpu/streamed_probe.hpp"

#include <atomic>
#include <cstddef>
#include <memory>
#include <optional>

#include "src/base/streaming.hpp"
#include "src/cpu/match_state.hpp"
#include "src/cpu/pack_rows.hpp"
#include "src/cpu/streamed_blocks.hpp"

namespace gpujoin::cpu {

namespace {

// run(state, probe rows, their side) of each worker's state.
template <typename Key, typename Run>
void match_blocks(base::Queue& queue, Workers& workers, const PartitionedRows& probe,
                  const MatchFilter& filter, MatchSinks& sinks, const Run& run) {
  std::vector<std::unique_ptr<MatchState<Key>>> states(static_cast<size_t>(workers.threads()));
  for_each_block<Key>(queue, workers, probe, [&](const ProbeRows& rows, int32_t worker) {
    auto& state = states[static_cast<size_t>(worker)];
    if (!state) state = std::make_unique<MatchState<Key>>(filter, sinks.make<Key>(worker));
    run(*state, rows, PartitionRows{&probe.layout, rows.rows});
    base::finish_streaming();
  });
}

template <typename Key>
struct TablesOfKeys final : KeptTables {
  TablesOfKeys(base::Queue& queue, Workers& workers, const PartitionedRows& build) {
    if (build.radix_bits != 0) lines = LineTable<Key>::make(queue, workers, build);
    if (lines == nullptr) tables.emplace(queue, workers, build);
  }
  bool are_keys_unique() const override { return lines != nullptr; }

  std::unique_ptr<const LineTable<Key>> lines;
  std::optional<PartitionTables<Key>> tables;  // none where there are lines
};

template <typename Key>
void match(base::Queue& queue, Workers& workers, const PartitionedRows& build,
           const KeptTables* kept, const PartitionedRows& probe, const MatchFilter& filter,
           MatchSinks& sinks) {
  if (build.begin.back() == 0) return;
  std::optional<TablesOfKeys<Key>> own;
  if (kept == nullptr) kept = &own.emplace(queue, workers, build);
  auto const& of_keys = *static_cast<const TablesOfKeys<Key>*>(kept);
  PartitionRows const of_build{&build.layout, build.rows_of(0)};
  match_blocks<Key>(
      queue, workers, probe, filter, sinks,
      [&](MatchState<Key>& state, const ProbeRows& rows, const PartitionRows& of_probe) {
        if (of_keys.lines != nullptr) {
          state.run(workers, *of_keys.lines, rows, of_build, of_probe);
        } else if (of_keys.tables->is_one()) {
          state.run(workers, of_keys.tables->table(0), rows, {}, of_build, of_probe,
                    SharedRows::kOfBuild);
        } else {
          state.run(workers, *of_keys.tables, rows, of_build, of_probe);
        }
      });
}

template <typename Key>
void match_bits(base::Queue& queue, Workers& workers, const KeyBits& keys,
                const PartitionedRows& build, const PartitionedRows& probe,
                const MatchFilter& filter, MatchSinks& sinks) {
  constexpr uint64_t kCacheBytes = uint64_t{512} << 10;
  PartitionRows const of_build{&build.layout, build.rows.as<std::byte>(),
                               build.rows.bytes() > kCacheBytes};
  match_blocks<Key>(
      queue, workers, probe, filter, sinks,
      [&](MatchState<Key>& state, const ProbeRows& rows, const PartitionRows& of_probe) {
        state.run(workers, keys, rows, of_build, of_probe);
      });
}

template <typename Key>
uint64_t count(base::Queue& queue, Workers& workers, const PartitionedRows& build,
               const PartitionedRows& probe) {
  if (build.begin.back() == 0) return 0;
  PartitionTables<Key> const tables(queue, workers, build);
  std::atomic<uint64_t> matches{0};
  for_each_block<Key>(queue, workers, probe, [&](const ProbeRows& rows, int32_t) {
    uint64_t const found =
        tables.is_one() ? count_matches(tables.table(0), rows) : count_matches(tables, rows);
    matches.fetch_add(found, std::memory_order_relaxed);
  });
  return matches.load(std::memory_order_relaxed);
}

}  // namespace

bool streams_probe(uint64_t build_rows, uint64_t probe_rows, bool is_hashed) {
  constexpr uint64_t kMostBuildRows = uint64_t{1} << 16;  // a table of 1 MiB of keys of 4 bytes
  // Two threads of an AMD EPYC, two keys of 8 bytes, 2^22 probe rows, ms in partitions and so: 2^17
  // build rows 68 and 46, 2^18 69 and 52, 2^19 77 and 151.
  constexpr uint64_t kMostHashedRows = uint64_t{1} << 18;
  return build_rows <= (is_hashed ? kMostHashedRows : kMostBuildRows) && probe_rows >= build_rows;
}

void pack_side(base::Queue& queue, PartitionedRows& side) {
  side.radix_bits = 0;
  side.rows = queue.host_pool->allocate(base::Memory::kHost,
                                        base::checked_bytes(side.input_rows, side.layout.row_bytes),
                                        "packed rows");
  uint32_t const rows = pack_range(side.layout, 0, side.input_rows, side.rows.as<std::byte>());
  side.begin = {0, rows};
}

std::unique_ptr<const KeptTables> keep_tables(base::Queue& queue, Workers& workers,
                                              const PartitionedRows& build) {
  if (build.layout.key_bytes == 4) {
    return std::make_unique<TablesOfKeys<uint32_t>>(queue, workers, build);
  }
  return std::make_unique<TablesOfKeys<uint64_t>>(queue, workers, build);
}

void match_streamed(base::Queue& queue, Workers& workers, const PartitionedRows& build,
                    const KeptTables* tables, const PartitionedRows& probe,
                    const MatchFilter& filter, MatchSinks& sinks) {
  if (build.layout.key_bytes == 4) {
    match<uint32_t>(queue, workers, build, tables, probe, filter, sinks);
  } else {
    match<uint64_t>(queue, workers, build, tables, probe, filter, sinks);
  }
}

void match_key_bits(base::Queue& queue, Workers& workers, const KeyBits& keys,
                    const PartitionedRows& build, const PartitionedRows& probe,
                    const MatchFilter& filter, MatchSinks& sinks) {
  if (probe.layout.key_bytes == 4) {
    match_bits<uint32_t>(queue, workers, keys, build, probe, filter, sinks);
  } else {
    match_bits<uint64_t>(queue, workers, keys, build, probe, filter, sinks);
  }
}

uint64_t count_streamed_matches(base::Queue& queue, Workers& workers, const PartitionedRows& build,
                                const PartitionedRows& probe) {
  return build.layout.key_bytes == 4 ? count<uint32_t>(queue, workers, build, probe)
                                     : count<uint64_t>(queue, workers, build, probe);
}

}  // namespace gpujoin::cpu
