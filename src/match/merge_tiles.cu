// merge_tiles.cu: host side of the join of sides in order.
#include "src/match/merge_tiles.hpp"

#include <algorithm>

#include "kernels/match/carried_columns.cuh"
#include "kernels/match/merge_tiles.cuh"
#include "src/base/device.hpp"
#include "src/base/launch.hpp"
#include "src/match/carried_units.hpp"

namespace gpujoin::match {

namespace {

using base::Memory;

// Rows of a key that begins in a tile belong to it: room for those.
constexpr uint32_t kTileRows = kernels::kCarriedBuildRows - 512;

// Both sides cut at the same keys.
struct Tiles {
  uint32_t count;
  base::Buffer build_offsets;
  base::Buffer probe_offsets;
  base::Buffer order;
  base::Buffer unit_ends;
};

template <typename Key>
Tiles cut(base::Queue& queue, const TableSide& build, const TableSide& probe) {
  base::Pool& pool = *queue.device_pool;
  Tiles tiles;
  tiles.count = (build.rows - 1) / kTileRows + 1;
  auto const offsets = [&] {
    return pool.allocate_rows<uint32_t>(Memory::kDevice, uint64_t{tiles.count} + 1,
                                        "tiles of sides in order");
  };
  tiles.build_offsets = offsets();
  tiles.probe_offsets = offsets();
  tiles.order = pool.allocate_rows<kernels::OrderState>(Memory::kDevice, 1, "the order of keys");
  tiles.unit_ends =
      pool.allocate_rows<unsigned long long>(Memory::kDevice, tiles.count, "work units");
  base::check(cudaMemsetAsync(tiles.order.data(), 0, tiles.order.bytes(), base::stream_of(queue)),
              "clearing the order of keys");
  kernels::ordered_tiles_kernel<Key>
      <<<base::grid_of(uint64_t{tiles.count} + 1, kernels::kStreamThreads), kernels::kStreamThreads,
         0, base::stream_of(queue)>>>(
          static_cast<const Key*>(build.keys), build.rows, static_cast<const Key*>(probe.keys),
          probe.rows, kTileRows, tiles.count, tiles.build_offsets.as<uint32_t>(),
          tiles.probe_offsets.as<uint32_t>(), tiles.order.as<kernels::OrderState>());
  base::check(cudaGetLastError(), "cutting sides in order");
  kernels::PartitionView of_build{};
  kernels::PartitionView of_probe{};
  of_build.offsets = tiles.build_offsets.as<uint32_t>();
  of_probe.offsets = tiles.probe_offsets.as<uint32_t>();
  count_carried_units(queue, of_build, of_probe, tiles.count,
                      {.unit_rows = kernels::kCarriedProbeRows},
                      tiles.unit_ends.as<unsigned long long>());
  return tiles;
}

template <typename Key, int kWidth>
std::optional<WrittenRows> join(base::Queue& queue, const plan::JoinPlan& plan,
                                const TableSide& build, const TableSide& probe,
                                const std::vector<CarriedOutput>& outputs, uint64_t most_rows) {
  using Match = kernels::MergeTiles<Key, kWidth, kernels::CarriedShape<sizeof(Key)>>;
  Tiles const tiles = cut<Key>(queue, build, probe);
  auto const kernel = kernels::carried_columns_kernel<Match>;
  constexpr uint64_t kShared = (sizeof(typename Match::Shared) + 15) / 16 * 16;
  uint32_t const resident = base::resident_blocks(queue, kernel, Match::kThreads, kShared,
                                                  "asking for shared memory of the join of tiles");
  auto const blocks = static_cast<uint32_t>(std::min<uint64_t>(
      resident, uint64_t{tiles.count} + probe.rows / kernels::kCarriedProbeRows));
  typename Match::Join args{};
  args.build_keys = static_cast<const Key*>(build.keys);
  args.probe_keys = static_cast<const Key*>(probe.keys);
  args.build_offsets = tiles.build_offsets.as<uint32_t>();
  args.probe_offsets = tiles.probe_offsets.as<uint32_t>();
  args.partitions = tiles.count;
  args.unit_ends = tiles.unit_ends.as<unsigned long long>();
  args.joins_all = true;
  args.most_match = plan.expected_rows >= probe.rows / 2;
  args.order = tiles.order.as<kernels::OrderState>();
  ChunkedColumns columns(queue, outputs, 0, most_rows);
  columns.expect(static_cast<uint64_t>(std::max<int64_t>(plan.expected_rows, 0)), blocks);
  for (;;) {
    queue.check_cancelled();
    columns.start(&args);
    columns.add_launch(blocks);
    base::launch_dependent(queue, kernel, blocks, Match::kThreads, kShared, "joining tiles", args);
    bool const is_done = columns.collect();
    if (columns.any_left()) return std::nullopt;
    if (is_done) return columns.finish();
    columns.require(blocks);
  }
}

}  // namespace

std::optional<WrittenRows> merge_tiles(base::Queue& queue, const plan::JoinPlan& plan,
                                       int32_t key_width, const TableSide& build,
                                       const TableSide& probe,
                                       const std::vector<CarriedOutput>& outputs,
                                       uint64_t most_rows) {
  if (build.rows == 0 || probe.rows == 0) return WrittenRows{};
  return base::with_key_type(key_width, [&](auto zero) {
    using Key = decltype(zero);
    switch (common_width(outputs)) {
      case 4:
        return join<Key, 4>(queue, plan, build, probe, outputs, most_rows);
      case 8:
        return join<Key, 8>(queue, plan, build, probe, outputs, most_rows);
      default:
        return join<Key, 0>(queue, plan, build, probe, outputs, most_rows);
    }
  });
}

}  // namespace gpujoin::match
