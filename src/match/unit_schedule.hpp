// unit_schedule.hpp: how the partitions of a join are spread over thread blocks: a plan's skew
// technique as a kernels::Schedule.
#pragma once

#include <cstdint>

#include "kernels/match/partition_view.hpp"
#include "kernels/match/schedule.hpp"
#include "src/base/memory.hpp"
#include "src/base/queue.hpp"
#include "src/match/match.hpp"
#include "src/plan/join_plan.hpp"

namespace gpujoin::match {

// Both sides of a join of partitions.
struct JoinedPartitions {
  plan::Match finder;  // kCoPartitions or kNestedLoop
  int32_t key_width;
  int32_t radix_bits;
  MatchSide build;
  MatchSide probe;
  kernels::PartitionView build_view;
  kernels::PartitionView probe_view;

  uint32_t partitions() const { return 1U << radix_bits; }
};

class UnitSchedule {
 public:
  // Of Skew::kNone and kWorkUnits. Counts the work units on the device and waits for nothing.
  UnitSchedule(base::Queue& queue, plan::Skew skew, const JoinedPartitions& joined);

  kernels::Schedule on_device() const { return schedule_; }
  // The grid of a launch, of which so many blocks run at a time.
  uint32_t blocks(uint32_t resident) const;
  // Work units, about: to foresee the output's need.
  uint64_t likely_units() const { return likely_units_; }
  // A number that no work unit reaches. Waits for the stream when the host cannot know.
  uint64_t unit_bound(base::Queue& queue) const;

 protected:
  kernels::Schedule schedule_{};
  base::Buffer unit_ends_;
  uint64_t likely_units_ = 0;
  uint64_t busy_blocks_ = 0;         // that find something to do
  bool has_block_for_each_ = false;  // of those, whether they run at a time or not
};

}  // namespace gpujoin::match
