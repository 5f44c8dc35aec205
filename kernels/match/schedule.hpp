// schedule.hpp: what host and device share about how partitions are spread over the blocks of a
// match.
#pragma once

#include <cstdint>

namespace gpujoin::kernels {

// What a work unit is of its partition.
enum class Cut : uint32_t {
  kWhole,   // all of it
  kChunks,  // a chunk of the build rows with a chunk of the probe rows
  kShares,  // an equal share of the side with more rows, and all of the other
};

// How many of the partitions that were large enough for a child kernel got one.
struct ChildCounts {
  unsigned long long launched;
  unsigned long long refused;
};

// Units are numbered by partition and within a partition. Which block does which:
//   taken_in_order         the next one, by a counter
//   children               block b does partitions b, b + blocks, ...; those of many units in a
//   grid of their own
//   neither                block b does units b, b + blocks, ...
struct Schedule {
  Cut cut;
  bool taken_in_order;
  ChildCounts* children;  // null: no child kernels
  uint32_t partitions;
  unsigned long long first_unit;  // of the first partition
  const unsigned long long*
      // [partitions] inclusive sum of the units of each, on top of first_unit; null: one each
      unit_ends;
};

}  // namespace gpujoin::kernels
