// cross_pairs.cu: host side of a cross join's row numbers.
#include "kernels/materialize/cross_pairs.cuh"
#include "src/base/device.hpp"
#include "src/base/launch.hpp"
#include "src/materialize/materialize.hpp"

namespace gpujoin::materialize {

void cross_pairs(base::Queue& queue, uint64_t rows, uint32_t right_rows, uint32_t* left,
                 uint32_t* right) {
  if (rows == 0) return;
  kernels::cross_pairs_kernel<<<base::grid_of(rows, kernels::kStreamTile), kernels::kStreamThreads,
                                0, base::stream_of(queue)>>>(rows, right_rows, left, right);
  base::check(cudaGetLastError(), "numbering the pairs of a cross join");
}

}  // namespace gpujoin::materialize
