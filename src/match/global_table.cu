// global_table.cu: host side of the non-partitioned hash join.
#include <cub/device/device_scan.cuh>

#include <algorithm>

#include "kernels/match/global_table.cuh"
#include "kernels/match/group_rows.cuh"
#include "src/base/device.hpp"
#include "src/base/launch.hpp"
#include "src/base/traffic.hpp"
#include "src/match/expand_ranges.hpp"
#include "src/match/match.hpp"

namespace gpujoin::match {

namespace {

using base::check;
using base::grid_of;
using base::stream_of;
using kernels::kStreamThreads;
using kernels::kStreamTile;

// Keys are unique: each probe row has at most one pair, written as it is found.
template <typename Key>
void probe_unique(base::Queue& queue, const kernels::GlobalTable<Key>& table,
                  const MatchSide& build, const MatchSide& probe, output::GrowingPairs& pairs) {
  constexpr uint32_t kTile = kernels::kProbeThreads * kernels::kEmitItems;
  uint64_t const tiles = (uint64_t{probe.rows} + kTile - 1) / kTile;
  auto const resident =
      static_cast<uint64_t>(queue.context.facts.sm_count) * kernels::kProbeBlocksPerSm;
  auto const grid = static_cast<uint32_t>(std::min(tiles, resident));
  kernels::ProbeGlobalTable<Key> args{};
  args.table = table;
  args.probe_keys = static_cast<const Key*>(probe.keys);
  args.probe_rows = probe.rows;
  args.resume = pairs.resume_points(grid);
  do {
    queue.check_cancelled();
    args.sink = pairs.sink();
    args.sink.build_row_ids = build.row_ids;
    args.sink.probe_row_ids = probe.row_ids;
    kernels::probe_global_table_kernel<Key>
        <<<grid, kernels::kProbeThreads, 0, stream_of(queue)>>>(args);
    check(cudaGetLastError(), "probing the hash table");
  } while (!pairs.collect(tiles));
}

// Rows of equal keys side by side: offsets of each representative's rows, [rows + 1], and the rows.
struct Groups {
  base::Buffer offsets;
  base::Buffer rows;
};

template <typename Key>
Groups group_rows(base::Queue& queue, const kernels::GlobalTable<Key>& table,
                  const MatchSide& build) {
  base::Pool& pool = *queue.device_pool;
  uint64_t const entries = uint64_t{build.rows} + 1;
  Groups groups;
  base::Buffer const counts =
      pool.allocate_rows<uint32_t>(base::Memory::kDevice, entries, "key counts");
  base::Buffer const representatives =
      pool.allocate_rows<uint32_t>(base::Memory::kDevice, build.rows, "representatives");
  base::Buffer const ranks =
      pool.allocate_rows<uint32_t>(base::Memory::kDevice, build.rows, "ranks");
  check(cudaMemsetAsync(counts.data(), 0, counts.bytes(), stream_of(queue)),
        "starting the key counts");
  unsigned const grid = grid_of(build.rows, kStreamTile);
  kernels::group_rows_kernel<Key><<<grid, kStreamThreads, 0, stream_of(queue)>>>(
      table, build.rows, counts.as<uint32_t>(), representatives.as<uint32_t>(),
      ranks.as<uint32_t>());
  check(cudaGetLastError(), "grouping rows by key");

  groups.offsets = pool.allocate_rows<uint32_t>(base::Memory::kDevice, entries, "group offsets");
  size_t bytes = 0;
  check(cub::DeviceScan::ExclusiveSum(nullptr, bytes, counts.as<uint32_t>(),
                                      groups.offsets.as<uint32_t>(), entries, stream_of(queue)),
        "sizing the sum of key counts");
  base::Buffer const storage = pool.allocate(base::Memory::kDevice, bytes, "scan storage");
  check(cub::DeviceScan::ExclusiveSum(storage.data(), bytes, counts.as<uint32_t>(),
                                      groups.offsets.as<uint32_t>(), entries, stream_of(queue)),
        "summing key counts");

  groups.rows = pool.allocate_rows<uint32_t>(base::Memory::kDevice, build.rows, "grouped rows");
  kernels::place_rows_kernel<<<grid, kStreamThreads, 0, stream_of(queue)>>>(
      representatives.as<uint32_t>(), ranks.as<uint32_t>(), groups.offsets.as<uint32_t>(),
      build.row_ids, build.rows, groups.rows.as<uint32_t>());
  check(cudaGetLastError(), "placing grouped rows");
  return groups;
}

template <typename Key>
void probe_groups(base::Queue& queue, const kernels::GlobalTable<Key>& table, const Groups& groups,
                  const MatchSide& probe, output::GrowingPairs& pairs) {
  base::Pool& pool = *queue.device_pool;
  base::Buffer const lower =
      pool.allocate_rows<uint32_t>(base::Memory::kDevice, probe.rows, "first matches");
  base::Buffer const counts =
      pool.allocate_rows<uint32_t>(base::Memory::kDevice, uint64_t{probe.rows} + 1, "match counts");
  kernels::find_ranges_kernel<Key>
      <<<grid_of(probe.rows, kStreamTile), kStreamThreads, 0, stream_of(queue)>>>(
          table, groups.offsets.as<uint32_t>(), static_cast<const Key*>(probe.keys), probe.rows,
          lower.as<uint32_t>(), counts.as<uint32_t>());
  check(cudaGetLastError(), "finding the matches' ranges");
  // The grouped rows are what a build position stands for.
  expand_ranges(queue, lower.as<uint32_t>(), counts.as<uint32_t>(), probe.rows,
                groups.rows.as<uint32_t>(), probe.row_ids, pairs);
}

}  // namespace

struct GlobalTable::Memory {
  int32_t key_width = 0;
  MatchSide build;
  uint64_t slot_count = 0;
  base::Buffer slots;
  base::Buffer has_duplicates;
  Groups groups;  // where keys repeat

  template <typename Key>
  kernels::GlobalTable<Key> view() const {
    return {slots.as<unsigned long long>(), slot_count - 1, has_duplicates.as<uint32_t>(),
            static_cast<const Key*>(build.keys)};
  }

  template <typename Key>
  void insert_keys(base::Queue& queue) {
    base::Pool& pool = *queue.device_pool;
    cudaStream_t const stream = stream_of(queue);
    // Twice as many slots as rows, so that every probe sequence ends, and soon.
    slot_count = base::traffic::global_table_slots(build.rows);
    slots =
        pool.allocate_rows<unsigned long long>(base::Memory::kDevice, slot_count, "the hash table");
    has_duplicates = pool.allocate_rows<uint32_t>(base::Memory::kDevice, 1, "the duplicates flag");
    check(cudaMemsetAsync(slots.data(), 0xff, slot_count * sizeof(unsigned long long), stream),
          "clearing the hash table");
    check(cudaMemsetAsync(has_duplicates.data(), 0, sizeof(uint32_t), stream),
          "clearing the duplicates flag");
    kernels::build_global_table_kernel<Key>
        <<<grid_of(build.rows, kStreamTile), kStreamThreads, 0, stream>>>(view<Key>(), build.rows);
    check(cudaGetLastError(), "building the hash table");
    queue.check_cancelled();
    bool const repeats =
        base::read_back(queue, static_cast<const uint32_t*>(has_duplicates.data())) != 0;
    if (repeats) groups = group_rows(queue, view<Key>(), build);
  }

  template <typename Key>
  void probe_keys(base::Queue& queue, const MatchSide& probe, output::GrowingPairs& pairs) const {
    kernels::GlobalTable<Key> const table = view<Key>();
    if (groups.rows) return probe_groups(queue, table, groups, probe, pairs);
    probe_unique(queue, table, build, probe, pairs);
  }
};

GlobalTable::GlobalTable(base::Queue& queue, int32_t key_width, const MatchSide& build)
    : memory_(new Memory{key_width, build, 0, {}, {}, {}}) {
  if (build.rows == 0) return;
  base::with_key_type(key_width, [&](auto zero) { memory_->insert_keys<decltype(zero)>(queue); });
}

GlobalTable::~GlobalTable() = default;

void GlobalTable::probe(base::Queue& queue, const MatchSide& probe,
                        output::GrowingPairs& pairs) const {
  if (memory_->build.rows == 0 || probe.rows == 0) return;
  base::with_key_type(memory_->key_width,
                      [&](auto zero) { memory_->probe_keys<decltype(zero)>(queue, probe, pairs); });
}

void global_table(base::Queue& queue, int32_t key_width, const MatchSide& build,
                  const MatchSide& probe, output::GrowingPairs& pairs) {
  GlobalTable(queue, key_width, build).probe(queue, probe, pairs);
}

}  // namespace gpujoin::match
