// small_rows.cuh: the tables of joins of few rows, which a launch makes, asks and tells of itself
//
// Source   ours; dense keys as in direct_table.cuh, others in slots as in global_table.cuh
// In       some keys of a thread, and the build rows that have them or shall be found
// Needs    slots all kFreeSlot; places, which lie in the same memory, all kNoRow
// Moves    as direct_table.cuh and global_table.cuh; two slots a lookup, which lie in one sector
//
// A key's slots are its home, the other slot of that pair, and those of the next pairs: a lookup sees a pair at once.
#pragma once

#include <cstdint>

#include "kernels/match/direct_table.cuh"
#include "kernels/match/global_table.cuh"
#include "kernels/match/slot_steps.cuh"
#include "kernels/match/small_table.hpp"
#include "kernels/transform/key_range.cuh"
#include "kernels/transform/mix_key.cuh"

namespace gpujoin::kernels {

template <typename Key>
struct SmallTable {
  using Slot = unsigned long long;
  static constexpr Slot kFree = kFreeSlot;
  static constexpr bool kVerifies = sizeof(Key) == 8;
  unsigned long long* slots;  // [mask + 1], at least two
  uint32_t mask;
  const Key* build_keys;

  __device__ uint32_t home_of(Key mixed) const {
    return static_cast<uint32_t>(slot_of(mixed, mask));
  }
  __device__ uint32_t slot_at(uint32_t home, uint32_t step) const {
    return ((home + (step & ~1U)) & mask) ^ (step & 1);
  }
  __device__ static unsigned long long slot_with(Key mixed, uint32_t row) {
    return static_cast<unsigned long long>(tag_of(mixed)) << 32 | row;
  }
  __device__ static uint32_t tag_at(Key mixed) { return tag_of(mixed); }
  __device__ static bool may_be(unsigned long long slot, uint32_t tag) {
    return tag_of_slot(slot) == tag;
  }
  __device__ static uint32_t row_at(unsigned long long slot) { return row_of_slot(slot); }
};

__device__ __forceinline__ unsigned long long nanoseconds() {
  unsigned long long now = 0;
  asm volatile("mov.u64 %0, %globaltimer;" : "=l"(now));
  return now;
}

// One thread, when all that was written is visible to the device.
__device__ __forceinline__ void tell_host(unsigned long long* answer, unsigned long long rows,
                                          bool is_direct, bool repeats,
                                          unsigned long long started) {
  __threadfence_system();
  unsigned long long const now = nanoseconds();
  unsigned long long const took = now > started ? now - started : 0;
  *static_cast<volatile unsigned long long*>(answer) =
      1ULL | (is_direct ? 2ULL : 0ULL) | (repeats ? 4ULL : 0ULL) |
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

// Whether a key was there already.
template <int kItems, typename Key>
__device__ __forceinline__ bool place_rows(uint32_t* places, const DirectTable<Key>& table,
                                           const Key (&keys)[kItems],
                                           const uint32_t (&rows)[kItems], uint32_t are_rows) {
  uint32_t there[kItems];
#pragma unroll
  for (int item = 0; item < kItems; ++item) {
    there[item] = kNoRow;
    if ((are_rows >> item & 1) != 0) {
      there[item] = atomicExch(places + table.place_of(keys[item]), rows[item]);
    }
  }
  bool repeats = false;
#pragma unroll
  for (int item = 0; item < kItems; ++item) repeats |= there[item] != kNoRow;
  return repeats;
}

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

template <typename KeyType>
struct FindSmallRows {
  using Key = KeyType;
  SmallTable<Key> table;

  // The row of a slot that may have the key: of 4 bytes it has it.
  __device__ static uint32_t row_with(unsigned long long slot, uint32_t tag) {
    return tag_of_slot(slot) == tag ? row_of_slot(slot) : kNoRow;
  }
  // Of keys that are wider than their tags.
  template <int kItems>
  __device__ __forceinline__ void verify(const Key (&keys)[kItems], uint32_t looked_up,
                                         uint32_t (&build)[kItems]) const {
    Key there[kItems];
#pragma unroll
    for (int item = 0; item < kItems; ++item) {
      bool const asks = (looked_up >> item & 1) != 0 && build[item] != kNoRow;
      there[item] = asks ? table.build_keys[build[item]] : keys[item];
    }
#pragma unroll
    for (int item = 0; item < kItems; ++item) {
      if (there[item] != keys[item]) build[item] = kNoRow;
    }
  }

  template <int kItems>
  __device__ __forceinline__ void operator()(const Key (&keys)[kItems],
                                             const bool (&are_rows)[kItems], uint32_t,
                                             uint32_t (&build)[kItems],
                                             bool (&found)[kItems]) const {
    uint32_t left = start_finding(are_rows, build);
#pragma unroll 1
    for (uint32_t step = 0; left != 0; step += 2) {
      ulonglong2 pairs[kItems];
#pragma unroll
      for (int item = 0; item < kItems; ++item) {
        if ((left >> item & 1) == 0) continue;
        uint32_t const slot = table.slot_at(table.home_of(mix_key(keys[item])), step);
        pairs[item] = *reinterpret_cast<const ulonglong2*>(table.slots + (slot & ~1U));
      }
      uint32_t ended = 0;  // a key that is not in a pair with a free slot is nowhere
#pragma unroll
      for (int item = 0; item < kItems; ++item) {
        if ((left >> item & 1) == 0) continue;
        uint32_t const tag = tag_of(mix_key(keys[item]));
        uint32_t const first = row_with(pairs[item].x, tag);
        uint32_t const second = row_with(pairs[item].y, tag);
        build[item] = first != kNoRow ? first : second;
        if constexpr (sizeof(Key) == 8) {
          // So rare that it may be asked here.
          bool const both = first != kNoRow && second != kNoRow;
          if (both && table.build_keys[second] == keys[item]) build[item] = second;
        }
        bool const any_free =
            row_of_slot(pairs[item].x) == kNoRow || row_of_slot(pairs[item].y) == kNoRow;
        ended |= any_free ? 1U << item : 0;
      }
      if constexpr (sizeof(Key) == 8) verify(keys, left, build);
#pragma unroll
      for (int item = 0; item < kItems; ++item) {
        ended |= build[item] != kNoRow ? 1U << item : 0;
      }
      left &= ~ended;
    }
    end_finding(build, found);
  }
};

}  // namespace gpujoin::kernels
