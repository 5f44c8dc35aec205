#include "kernels/materialize/pack_validity.cuh"

#include <utility>

#include "src/base/device.hpp"
#include "src/base/launch.hpp"
#include "src/materialize/materialize.hpp"

namespace gpujoin::materialize {

void pack_validity(base::Queue& queue, const void* bytes, uint64_t rows, NullCounts& null_counts,
                   columns::ResultColumn* target) {
  if (rows == 0) return;
  base::Buffer words = queue.device_pool->allocate_rows<uint32_t>(
      base::Memory::kDevice, (rows + 31) / 32, "validity of an output column");
  kernels::pack_validity_kernel<<<base::grid_of(rows, kernels::kStreamTile),
                                  kernels::kStreamThreads, 0, base::stream_of(queue)>>>(
      static_cast<const uint8_t*>(bytes), rows, words.as<uint32_t>(), null_counts.next(target));
  base::check(cudaGetLastError(), "packing a column's validity");
  target->validity = columns::make_storage(std::move(words));
}

}  // namespace gpujoin::materialize
