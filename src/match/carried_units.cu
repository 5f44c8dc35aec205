// carried_units.cu: host side of the units' sums.
#include "src/match/carried_units.hpp"

#include "kernels/match/carried_schedule.cuh"
#include "src/base/launch.hpp"

namespace gpujoin::match {

void count_carried_units(base::Queue& queue, const kernels::PartitionView& build,
                         const kernels::PartitionView& probe, uint32_t partitions,
                         const CountedUnits& counted, unsigned long long* ends) {
  kernels::CarriedUnits const count = {counted.only, counted.unit_rows, counted.unit_rows};
  base::launch_dependent(queue, kernels::carried_units_kernel,
                         base::grid_of(partitions, kernels::kPartitionSumTile),
                         kernels::kPartitionSumThreads, 0, "counting work units", build, probe,
                         partitions, count, counted.heavy_rows, ends, counted.left);
}

}  // namespace gpujoin::match
