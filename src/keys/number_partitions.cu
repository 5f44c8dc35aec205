#include "src/keys/number_partitions.hpp"

#include "kernels/keys/number_partitions.cuh"
#include "src/base/device.hpp"
#include "src/base/launch.hpp"

namespace gpujoin::keys {

void number_partitions(base::Queue& queue, const kernels::PartitionHash& how,
                       const kernels::RunMap& map, uint32_t rows, uint8_t* numbers,
                       uint32_t* counts) {
  base::launch_dependent(queue, kernels::number_partitions_kernel,
                         base::grid_of(rows, kernels::kHashTile), kernels::kHashThreads, 0,
                         "numbering partitions", how, map, rows, numbers, counts);
}

}  // namespace gpujoin::keys
