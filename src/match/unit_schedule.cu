// unit_schedule.cu: work units of partitions, counted and summed.
#include "src/match/unit_schedule.hpp"

#include <algorithm>

#include "kernels/match/work_units.cuh"
#include "src/base/device.hpp"
#include "src/match/count_units.cuh"

namespace gpujoin::match {

UnitSchedule::UnitSchedule(base::Queue& queue, plan::Skew skew, const JoinedPartitions& joined) {
  schedule_.partitions = joined.partitions();
  likely_units_ = schedule_.partitions;
  if (skew == plan::Skew::kWorkUnits) {
    schedule_.cut = kernels::Cut::kChunks;
    schedule_.taken_in_order = true;
    // Units are not known here: about one a chunk of either side, and rarely more than one a
    // partition beyond that. For foresight and the size of the grid.
    likely_units_ += uint64_t{joined.probe.rows} / kernels::kCoPartitionProbeRows +
                     uint64_t{joined.build.rows} / kernels::kCoPartitionBuildRows;
    unit_ends_ = count_units(queue, joined.build_view, joined.probe_view, joined.partitions(),
                             kernels::WorkUnits{});
    schedule_.unit_ends = unit_ends_.as<unsigned long long>();
  }
  busy_blocks_ = likely_units_;
}

uint32_t UnitSchedule::blocks(uint32_t resident) const {
  uint64_t const most = has_block_for_each_ ? busy_blocks_ : resident;
  return static_cast<uint32_t>(std::clamp<uint64_t>(busy_blocks_, 1, most));
}

uint64_t UnitSchedule::unit_bound(base::Queue& queue) const {
  if (schedule_.cut != kernels::Cut::kChunks) return likely_units_;
  return base::read_back(queue, schedule_.unit_ends + schedule_.partitions - 1);
}

}  // namespace gpujoin::match
