// row_slots.cuh: a hash table of unique keys with the build side's columns beside each key
//
// Source   ours; the sequence of slots is that of pair_slots.cuh
// In       keys of either side
// Out      the slot of each key, which place_columns.cuh fills and table_columns.cuh reads
// Needs    slots all ones before the first is taken, of which half stay free at least
// Moves    a sector a key, hardly ever two: two slots and their columns are in it
//          (traffic::row_slots_build, table_columns)
//
//   slot (16 bytes):  | mixed key 4 or 8 | columns |
//
// A free slot has all ones for a key. The key that looks like it is told as one that repeats.
#pragma once

#include <cstdint>
#include <type_traits>

#include "kernels/match/slot_steps.cuh"
#include "kernels/transform/mix_key.cuh"

namespace gpujoin::kernels {

constexpr int kRowSlotBytes = 16;

template <typename KeyType>
struct RowSlots {
  using Key = KeyType;
  static constexpr Key kFree = static_cast<Key>(~Key{0});
  unsigned char* slots;  // [(mask + 1) * kRowSlotBytes]
  uint32_t mask;

  __device__ Key* key_at(uint32_t slot) const {
    return reinterpret_cast<Key*>(slots + uint64_t{slot} * kRowSlotBytes);
  }
  // Of 8-byte keys by the half that partitions do not look at.
  __device__ uint32_t home_of(Key mixed) const {
    return static_cast<uint32_t>(mixed >> (8 * sizeof(Key) - 32)) & mask;
  }
  __device__ uint32_t slot_at(uint32_t home, uint32_t step) const {
    return slot_in_pairs(home, step, mask);
  }

  // The slots of build rows. are_placed: which are rows, and then which have a slot. Whether a key
  // was there.
  template <int kItems>
  __device__ bool take(const Key (&keys)[kItems], uint32_t, uint32_t (&taken)[kItems],
                       bool (&are_placed)[kItems]) const {
    using Word = std::conditional_t<sizeof(Key) == 8, unsigned long long, unsigned int>;
    uint32_t left = 0;
    bool repeats = false;
#pragma unroll
    for (int item = 0; item < kItems; ++item) {
      repeats |= are_placed[item] && mix_key(keys[item]) == kFree;
      left |= are_placed[item] ? 1U << item : 0;
    }
#pragma unroll 1
    for (uint32_t step = 0; left != 0; ++step) {
      Word found[kItems];
#pragma unroll
      for (int item = 0; item < kItems; ++item) {
        if ((left >> item & 1) == 0) continue;
        Key const mixed = mix_key(keys[item]);
        taken[item] = slot_at(home_of(mixed), step);
        found[item] =
            atomicCAS(reinterpret_cast<Word*>(key_at(taken[item])), Word{kFree}, Word{mixed});
      }
#pragma unroll
      for (int item = 0; item < kItems; ++item) {
        if ((left >> item & 1) == 0) continue;
        bool const is_own = found[item] == mix_key(keys[item]);
        repeats |= is_own && found[item] != kFree;
        if (is_own) are_placed[item] = false;
        if (is_own || found[item] == kFree) left &= ~(1U << item);
      }
    }
    return repeats;
  }
};

// How table_columns.cuh finds the slot of each of a lane's keys.
template <typename KeyType>
struct FindRowSlots {
  using Key = KeyType;
  // Of keys of 8 bytes four at a time spill: 2^27 x 2^16 pairs on an H200 3.4 ms.
  static constexpr bool kFewAtOnce = sizeof(Key) == 8;
  RowSlots<Key> table;
  static constexpr uint32_t slices = 1;

  template <int kItems>
  __device__ __forceinline__ void operator()(const Key (&keys)[kItems],
                                             const bool (&are_rows)[kItems], uint32_t,
                                             uint32_t (&build)[kItems],
                                             bool (&found)[kItems]) const {
    uint32_t left = start_finding(are_rows, build);
    uint32_t hits = 0;
#pragma unroll 1
    for (uint32_t step = 0; left != 0; step += 2) {
      Key mixed[kItems];
      Key there[kItems][2];
#pragma unroll
      for (int item = 0; item < kItems; ++item) {
        if ((left >> item & 1) == 0) continue;
        mixed[item] = mix_key(keys[item]);
        build[item] = table.slot_at(table.home_of(mixed[item]), step) & ~1U;
        there[item][0] = *table.key_at(build[item]);
        there[item][1] = *table.key_at(build[item] + 1);
      }
#pragma unroll
      for (int item = 0; item < kItems; ++item) {
        if ((left >> item & 1) == 0) continue;
        bool const is_first = there[item][0] == mixed[item];
        bool const is_found = is_first || there[item][1] == mixed[item];
        bool const any_free = there[item][0] == table.kFree || there[item][1] == table.kFree;
        build[item] += is_first ? 0 : 1;
        // The key that looks like a free slot is in none.
        hits |= is_found && mixed[item] != table.kFree ? 1U << item : 0;
        if (is_found || any_free) left &= ~(1U << item);
      }
    }
#pragma unroll
    for (int item = 0; item < kItems; ++item) found[item] = (hits >> item & 1) != 0;
  }
};

}  // namespace gpujoin::kernels
