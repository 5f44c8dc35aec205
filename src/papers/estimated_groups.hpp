// estimated_groups.hpp: groups of partitions whose estimated output fits a buffer, one after the
// other (Paul et al. IV.B.2).
#pragma once

#include <cstdint>

#include "kernels/output/pair_sink.hpp"
#include "src/base/memory.hpp"
#include "src/base/queue.hpp"
#include "src/output/growing_pairs.hpp"

namespace gpujoin::papers {

// What a partition is expected to give. kWorstCase is the baseline of the paper's figure 7: every
// row with every row.
enum class Estimate { kMatchRate, kWorstCase };

// Sizes and work units of all partitions, in device memory.
struct PartitionSizes {
  const uint32_t* build_offsets;  // [partitions + 1]
  const uint32_t* probe_offsets;  // [partitions + 1]
  const unsigned long long*
      unit_ends;  // [partitions] inclusive sum of work units; null: one a partition
  uint32_t partitions;
  uint32_t build_rows;
  uint32_t probe_rows;
};

// A group is the work units below sink().end_unit that are not done. Its buffer lies in the
// GrowingPairs behind what earlier groups wrote, so finished groups stay where they are.
//   do { launch with sink() } while (!collect());
// Blocks take units in ascending order. A block whose unit is not below end_unit notes it in its
// ResumePoint and stops, so that the next launch, of the same grid, has it.
class EstimatedGroups {
 public:
  // expected_pairs: 0 = unknown. buffer_pairs: what a group may write; 0 = a share of what is
  // expected.
  EstimatedGroups(base::Queue& queue, const PartitionSizes& sizes, uint64_t expected_pairs,
                  output::GrowingPairs& pairs, uint64_t buffer_pairs = 0,
                  Estimate estimate = Estimate::kMatchRate);

  // The next group: room for it, and what a kernel writes it through; the row ids are the caller's
  // to set.
  kernels::GroupSink sink();

  // Waits for the launch, keeps what it wrote and corrects the estimate. True when all units are
  // done.
  bool collect();

  int32_t groups() const { return groups_; }        // launches so far
  int32_t overflows() const { return overflows_; }  // of them, stopped by an overflow or before one

 private:
  void estimate(const PartitionSizes& sizes);
  uint64_t unit_end(uint32_t partition) const;
  uint32_t partition_of(uint64_t unit) const;  // partitions_: beyond the last
  // Estimate of everything in the units below `unit`, before correction.
  double estimate_below(uint64_t unit) const;
  // Where a group that is to fit so many pairs ends.
  uint64_t group_end(uint64_t room) const;
  void correct(uint64_t written, uint64_t done);

  base::Queue& queue_;
  output::GrowingPairs& pairs_;
  uint32_t partitions_;
  Estimate kind_;
  base::Buffer estimates_;  // pinned [partitions + 1]: of all partitions before each
  base::Buffer unit_ends_;  // pinned [partitions], or empty: one unit a partition
  base::Buffer counters_;   // device, one GroupCounters
  uint64_t buffer_pairs_ = 0;
  uint64_t least_pairs_ = 1;  // what the next buffer must hold
  double correction_ = 1.0;   // pairs for each pair estimated
  uint64_t done_ = 0;         // units
  uint64_t end_unit_ = 0;
  int32_t groups_ = 0;
  int32_t overflows_ = 0;
};

}  // namespace gpujoin::papers
