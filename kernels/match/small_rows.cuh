// small_rows.cuh: the dense keys of joins of few rows, whose launch makes a table, asks it and
// tells of itself
//
// Source   ours; as in direct_table.cuh
// In       some keys of a thread, and the build rows that have them or shall be found
// Needs    places all kNoRow
// Moves    as direct_table.cuh
#pragma once

#include <cstdint>

#include "kernels/match/direct_table.cuh"
#include "kernels/match/slot_steps.cuh"
#include "kernels/match/small_table.hpp"
#include "kernels/transform/key_range.cuh"

namespace gpujoin::kernels {

__device__ __forceinline__ unsigned long long nanoseconds() {
  unsigned long long now = 0;
  asm volatile("mov.u64 %0, %globaltimer;" : "=l"(now));
  return now;
}

// One thread, when all that was written is visible to the device.
__device__ __forceinline__ void tell_host(unsigned long long* answer, unsigned long long rows,
                                          bool is_direct, bool in_vain, unsigned long long started,
                                          bool is_turned = false) {
  __threadfence_system();
  unsigned long long const now = nanoseconds();
  constexpr unsigned long long kMost = ~0ULL >> SmallTableAnswer::kTimeAt;
  unsigned long long const took = now > started ? min(now - started, kMost) : 0;
  *static_cast<volatile unsigned long long*>(answer) =
      1ULL | (is_direct ? 2ULL : 0ULL) | (in_vain ? 4ULL : 0ULL) | (is_turned ? 8ULL : 0ULL) |
      rows << SmallTableAnswer::kRowsAt | took << SmallTableAnswer::kTimeAt;
}

// places == 0: the keys are too far apart.
template <typename Key>
__device__ __forceinline__ DirectTable<Key> small_direct_table(const SmallTableJoin<Key>& join,
                                                               const TurnedRange<Key>& range) {
  Key const varying = static_cast<Key>(range.any & ~range.all);
  DirectTable<Key> table{};
  if (varying != 0) table.shift = __ffsll(static_cast<long long>(varying)) - 1;
  Key const steps = static_cast<Key>(range.high - range.low) >> table.shift;
  table.low = turn_sign(range.low);
  table.places = steps < join.most_places ? static_cast<uint32_t>(steps) + 1 : 0;
  return table;
}

template <typename Key>
__device__ __forceinline__ DirectTable<Key> table_of(const SmallPlaces<Key>& places) {
  DirectTable<Key> table{};
  static_cast<KeySteps<Key>&>(table) = places.steps;
  table.places = places.places;
  return table;
}

// Which keys were there already, as bits. next, unless null: [build rows], of each of those the row
// that had its key.
template <int kItems, typename Key>
__device__ __forceinline__ uint32_t place_rows(uint32_t* places, const DirectTable<Key>& table,
                                               const Key (&keys)[kItems],
                                               const uint32_t (&rows)[kItems], uint32_t are_rows,
                                               uint32_t* next) {
  uint32_t there[kItems];
#pragma unroll
  for (int item = 0; item < kItems; ++item) {
    there[item] = kNoRow;
    if ((are_rows >> item & 1) != 0) {
      there[item] = atomicExch(places + table.place_of(keys[item]), rows[item]);
    }
  }
  uint32_t repeated = 0;
#pragma unroll
  for (int item = 0; item < kItems; ++item) {
    if (there[item] == kNoRow) continue;
    repeated |= 1U << item;
    if (next != nullptr) next[rows[item]] = there[item];
  }
  return repeated;
}

// Of rows that have a bit.
template <typename Finder>
struct AmongPresent : Finder {
  ValidityBits present;
  __device__ __forceinline__ bool takes(uint64_t row) const { return is_valid(present, row); }
};

template <typename KeyType>
struct FindSmallPlaces {
  using Key = KeyType;
  DirectTable<Key> table;
  const uint32_t* rows;

  template <int kItems>
  __device__ __forceinline__ void operator()(const Key (&keys)[kItems],
                                             const bool (&are_rows)[kItems], uint32_t,
                                             uint32_t (&build)[kItems],
                                             bool (&found)[kItems]) const {
#pragma unroll
    for (int item = 0; item < kItems; ++item) {
      uint64_t const place = table.place_of(keys[item]);
      bool const within = are_rows[item] && place < table.places;
      build[item] = within ? rows[place] : kNoRow;
    }
    end_finding(build, found);
  }
};

}  // namespace gpujoin::kernels
