// gather_bits.cu: host side of gathers of bits.
#include "kernels/materialize/gather_bits.cuh"

#include <utility>

#include "src/base/device.hpp"
#include "src/base/launch.hpp"
#include "src/materialize/materialize.hpp"

namespace gpujoin::materialize {

using base::check;
using base::Memory;
using base::stream_of;

columns::Gathered gather_bits(base::Queue& queue, const columns::BitsSource& source,
                              const uint32_t* rows, uint64_t count) {
  columns::Gathered gathered;
  if (count == 0) return gathered;
  base::Pool& pool = *queue.device_pool;
  uint64_t const words = (count + 31) / 32;
  base::Buffer target =
      pool.allocate_rows<uint32_t>(Memory::kDevice, words, "an output column of bits");
  base::Buffer validity;
  kernels::RowsToGather args{};
  args.rows = rows;
  args.count = count;
  args.validity = source.validity;
  auto* const null_count = queue.device->counters.as<unsigned long long>();
  if (rows != nullptr || source.validity.bits != nullptr) {
    validity = pool.allocate_rows<uint32_t>(Memory::kDevice, words, "validity of an output column");
    args.target_validity = validity.as<uint32_t>();
    args.null_count = null_count;
    check(cudaMemsetAsync(null_count, 0, sizeof(*null_count), stream_of(queue)),
          "starting a null counter");
  }
  kernels::gather_bits_kernel<<<base::grid_of(count, kernels::kStreamTile), kernels::kStreamThreads,
                                0, stream_of(queue)>>>(
      args, kernels::ValidityBits{source.bits, source.offset}, target.as<uint32_t>());
  check(cudaGetLastError(), "gathering bits");
  gathered.bytes = (count + 7) / 8;
  gathered.data = columns::make_storage(std::move(target));
  if (!validity) return gathered;
  gathered.null_count = static_cast<int64_t>(base::read_back(queue, null_count));
  if (gathered.null_count != 0) gathered.validity = columns::make_storage(std::move(validity));
  return gathered;
}

}  // namespace gpujoin::materialize
