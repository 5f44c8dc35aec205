// crossed_keys.cuh: keys of a unit of which both sides have many rows
//
// Source   ours
// In       a unit's groups, in order (ordered_groups.cuh); its probe rows' keys, one by one
// Out      the number of a key, the rank of a probe row among those of its key
// Needs    all threads of the block to number keys, a warp's lanes to rank rows
// Moves    nothing beside shared memory
// Shared   2 bytes a build row, in whose place are 2 a probe row later, 22 and a key a key; four
//          reads and an atomic add a probe row
#pragma once

#include <cstdint>

#include "kernels/match/carried_groups.cuh"
#include "kernels/match/carried_units.cuh"
#include "kernels/tuning.hpp"
#include "kernels/warp_sum.cuh"

namespace gpujoin::kernels {

constexpr uint32_t kCrossedKeys = 1024;

// A key that both sides of a unit have.
template <typename Key>
struct alignas(sizeof(Key) == 4 ? 16 : 8) CrossedKey {
  Key key;               // as the output has it
  uint32_t of_build;     // number of its first vector of build rows
  uint16_t build_first;  // position
  uint16_t build_rows;
  uint16_t probe_first;  // in by_key
  uint16_t probe_rows;
};

// All lanes of a warp: the last of kCrossedKeys keys whose first vector, by first_of(key), has that
// number or a lower one.
template <typename FirstOf>
__device__ __forceinline__ uint32_t last_not_behind(uint32_t number, FirstOf first_of) {
  static_assert(kCrossedKeys == 32 * 32);
  auto const last_of = [&](uint32_t first, uint32_t step) {
    bool const is_before = first_of(first + step * (threadIdx.x % 32)) <= number;
    return first + step * (__popc(__ballot_sync(0xffffffffU, is_before)) - 1);
  };
  return last_of(last_of(0, 32), 1);
}

// Keys of the build side by their numbers, and the probe rows of each.
template <typename Key>
struct NumberedKeys {
  union {
    uint16_t number_at[kCarriedBuildRows];  // by the position of a key's first build row
    uint16_t by_key[kCarriedDealtRows];     // later: probe rows of the unit, by key
  };
  uint16_t first[kCrossedKeys + 1];   // position; beyond the last key the end of all
  uint32_t probe_rows[kCrossedKeys];  // how many there are of a key, then their place in by_key
  uint32_t count;
  uint32_t sums[3][32];

  // The number of a key that the build side has; kCrossedKeys: it has not.
  __device__ __forceinline__ uint32_t number_of(const CarriedGroups<Key>& groups, Key key,
                                                int32_t radix_bits) const {
    uint32_t const bucket = carried_bucket(key, radix_bits);
    uint32_t const start = groups.start_of(bucket);
    uint32_t const end = groups.start_of(bucket + 1);
    if (start == end) return kCrossedKeys;
    uint32_t at = start;
#pragma unroll 1
    for (uint32_t number = number_at[start];; ++number) {
      if (groups.keys[at] == key) return number;
      at = first[number + 1];
      if (at == end) return kCrossedKeys;
    }
  }
  // Lanes of a warp that have a key: the rank of a probe row among those of its key.
  __device__ __forceinline__ uint32_t rank_of(uint32_t number, uint32_t lanes) {
    int const leader = __ffs(static_cast<int>(lanes)) - 1;
    return rank_in_warp(number, lanes, leader,
                        [&](uint32_t rows) { return atomicAdd(&probe_rows[number], rows); });
  }
};

// Of the build rows of a partition of two tables, that of which the unit is not.
template <typename Key>
__device__ __forceinline__ CarriedUnit other_table(const CarriedJoin<Key>& join,
                                                   const CarriedUnit& unit) {
  uint32_t const first = join.build_offsets[unit.partition];
  uint32_t const rows = join.build_offsets[unit.partition + 1] - first;
  CarriedUnit other{};
  other.build_first = first + (unit.build_first == first ? kCarriedBuildRows : 0);
  other.build_rows = min(first + rows - other.build_first, uint32_t{kCarriedBuildRows});
  return other;
}

// of_key / rows and what is left, both exact: the quotient of floats may be one off.
__device__ __forceinline__ uint32_t quotient_of(uint32_t of_key, uint32_t rows, uint32_t* left) {
  auto quotient =
      static_cast<uint32_t>(__fdividef(static_cast<float>(of_key), static_cast<float>(rows)));
  auto rest = static_cast<int32_t>(of_key - quotient * rows);
  if (rest < 0) {
    --quotient;
    rest += static_cast<int32_t>(rows);
  } else if (rest >= static_cast<int32_t>(rows)) {
    ++quotient;
    rest -= static_cast<int32_t>(rows);
  }
  *left = static_cast<uint32_t>(rest);
  return quotient;
}

// All threads, with positions side by side: numbers the keys of so many rows, whose groups are in
// order. Of more than kCrossedKeys those are not written.
template <int kThreads, typename Key>
__device__ __forceinline__ void number_keys(const CarriedGroups<Key>& groups, uint32_t rows,
                                            NumberedKeys<Key>& numbers) {
  constexpr uint32_t kPositions = (kCarriedBuildRows + kThreads - 1) / kThreads;
  static_assert(kPositions <= 32);
  uint32_t const first = threadIdx.x * kPositions;
  uint32_t are_first = 0;  // a bit a position
  Key before = first != 0 && first < rows ? groups.keys[first - 1] : 0;
#pragma unroll
  for (uint32_t i = 0; i < kPositions; ++i) {
    if (first + i >= rows) break;
    Key const key = groups.keys[first + i];
    are_first |= first + i == 0 || key != before ? 1U << i : 0;
    before = key;
  }
  uint32_t number = block_exclusive_sum<kThreads>(__popc(are_first), numbers.sums[0]);
#pragma unroll 1
  for (; are_first != 0; are_first &= are_first - 1) {
    uint32_t const at = first + __ffs(static_cast<int>(are_first)) - 1;
    if (number < kCrossedKeys) {
      numbers.number_at[at] = static_cast<uint16_t>(number);
      numbers.first[number] = static_cast<uint16_t>(at);
    }
    ++number;
  }
  if (threadIdx.x != kThreads - 1) return;
  numbers.first[min(number, kCrossedKeys)] = static_cast<uint16_t>(rows);
  atomicMax(&numbers.count, number);
}

}  // namespace gpujoin::kernels
