// global_table.cu: host side of the non-partitioned hash join.
#include <algorithm>

#include "kernels/match/global_table.cuh"
#include "src/base/device.hpp"
#include "src/base/launch.hpp"
#include "src/base/traffic.hpp"
#include "src/match/match.hpp"

namespace gpujoin::match {

namespace {

using base::check;
using base::Memory;
using base::stream_of;

template <typename Key>
void run(base::Context& context, const MatchSide& build, const MatchSide& probe,
         output::GrowingPairs& pairs) {
  base::Pool& pool = *context.device_pool;
  // Twice as many slots as rows, so that every probe sequence ends, and soon.
  uint64_t const slots = base::traffic::global_table_slots(build.rows);
  base::Buffer const table_memory =
      pool.allocate_rows<unsigned long long>(Memory::kDevice, slots, "the hash table");
  base::Buffer const next = pool.allocate_rows<uint32_t>(Memory::kDevice, uint64_t{build.rows} + 1,
                                                         "chains of the hash table");
  base::Buffer const flag = pool.allocate_rows<uint32_t>(Memory::kDevice, 1, "the duplicates flag");
  check(cudaMemsetAsync(table_memory.data(), 0xff, slots * sizeof(unsigned long long),
                        stream_of(context)),
        "clearing the hash table");
  check(cudaMemsetAsync(flag.data(), 0, sizeof(uint32_t), stream_of(context)),
        "clearing the duplicates flag");

  kernels::GlobalTable<Key> const table{table_memory.as<unsigned long long>(), slots - 1,
                                        next.as<uint32_t>(), flag.as<uint32_t>(),
                                        static_cast<const Key*>(build.keys)};
  kernels::build_global_table_kernel<Key>
      <<<base::grid_of(build.rows, kernels::kStreamTile), kernels::kStreamThreads, 0,
         stream_of(context)>>>(table, build.rows);
  check(cudaGetLastError(), "building the hash table");

  constexpr uint32_t kTile = kernels::kProbeThreads * kernels::kEmitItems;
  uint64_t const tiles = (uint64_t{probe.rows} + kTile - 1) / kTile;
  auto const resident = static_cast<uint64_t>(context.facts.sm_count) * kernels::kProbeBlocksPerSm;
  auto const grid = static_cast<uint32_t>(std::min(tiles, resident));
  kernels::ProbeGlobalTable<Key> args{};
  args.table = table;
  args.probe_keys = static_cast<const Key*>(probe.keys);
  args.probe_rows = probe.rows;
  args.resume = pairs.resume_points(grid);
  do {
    context.check_cancelled();
    args.sink = pairs.sink();
    args.sink.build_row_ids = build.row_ids;
    args.sink.probe_row_ids = probe.row_ids;
    kernels::probe_global_table_kernel<Key>
        <<<grid, kernels::kProbeThreads, 0, stream_of(context)>>>(args);
    check(cudaGetLastError(), "probing the hash table");
  } while (!pairs.collect(tiles));
}

}  // namespace

void global_table(base::Context& context, int32_t key_width, const MatchSide& build,
                  const MatchSide& probe, output::GrowingPairs& pairs) {
  if (build.rows == 0 || probe.rows == 0) return;
  base::with_key_type(key_width,
                      [&](auto zero) { run<decltype(zero)>(context, build, probe, pairs); });
}

}  // namespace gpujoin::match
