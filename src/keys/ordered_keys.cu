#include "src/keys/ordered_keys.hpp"

#include <cub/device/device_merge_sort.cuh>
#include <cub/device/device_scan.cuh>

#include <algorithm>
#include <vector>

#include "kernels/keys/ordered_keys.cuh"
#include "src/base/copy.hpp"
#include "src/base/device.hpp"
#include "src/base/launch.hpp"

namespace gpujoin::keys {

using base::Memory;
using kernels::OrderedForm;
using kernels::OrderedKey;

void order_keys(base::Queue& queue, const OrderedKey& key, uint64_t rows, uint64_t* codes) {
  if (rows == 0) return;
  auto* const kernel = key.form == OrderedForm::kLong ? kernels::order_keys_kernel<true>
                                                      : kernels::order_keys_kernel<false>;
  base::launch_dependent(queue, kernel, base::grid_of(rows, kernels::kStreamTile),
                         kernels::kStreamThreads, 0, "making codes in the order of values", key,
                         rows, codes);
}

Extremes extremes(base::Queue& queue, const OrderedKey& key, uint64_t rows) {
  if (rows == 0) return {};
  unsigned const grid =
      std::min(base::grid_of(rows, kernels::kExtremeThreads), kernels::kExtremeBlocks);
  base::Buffer const blocks = queue.device_pool->allocate_rows<kernels::BlockExtremes>(
      Memory::kDevice, grid, "extremes of a key column");
  base::launch_dependent(queue, kernels::extremes_kernel, grid, kernels::kExtremeThreads, 0,
                         "finding the extremes of a key column", key, rows,
                         blocks.as<kernels::BlockExtremes>());
  std::vector<kernels::BlockExtremes> found(grid);
  base::copy(queue, found.data(), Memory::kHost, blocks.data(), Memory::kDevice,
             grid * sizeof(kernels::BlockExtremes));
  base::finish(queue);
  Extremes all;
  for (kernels::BlockExtremes const& each : found) {
    all.add(Extremes{each.any != 0, each.least, each.greatest});
  }
  return all;
}

Ranks rank_keys(base::Queue& queue, const OrderedKey& left, uint64_t left_rows,
                const OrderedKey& right, uint64_t right_rows) {
  base::Pool& pool = *queue.device_pool;
  auto const allocate = [&](uint64_t rows, const char* what) {
    return pool.allocate_rows<uint64_t>(Memory::kDevice, rows, what);
  };
  Ranks made;
  uint64_t const rows = left_rows + right_rows;
  if (rows == 0) return made;
  made.left = allocate(left_rows, "ranks of a key's values");
  made.right = allocate(right_rows, "ranks of a key's values");
  kernels::BothOrdered const both{left, right, left_rows};
  base::Buffer const sorted = allocate(rows, "rows by their key");
  auto* const order = sorted.as<uint64_t>();
  unsigned const grid = base::grid_of(rows, kernels::kStreamThreads);
  base::launch_dependent(queue, kernels::number_rows_kernel, grid, kernels::kStreamThreads, 0,
                         "numbering rows", rows, order);
  cudaStream_t const stream = base::stream_of(queue);
  size_t bytes = 0;
  base::check(cub::DeviceMergeSort::SortKeys(nullptr, bytes, order, rows, both, stream),
              "sizing a sort of key values");
  {
    base::Buffer const storage = pool.allocate(Memory::kDevice, bytes, "sort storage");
    base::check(cub::DeviceMergeSort::SortKeys(storage.data(), bytes, order, rows, both, stream),
                "sorting key values");
  }
  base::Buffer const counted = allocate(rows, "counts of a key's values");
  auto* const counts = counted.as<uint64_t>();
  base::launch_dependent(queue, kernels::new_values_kernel, grid, kernels::kStreamThreads, 0,
                         "finding a key's values", both, static_cast<const uint64_t*>(order), rows,
                         counts);
  base::check(cub::DeviceScan::InclusiveSum(nullptr, bytes, counts, counts, rows, stream),
              "sizing a sum of values");
  {
    base::Buffer const storage = pool.allocate(Memory::kDevice, bytes, "sum storage");
    base::check(cub::DeviceScan::InclusiveSum(storage.data(), bytes, counts, counts, rows, stream),
                "numbering a key's values");
  }
  made.values = pool.allocate_rows<kernels::LongNumber>(
      Memory::kDevice, base::read_back(queue, counts + rows - 1), "values by their rank");
  base::launch_dependent(queue, kernels::put_ranks_kernel, grid, kernels::kStreamThreads, 0,
                         "ranking a key's values", both, static_cast<const uint64_t*>(order),
                         static_cast<const uint64_t*>(counts), rows, made.left.as<uint64_t>(),
                         made.right.as<uint64_t>(), made.values.as<kernels::LongNumber>());
  return made;
}

}  // namespace gpujoin::keys
