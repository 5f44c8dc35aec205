// order_pairs.cu: host side of putting pairs in the order of their row numbers: CUB's radix sort of
// as many bits as the row numbers have.
#include "kernels/materialize/order_pairs.cuh"

#include <bit>
#include <cub/device/device_radix_sort.cuh>
#include <utility>

#include "src/base/device.hpp"
#include "src/base/launch.hpp"
#include "src/materialize/materialize.hpp"

namespace gpujoin::materialize {

using base::check;
using base::Memory;
using base::stream_of;

namespace {

// Sorts the keys, in either buffer.
uint64_t* sort_keys(base::Queue& queue, uint64_t* keys, uint64_t* other, uint64_t count,
                    int32_t bits) {
  cub::DoubleBuffer<uint64_t> buffers(keys, other);
  size_t bytes = 0;
  check(cub::DeviceRadixSort::SortKeys(nullptr, bytes, buffers, count, 0, bits, stream_of(queue)),
        "sizing an order of pairs");
  base::Buffer const storage =
      queue.device_pool->allocate(Memory::kDevice, bytes, "storage to order pairs");
  check(cub::DeviceRadixSort::SortKeys(storage.data(), bytes, buffers, count, 0, bits,
                                       stream_of(queue)),
        "ordering pairs");
  return buffers.Current();
}

}  // namespace

std::optional<OrderedPairs> order_pairs(base::Queue& queue, const uint32_t* first,
                                        uint32_t first_rows, const uint32_t* second,
                                        uint32_t second_rows, uint64_t count) {
  if (count < 2) return std::nullopt;
  base::Pool& pool = *queue.device_pool;
  kernels::PairOrder const order{first_rows, second_rows,
                                 static_cast<int32_t>(std::bit_width(second_rows))};
  auto const first_bits = static_cast<int32_t>(std::bit_width(first_rows));
  int32_t const bits = first_bits + order.second_bits;
  unsigned const blocks = base::grid_of(count, kernels::kStreamTile);
  base::Buffer keys = pool.allocate_rows<uint64_t>(Memory::kDevice, count, "pairs to order");
  auto* const is_unordered = queue.device->counters.as<uint32_t>();
  check(cudaMemsetAsync(is_unordered, 0, sizeof(uint32_t), stream_of(queue)),
        "starting the order of pairs");
  kernels::compose_pairs_kernel<<<blocks, kernels::kStreamThreads, 0, stream_of(queue)>>>(
      order, first, second, count, keys.as<uint64_t>(), is_unordered);
  check(cudaGetLastError(), "reading pairs to order");
  if (base::read_back(queue, static_cast<const uint32_t*>(is_unordered)) == 0) return std::nullopt;
  base::Buffer sorted = pool.allocate_rows<uint64_t>(Memory::kDevice, count, "pairs in order");
  const uint64_t* const in_order =
      sort_keys(queue, keys.as<uint64_t>(), sorted.as<uint64_t>(), count, bits);
  // What is not in order makes room for the row numbers.
  (in_order == keys.as<uint64_t>() ? sorted : keys) = {};
  base::Buffer firsts = pool.allocate_rows<uint32_t>(Memory::kDevice, count, "row numbers");
  base::Buffer seconds = pool.allocate_rows<uint32_t>(Memory::kDevice, count, "row numbers");
  kernels::split_pairs_kernel<<<blocks, kernels::kStreamThreads, 0, stream_of(queue)>>>(
      order, in_order, count, firsts.as<uint32_t>(), seconds.as<uint32_t>());
  check(cudaGetLastError(), "writing pairs in order");
  return OrderedPairs{columns::make_storage(std::move(firsts)),
                      columns::make_storage(std::move(seconds))};
}

}  // namespace gpujoin::materialize
