// histogram_partition.cu: host side of the partitionings that count first: a histogram for each
// thread, warp or block.
#include <cub/device/device_scan.cuh>

#include <algorithm>
#include <type_traits>

#include "kernels/papers/histogram_block.cuh"
#include "kernels/papers/histogram_thread.cuh"
#include "kernels/papers/histogram_warp.cuh"
#include "kernels/value_type.cuh"
#include "src/base/device.hpp"
#include "src/base/launch.hpp"
#include "src/papers/orders.hpp"
#include "src/transform/partitioning.hpp"

namespace gpujoin::papers {

namespace {

using base::check;
using base::Memory;
using base::stream_of;
using plan::Transform;

// What a block does.
struct BlockShape {
  uint32_t threads;
  uint32_t histograms;
  uint32_t tile_rows;
};

// Threads with a histogram of their own take more rows of a large input: as many as leave each
// multiprocessor some blocks.
uint32_t rows_of_thread(base::Queue& queue, uint32_t rows) {
  constexpr uint32_t kBlocksPerSm = 12;
  uint64_t const threads = static_cast<uint64_t>(queue.context.facts.sm_count) * kBlocksPerSm *
                           kernels::kThreadHistogramThreads;
  uint64_t const share = uint64_t{rows} / std::max<uint64_t>(threads, 1);
  return static_cast<uint32_t>(std::clamp<uint64_t>(share, kernels::kThreadHistogramLeastRows,
                                                    kernels::kThreadHistogramMostRows));
}

BlockShape shape_of(base::Queue& queue, Transform technique, uint32_t rows) {
  switch (technique) {
    case Transform::kHistogramThread:
      return {kernels::kThreadHistogramThreads, kernels::kThreadHistogramThreads,
              kernels::kThreadHistogramThreads * rows_of_thread(queue, rows)};
    case Transform::kHistogramWarp:
      return {kernels::kWarpHistogramThreads, kernels::kWarpHistogramWarps,
              kernels::kWarpHistogramTile};
    default:
      return {kernels::kBlockHistogramThreads, 1, kernels::kBlockHistogramTile};
  }
}

template <typename Key>
auto counting_kernel(Transform technique) {
  switch (technique) {
    case Transform::kHistogramThread:
      return kernels::count_by_thread_kernel<Key>;
    case Transform::kHistogramWarp:
      return kernels::count_by_warp_kernel<Key>;
    default:
      return kernels::count_by_block_kernel<Key>;
  }
}

template <typename Key, typename Value>
auto reordering_kernel(Transform technique) {
  if constexpr (std::is_same_v<Value, uint32_t>) {
    if (technique == Transform::kHistogramBlock) {
      return kernels::reorder_by_block_kernel<Key, Value>;
    }
  }
  switch (technique) {
    case Transform::kHistogramThread:
      return kernels::reorder_by_thread_kernel<Key, Value>;
    case Transform::kHistogramWarp:
      return kernels::reorder_by_warp_kernel<Key, Value>;
    default:
      base::fail(GPUJOIN_ERROR_INTERNAL, "transform=%s moves row numbers only",
                 plan::to_text(technique));
  }
}

template <typename Kernel, typename... Args>
void launch(base::Queue& queue, const char* doing, Kernel* kernel, unsigned grid, unsigned threads,
            uint64_t shared_bytes, Args... args) {
  base::allow_shared(queue, kernel, "asking for shared memory of a partitioning");
  kernel<<<grid, threads, shared_bytes, stream_of(queue)>>>(args...);
  check(cudaGetLastError(), doing);
}

void exclusive_sum(base::Queue& queue, uint32_t* counters, uint64_t number) {
  size_t bytes = 0;
  check(cub::DeviceScan::ExclusiveSum(nullptr, bytes, counters, counters, number, stream_of(queue)),
        "sizing the scan of histograms");
  base::Buffer const storage = queue.device_pool->allocate(Memory::kDevice, bytes, "scan storage");
  check(cub::DeviceScan::ExclusiveSum(storage.data(), bytes, counters, counters, number,
                                      stream_of(queue)),
        "scanning histograms");
}

// Where rows come from and go to.
template <typename Key, typename Value>
struct Move {
  const Key* keys;
  const Value* values;
  Key* keys_out;
  Value* values_out;
};

// One pass. Returns the scanned counters.
template <typename Key, typename Value>
base::Buffer run_pass(base::Queue& queue, Transform technique, const BlockShape& shape,
                      const kernels::HistogramPass& pass, unsigned tiles,
                      const Move<Key, Value>& move) {
  queue.check_cancelled();
  uint64_t const histogram_bytes = uint64_t{pass.digits} * shape.histograms * sizeof(uint32_t);
  uint64_t const counters = uint64_t{tiles} * shape.histograms * pass.digits;
  base::Buffer positions =
      queue.device_pool->allocate_rows<uint32_t>(Memory::kDevice, counters, "histograms");
  auto* const counts = positions.as<uint32_t>();
  launch(queue, "counting rows of partitions", counting_kernel<Key>(technique), tiles,
         shape.threads, histogram_bytes, move.keys, pass, counts);
  exclusive_sum(queue, counts, counters);
  launch(queue, "reordering rows by partition", reordering_kernel<Key, Value>(technique), tiles,
         shape.threads, histogram_bytes, move.keys, move.values, pass,
         static_cast<const uint32_t*>(counts), move.keys_out, move.values_out);
  return positions;
}

// The second pass's tiles: each lies within a partition of the first.
base::Buffer cut_into_tiles(base::Queue& queue, const base::Buffer& positions, unsigned first_tiles,
                            const BlockShape& shape, const kernels::HistogramPass& first,
                            unsigned max_tiles) {
  base::Pool& pool = *queue.device_pool;
  uint64_t const bounds = uint64_t{first.digits} + 1;
  base::Buffer const offsets =
      pool.allocate_rows<uint32_t>(Memory::kDevice, bounds, "partition offsets");
  base::Buffer const tiles_before =
      pool.allocate_rows<uint32_t>(Memory::kDevice, bounds, "tiles of partitions");
  base::Buffer tiles =
      pool.allocate_rows<kernels::PartitionTile>(Memory::kDevice, max_tiles, "tiles of partitions");
  kernels::cut_partitions_kernel<<<1, kernels::kPartitionSumThreads, 0, stream_of(queue)>>>(
      positions.as<uint32_t>(), uint64_t{first_tiles} * shape.histograms, first.digits, first.rows,
      shape.tile_rows, offsets.as<uint32_t>(), tiles_before.as<uint32_t>());
  check(cudaGetLastError(), "cutting partitions into tiles");
  kernels::place_tiles_kernel<<<base::grid_of(max_tiles, kernels::kStreamThreads),
                                kernels::kStreamThreads, 0, stream_of(queue)>>>(
      offsets.as<uint32_t>(), tiles_before.as<uint32_t>(), first.digits, shape.tile_rows, max_tiles,
      tiles.as<kernels::PartitionTile>());
  check(cudaGetLastError(), "placing tiles");
  return tiles;
}

template <typename Key, typename Value>
void partition(base::Queue& queue, const Order& order, uint32_t rows,
               const Move<Key, Value>& move) {
  BlockShape const shape = shape_of(queue, order.technique, rows);
  unsigned const first_tiles = base::grid_of(rows, shape.tile_rows);
  transform::PassBits const upper = first_pass(order);
  kernels::HistogramPass first{};
  first.rows = rows;
  first.tile_rows = shape.tile_rows;
  first.shift = upper.shift;
  first.digits = 1U << upper.bits;
  if (order.passes == 1) {
    run_pass(queue, order.technique, shape, first, first_tiles, move);
    return;
  }
  base::Pool& pool = *queue.device_pool;
  base::Buffer const keys = pool.allocate_rows<Key>(Memory::kDevice, rows, "keys between passes");
  base::Buffer const values =
      pool.allocate_rows<Value>(Memory::kDevice, rows, "a column between passes");
  unsigned const max_tiles =
      base::grid_of(uint64_t{rows} + uint64_t{first.digits} * shape.tile_rows, shape.tile_rows);
  base::Buffer tiles;
  {
    base::Buffer const positions =
        run_pass(queue, order.technique, shape, first, first_tiles,
                 Move<Key, Value>{move.keys, move.values, keys.as<Key>(), values.as<Value>()});
    tiles = cut_into_tiles(queue, positions, first_tiles, shape, first, max_tiles);
  }
  transform::PassBits const lower = second_pass(order);
  kernels::HistogramPass second = first;
  second.tiles = tiles.as<kernels::PartitionTile>();
  second.shift = lower.shift;
  second.digits = 1U << lower.bits;
  run_pass(queue, order.technique, shape, second, max_tiles,
           Move<Key, Value>{keys.as<Key>(), values.as<Value>(), move.keys_out, move.values_out});
}

}  // namespace

Transformed histogram_partition(base::Queue& queue, const PreparedKeys& keys,
                                const PreparedColumn& column, const Order& order) {
  Transformed result;
  result.keys = queue.device_pool->allocate(
      Memory::kDevice, base::checked_bytes(keys.rows, static_cast<uint64_t>(keys.key_width)),
      "transformed keys");
  result.values = queue.device_pool->allocate(
      Memory::kDevice, base::checked_bytes(keys.rows, static_cast<uint64_t>(column.width)),
      "a transformed column");
  if (keys.rows == 0) return result;
  base::with_key_type(keys.key_width, [&](auto key) {
    kernels::with_value_type(column.width, [&](auto value) {
      using Key = decltype(key);
      using Value = decltype(value);
      partition(queue, order, keys.rows,
                Move<Key, Value>{static_cast<const Key*>(keys.keys),
                                 static_cast<const Value*>(column.data), result.keys.as<Key>(),
                                 result.values.as<Value>()});
    });
  });
  return result;
}

}  // namespace gpujoin::papers
