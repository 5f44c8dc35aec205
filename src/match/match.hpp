// match.hpp: the match stage: pairs of equal keys. Each family writes through the same sink.
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "kernels/match/partition_view.hpp"
#include "src/base/queue.hpp"
#include "src/columns/device_column.hpp"
#include "src/output/growing_pairs.hpp"
#include "src/plan/join_plan.hpp"

namespace gpujoin::match {

// One side's keys as a family wants them: prepared for the global table, partitioned for
// co-partitions, sorted for merge path.
struct MatchSide {
  const void* keys = nullptr;  // [rows]
  uint32_t rows = 0;
  const uint32_t* row_ids = nullptr;  // [rows] what to write for a position; null: the position
};

// Non-partitioned: one hash table in device memory. Made once, then const: probed any number of
// times, also at the same time. The build side's memory stays.
class GlobalTable {
 public:
  // Waits for the stream, to know whether keys repeat.
  GlobalTable(base::Queue& queue, int32_t key_width, const MatchSide& build);
  ~GlobalTable();
  void probe(base::Queue& queue, const MatchSide& probe, output::GrowingPairs& pairs) const;

 private:
  struct Memory;
  std::unique_ptr<Memory> memory_;
};

// The same for one probe side.
void global_table(base::Queue& queue, int32_t key_width, const MatchSide& build,
                  const MatchSide& probe, output::GrowingPairs& pairs);

// Co-partitions, by hash table or nested loop, with the plan's skew and output: keys are mixed,
// both sides have 2^plan.radix_bits partitions.
void co_partitions(base::Queue& queue, const plan::JoinPlan& plan, int32_t key_width,
                   const MatchSide& build, const kernels::PartitionView& build_partitions,
                   const MatchSide& probe, const kernels::PartitionView& probe_partitions,
                   output::GrowingPairs& pairs);
// Whether it asks pairs the question that their filter may have. Others filter what was written.
bool asks_pairs(const plan::JoinPlan& plan);

// Merge path over keys that ascend as unsigned bit patterns, with the plan's bounds.
void merge_path(base::Queue& queue, const plan::JoinPlan& plan, int32_t key_width,
                const MatchSide& build, const MatchSide& probe, output::GrowingPairs& pairs);

// One side's key columns where they lie, and the rows that take part.
struct KeyRows {
  std::span<const columns::DeviceColumn> keys;
  uint32_t rows = 0;
  const uint32_t* row_numbers = nullptr;  // [rows] those without a NULL in any key; null: all
};

// A multiset of hash and row number over 1 to 5 key columns. Made once, then const, as GlobalTable.
// The build side's memory stays.
class RowMultiset {
 public:
  RowMultiset(base::Queue& queue, const KeyRows& build);
  ~RowMultiset();
  // probe: as many keys, pairwise of the same widths. Pairs are row numbers. With output two_passes
  // matches are counted before they are written.
  void probe(base::Queue& queue, plan::Output output, const KeyRows& probe,
             output::GrowingPairs& pairs) const;

 private:
  struct Memory;
  std::unique_ptr<Memory> memory_;
};

}  // namespace gpujoin::match
