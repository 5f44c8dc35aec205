// merge_sort.cu: host side of the merge sort: tiles, then rounds that double the runs.
#include "src/papers/orders.hpp"

#include <utility>

#include "kernels/papers/merge_sort.cuh"
#include "kernels/value_type.cuh"
#include "src/base/device.hpp"
#include "src/base/launch.hpp"
#include "src/base/traffic.hpp"

namespace gpujoin::papers {

namespace {

using base::check;
using base::grid_of;
using base::Memory;
using base::stream_of;

Transformed allocate(base::Queue& queue, const PreparedKeys& keys, int32_t value_width) {
  Transformed rows;
  rows.keys = queue.device_pool->allocate(
      Memory::kDevice, base::checked_bytes(keys.rows, static_cast<uint64_t>(keys.key_width)),
      "sorted keys");
  rows.values = queue.device_pool->allocate(
      Memory::kDevice, base::checked_bytes(keys.rows, static_cast<uint64_t>(value_width)),
      "a sorted column");
  return rows;
}

template <typename Key, typename Value>
void sort_tiles(base::Queue& queue, const PreparedKeys& keys, const PreparedColumn& column,
                const Transformed& to) {
  kernels::SortRows<Key, Value> const rows{static_cast<const Key*>(keys.keys),
                                           static_cast<const Value*>(column.data),
                                           to.keys.as<Key>(), to.values.as<Value>(), keys.rows};
  kernels::sort_tiles_kernel<Key, Value>
      <<<grid_of(keys.rows, kernels::kSortTile), kernels::kSortThreads, 0, stream_of(queue)>>>(
          rows);
  check(cudaGetLastError(), "sorting tiles");
}

template <typename Key, typename Value>
void merge_runs(base::Queue& queue, uint32_t count, uint64_t run, const Transformed& from,
                const Transformed& to, uint32_t* splits) {
  kernels::SortRows<Key, Value> const rows{from.keys.as<Key>(), from.values.as<Value>(),
                                           to.keys.as<Key>(), to.values.as<Value>(), count};
  unsigned const tiles = grid_of(count, kernels::kSortTile);
  kernels::merge_run_splits_kernel<Key>
      <<<grid_of(tiles, kernels::kStreamThreads), kernels::kStreamThreads, 0, stream_of(queue)>>>(
          rows.keys, count, run, tiles, splits);
  check(cudaGetLastError(), "splitting runs");
  kernels::merge_runs_kernel<Key, Value>
      <<<tiles, kernels::kSortThreads, 0, stream_of(queue)>>>(rows, run, splits);
  check(cudaGetLastError(), "merging runs");
}

template <typename Key, typename Value>
Transformed merge_sorted_as(base::Queue& queue, const PreparedKeys& keys,
                            const PreparedColumn& column) {
  Transformed sorted = allocate(queue, keys, column.width);
  uint64_t const rounds = base::traffic::merge_rounds(keys.rows);
  Transformed other;
  base::Buffer splits;
  if (rounds != 0) {
    other = allocate(queue, keys, column.width);
    splits = queue.device_pool->allocate_rows<uint32_t>(
        Memory::kDevice, grid_of(keys.rows, kernels::kSortTile), "splits of runs");
  }
  // The tiles go where an even number of rounds leads back to.
  if (rounds % 2 != 0) std::swap(sorted, other);
  sort_tiles<Key, Value>(queue, keys, column, sorted);
  uint64_t run = kernels::kSortTile;
  for (uint64_t round = 0; round < rounds; ++round, run *= 2) {
    queue.check_cancelled();
    merge_runs<Key, Value>(queue, keys.rows, run, sorted, other, splits.as<uint32_t>());
    std::swap(sorted, other);
  }
  return sorted;
}

}  // namespace

Transformed merge_sorted(base::Queue& queue, const PreparedKeys& keys,
                         const PreparedColumn& column) {
  if (keys.rows == 0) return {};
  return base::with_key_type(keys.key_width, [&](auto key) {
    return kernels::with_value_type(column.width, [&](auto value) {
      return merge_sorted_as<decltype(key), decltype(value)>(queue, keys, column);
    });
  });
}

}  // namespace gpujoin::papers
