// finish_groups.cu: host side of what comes of states: which groups there are, and their values.
#include "kernels/aggregate/finish_groups.cuh"

#include <thrust/iterator/counting_iterator.h>
#include <cub/device/device_select.cuh>

#include "src/aggregate/aggregate.hpp"
#include "src/base/device.hpp"
#include "src/base/launch.hpp"

namespace gpujoin::aggregate {

using base::check;
using base::Memory;
using base::stream_of;

SelectedGroups select_groups(base::Queue& queue, const uint64_t* state, uint64_t groups) {
  SelectedGroups made;
  if (groups == 0) return made;
  base::Pool& pool = *queue.device_pool;
  made.numbers = pool.allocate_rows<uint32_t>(Memory::kDevice, groups, "numbers of groups");
  thrust::counting_iterator<uint32_t> const all(0);
  kernels::HasRows const has_rows{state};
  auto* const selected = made.numbers.as<uint32_t>();
  auto* const counted = queue.device->counters.as<uint32_t>();
  auto const items = static_cast<int64_t>(groups);
  size_t bytes = 0;
  check(cub::DeviceSelect::If(nullptr, bytes, all, selected, counted, items, has_rows,
                              stream_of(queue)),
        "sizing the selection of groups");
  base::Buffer const storage = pool.allocate(Memory::kDevice, bytes, "selection storage");
  check(cub::DeviceSelect::If(storage.data(), bytes, all, selected, counted, items, has_rows,
                              stream_of(queue)),
        "selecting groups");
  made.count = base::read_back(queue, counted);
  return made;
}

FinishedGroups finish_groups(base::Queue& queue, const kernels::GroupOutput& output,
                             const uint32_t* groups, uint64_t count, uint32_t* bits) {
  if (count == 0) return {};
  auto* const counts = queue.device->counters.as<kernels::FinishedCounts>();
  check(cudaMemsetAsync(&counts->first_too_large, 0xff, sizeof(counts->first_too_large),
                        stream_of(queue)),
        "starting the first group that is too large");
  check(cudaMemsetAsync(&counts->nulls, 0, sizeof(counts->nulls), stream_of(queue)),
        "starting the count of groups without a value");
  base::launch_dependent(queue, kernels::finish_groups_kernel,
                         base::grid_of(count, kernels::kStreamThreads), kernels::kStreamThreads, 0,
                         "finishing groups", output, groups, count, bits, counts);
  auto const found = base::read_back(queue, counts);
  return {static_cast<int64_t>(found.nulls), found.first_too_large};
}

}  // namespace gpujoin::aggregate
