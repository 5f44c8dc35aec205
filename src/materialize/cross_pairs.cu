// cross_pairs.cu: host side of a cross join's row numbers.
#include "kernels/materialize/cross_pairs.cuh"
#include "src/base/device.hpp"
#include "src/base/launch.hpp"
#include "src/materialize/materialize.hpp"

namespace gpujoin::materialize {

void cross_pairs(base::Queue& queue, const CrossedRows& crossed, uint64_t first, uint64_t rows,
                 uint32_t* left, uint32_t* right) {
  if (rows == 0) return;
  kernels::CrossedLists const lists{crossed.left, crossed.right, crossed.right_rows};
  kernels::cross_pairs_kernel<<<base::grid_of(rows, kernels::kStreamTile), kernels::kStreamThreads,
                                0, base::stream_of(queue)>>>(lists, first, rows, left, right);
  base::check(cudaGetLastError(), "numbering the pairs of a cross join");
}

}  // namespace gpujoin::materialize
