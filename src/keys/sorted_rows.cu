#include "src/keys/sorted_rows.hpp"

#include <algorithm>

#include "kernels/keys/sorted_rows.cuh"
#include "src/base/device.hpp"
#include "src/base/launch.hpp"

namespace gpujoin::keys {

SortedFindings find_steps(base::Queue& queue, const kernels::SortedColumns& keys, uint64_t rows) {
  SortedFindings found;
  found.fill(UINT64_MAX);
  if (rows < 2) return found;
  auto* const lowest = queue.device->counters.as<unsigned long long>();
  constexpr size_t kBytes = kernels::kSortedFindings * sizeof(unsigned long long);
  base::check(cudaMemsetAsync(lowest, 0xff, kBytes, base::stream_of(queue)),
              "starting the first rows that are not sorted");
  base::launch_dependent(
      queue, kernels::sorted_rows_kernel,
      base::grid_of(queue, rows, kernels::kStreamThreads, kernels::kRangeBlocksPerSm),
      kernels::kStreamThreads, 0, "looking whether rows are sorted", keys, rows, lowest);
  auto const* const read =
      static_cast<const unsigned long long*>(base::read_back(queue, lowest, kBytes));
  std::copy(read, read + found.size(), found.begin());
  return found;
}

}  // namespace gpujoin::keys
