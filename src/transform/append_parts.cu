#include "src/transform/append_parts.hpp"

#include "kernels/transform/append_parts.cuh"
#include "src/base/launch.hpp"

namespace gpujoin::transform {

using kernels::kStreamThreads;

void append_bits(base::Queue& queue, const columns::RowBits& part, uint64_t start,
                 uint32_t* target) {
  if (part.rows == 0) return;
  uint64_t const words = (start + part.rows + 31) / 32 - start / 32;
  kernels::PickBits const bits{part.bits, part.first_bit, part.rows, false};
  base::launch_dependent(queue, kernels::append_part_bits_kernel,
                         base::grid_of(words, kStreamThreads), kStreamThreads, 0,
                         "appending validity", bits, start, target);
}

void append_offsets(base::Queue& queue, const void* offsets, int32_t width, uint64_t count,
                    int64_t added, uint64_t start, void* target) {
  if (count == 0) return;
  auto const append = [&](auto zero) {
    using Offset = decltype(zero);
    base::launch_dependent(queue, kernels::append_part_offsets_kernel<Offset>,
                           base::grid_of(count, kStreamThreads), kStreamThreads, 0,
                           "appending offsets of text", static_cast<const Offset*>(offsets), count,
                           added, static_cast<Offset*>(target) + start);
  };
  width == 4 ? append(int32_t{}) : append(int64_t{});
}

}  // namespace gpujoin::transform
