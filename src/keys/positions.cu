#include "src/keys/positions.hpp"

#include "kernels/keys/positions.cuh"
#include "src/base/launch.hpp"

namespace gpujoin::keys {

namespace {

template <typename Source>
base::Buffer find(base::Queue& queue, const Source& source, uint64_t rows) {
  base::Buffer found = queue.device_pool->allocate_rows<uint32_t>(base::Memory::kDevice, rows,
                                                                  "positions of a column's values");
  if (rows == 0) return found;
  base::launch_dependent(queue, kernels::positions_kernel<Source>,
                         base::grid_of(rows, kernels::kStreamTile), kernels::kStreamThreads, 0,
                         "finding positions of values", source, rows, found.as<uint32_t>());
  return found;
}

}  // namespace

base::Buffer positions(base::Queue& queue, const kernels::Indices& indices, uint64_t rows) {
  return find(queue, indices, rows);
}
base::Buffer positions(base::Queue& queue, const kernels::Runs& runs, uint64_t rows) {
  return find(queue, runs, rows);
}
base::Buffer positions(base::Queue& queue, const kernels::Composed& composed, uint64_t rows) {
  return find(queue, composed, rows);
}

}  // namespace gpujoin::keys
