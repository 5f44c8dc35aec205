// sample_rule.hpp: which rows a key sample reads, and how its table hashes. Plain C++ that device
// code may include too, so that both executors sample the same rows and find the same keys.
#pragma once

#include <cstdint>

#ifdef __CUDACC__
#define GPUJOIN_PLAN_RULE __host__ __device__ constexpr
#else
#define GPUJOIN_PLAN_RULE constexpr
#endif

namespace gpujoin::plan {

// Positions read on each side. At a true match ratio of 6 % the estimate's standard deviation is
// 0.7 percentage points, at 50 % it is 1.6: finer than any decision that rests on it. Four times as
// many took four times the host's time for the table: 0.4 ms of a join of 5 ms.
inline constexpr int32_t kSamplePositions = 1024;

// The table of distinct sampled probe keys: open addressing, linear probing, load at most one half.
inline constexpr int32_t kSampleSlots = 2 * kSamplePositions;

// A filter before the table: one bit for each of 2^17 hash values, 16 KB, so it fits shared memory
// and a core's first cache. At most one row in 128 that matches nothing passes it, so that most
// warps never look at the table.
inline constexpr int32_t kSampleFilterBits = 1 << 17;

// The finalizer of MurmurHash3: a bijection of 64-bit words in which every input bit reaches every
// output bit, so that dense and strided keys spread as evenly as random ones.
GPUJOIN_PLAN_RULE uint64_t mix64(uint64_t word) {
  word ^= word >> 33;
  word *= 0xff51afd7ed558ccdULL;
  word ^= word >> 33;
  word *= 0xc4ceb9fe1a85ec53ULL;
  word ^= word >> 33;
  return word;
}

// How many positions a side of so many rows contributes.
GPUJOIN_PLAN_RULE int32_t sample_positions(int64_t rows) {
  return rows < kSamplePositions ? static_cast<int32_t>(rows) : kSamplePositions;
}

// The row of position number i, 0 <= i < sample_positions(rows). The rows are cut into as many
// equal strata as there are positions and each stratum gives one row, by a hash of i: evenly spread
// (sorted and clustered input is represented), never in step with a period of the data, no row
// twice, and the same on every run. A side of at most kSamplePositions rows gives all of them.
GPUJOIN_PLAN_RULE int64_t sample_row(int32_t i, int64_t rows) {
  const int64_t positions = sample_positions(rows);
  const int64_t first = rows * i / positions;
  const int64_t width = rows * (i + 1) / positions - first;
  return first +
         static_cast<int64_t>(mix64(static_cast<uint64_t>(i)) % static_cast<uint64_t>(width));
}

// The table's first slot for a key.
GPUJOIN_PLAN_RULE uint32_t sample_slot(uint64_t key) {
  return static_cast<uint32_t>(mix64(key)) & static_cast<uint32_t>(kSampleSlots - 1);
}

// The key's filter bit. Every build row pays for this one, so it is a multiplication of 32 bits, not
// mix64: a filter that passes more rows costs time, never a wrong count.
GPUJOIN_PLAN_RULE uint32_t sample_filter_bit(uint64_t key) {
  const uint32_t folded =
      static_cast<uint32_t>(key) ^ static_cast<uint32_t>(key >> 32) * 0x85ebca6bU;
  return (folded * 0x9e3779b1U) >> 15;
}

}  // namespace gpujoin::plan

#undef GPUJOIN_PLAN_RULE
