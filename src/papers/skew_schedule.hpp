// skew_schedule.hpp: any skew technique as a kernels::Schedule.
#pragma once

#include "src/match/unit_schedule.hpp"

namespace gpujoin::papers {

class SkewSchedule : public match::UnitSchedule {
 public:
  // Counts the work units on the device and waits for nothing.
  SkewSchedule(base::Queue& queue, plan::Skew skew, const match::JoinedPartitions& joined);

  // Of child kernels, after the launch. Waits for the stream.
  kernels::ChildCounts children(base::Queue& queue) const;

 private:
  void cut_into_shares(base::Queue& queue, const match::JoinedPartitions& joined);
  void count_children(base::Queue& queue);

  base::Buffer children_;
};

}  // namespace gpujoin::papers
