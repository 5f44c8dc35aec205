#include "kernels/materialize/stand_in_validity.cuh"

#include <utility>

#include "src/base/device.hpp"
#include "src/base/launch.hpp"
#include "src/materialize/materialize.hpp"

namespace gpujoin::materialize {

void find_nulls(base::Queue& queue, uint64_t rows, uint64_t stand_in, NullCounts& null_counts,
                columns::ResultColumn* target) {
  if (rows == 0) return;
  base::Buffer words = queue.device_pool->allocate_rows<uint32_t>(
      base::Memory::kDevice, (rows + 31) / 32, "validity of an output column");
  unsigned const grid = base::grid_of(queue, rows, kernels::kStreamTile,
                                      kernels::kThreadsPerSm / kernels::kStreamThreads);
  kernels::with_stand_in_type(target->width, [&](auto zero) {
    using Value = decltype(zero);
    kernels::stand_in_validity_kernel<<<grid, kernels::kStreamThreads, 0, base::stream_of(queue)>>>(
        static_cast<const Value*>(target->data.get()), rows, stand_in, words.as<uint32_t>(),
        null_counts.next(target));
  });
  base::check(cudaGetLastError(), "finding an output column's NULLs");
  target->validity = columns::make_storage(std::move(words));
}

}  // namespace gpujoin::materialize
