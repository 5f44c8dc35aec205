#include "src/output/exclusive_sum.hpp"

#include <cub/device/device_scan.cuh>

#include "src/base/device.hpp"

namespace gpujoin::output {

void exclusive_sum(base::Queue& queue, unsigned long long* numbers, uint64_t count) {
  cudaStream_t const stream = base::stream_of(queue);
  auto const items = static_cast<int64_t>(count);
  size_t bytes = 0;
  base::check(cub::DeviceScan::ExclusiveSum(nullptr, bytes, numbers, numbers, items, stream),
              "sizing a sum of the output");
  base::Buffer const storage =
      queue.device_pool->allocate(base::Memory::kDevice, bytes, "scan storage");
  base::check(cub::DeviceScan::ExclusiveSum(storage.data(), bytes, numbers, numbers, items, stream),
              "summing counts of the output");
}

}  // namespace gpujoin::output
