// pair_slots.cuh: a hash table of unique keys whose slots are looked at in pairs
//
// Source   ours; slots as in global_table.cuh
// In       keys[rows] Key; or some keys of a thread whose build rows shall be found
// Out      slots; has_duplicates, when a key comes twice, unless any row of it will do; the build
//          row of a key, or a value in its place
// Needs    slots all kFreeSlot, at least twice as many as rows; has_duplicates 0
// Launch   build: ceil(rows / kStreamTile) blocks of kStreamThreads
// Moves    as global_table.cuh; a lookup one sector, in which two slots lie
//          (traffic::global_table_build, table_columns)
//
// A key's slots are its home, the other slot of that pair, and those of the next pairs: a lookup
// sees a pair at once.
#pragma once

#include <cstdint>

#include "kernels/block_flag.cuh"
#include "kernels/match/global_table.cuh"
#include "kernels/match/slot_steps.cuh"
#include "kernels/transform/mix_key.cuh"
#include "kernels/tuning.hpp"

namespace gpujoin::kernels {

template <typename Key>
struct PairTable {
  using Slot = unsigned long long;
  static constexpr Slot kFree = kFreeSlot;
  static constexpr bool kVerifies = sizeof(Key) == 8;
  static constexpr bool kChains = false;
  unsigned long long* slots;  // [mask + 1], at least two
  uint32_t mask;
  const Key* build_keys;

  __device__ uint32_t home_of(Key mixed) const {
    return static_cast<uint32_t>(slot_of(mixed, mask));
  }
  __device__ uint32_t slot_at(uint32_t home, uint32_t step) const {
    return slot_in_pairs(home, step, mask);
  }
  __device__ static unsigned long long slot_with(Key mixed, uint32_t row) {
    return static_cast<unsigned long long>(tag_of(mixed)) << 32 | row;
  }
  __device__ static uint32_t tag_at(Key mixed) { return tag_of(mixed); }
  // Of keys of 4 bytes it is.
  __device__ static bool may_be(unsigned long long slot, uint32_t tag) {
    return tag_of_slot(slot) == tag && slot != kFree;
  }
  __device__ static uint32_t row_at(unsigned long long slot) { return row_of_slot(slot); }
};

// values: what slots name in the place of build rows, of 4-byte keys, which are not compared in
// their column; null: the rows. A key and a value that look like a free slot together count as a
// key that repeats. kAnyRow: one of a key's rows stands for all; values null. kLooksFirst: as of
// hash_rows.
template <typename Key, bool kAnyRow, bool kLooksFirst>
__global__ void __launch_bounds__(kStreamThreads)
    build_pair_table_kernel(PairTable<Key> table, const uint32_t* __restrict__ values,
                            uint32_t rows, uint32_t* has_duplicates) {
  uint64_t const tile = uint64_t{blockIdx.x} * kStreamTile;
  Key keys[kStreamItems];
  uint32_t named[kStreamItems];
  uint32_t are_rows = 0;
#pragma unroll
  for (int item = 0; item < kStreamItems; ++item) {
    uint64_t const row = tile + item * kStreamThreads + threadIdx.x;
    if (row >= rows) continue;
    keys[item] = table.build_keys[row];
    named[item] = values != nullptr ? values[row] : static_cast<uint32_t>(row);
    are_rows |= 1U << item;
  }
  if constexpr (kAnyRow) {
    hash_rows<kLooksFirst>(table, keys, named, are_rows);
    return;
  }
  // All is in vain when keys repeat, and swaps of a heavy key would queue up on its slot.
  if (is_set_by_now(has_duplicates)) return;
  bool repeats = hash_rows(table, keys, named, are_rows) != 0;
#pragma unroll
  for (int item = 0; item < kStreamItems; ++item) {
    if ((are_rows >> item & 1) == 0) continue;
    repeats |= table.slot_with(mix_key(keys[item]), named[item]) == table.kFree;
  }
  if (repeats) *has_duplicates = 1;
}

template <typename KeyType>
struct FindPairRows {
  using Key = KeyType;
  static constexpr bool kFewAtOnce = sizeof(Key) == 8;  // for registers
  PairTable<Key> table;
  static constexpr uint32_t slices = 1;

  // Of keys that are wider than their tags. alike: whose slot may have them, as bits, and then
  // whose slot has them.
  template <int kItems>
  __device__ __forceinline__ void verify(const Key (&keys)[kItems], const uint32_t (&build)[kItems],
                                         uint32_t* alike) const {
    Key there[kItems];
#pragma unroll
    for (int item = 0; item < kItems; ++item) {
      if ((*alike >> item & 1) != 0) there[item] = table.build_keys[build[item]];
    }
#pragma unroll
    for (int item = 0; item < kItems; ++item) {
      if ((*alike >> item & 1) != 0 && there[item] != keys[item]) *alike &= ~(1U << item);
    }
  }

  template <int kItems>
  __device__ __forceinline__ void operator()(const Key (&keys)[kItems],
                                             const bool (&are_rows)[kItems], uint32_t,
                                             uint32_t (&build)[kItems],
                                             bool (&found)[kItems]) const {
    uint32_t left = start_finding(are_rows, build);
    uint32_t hits = 0;
#pragma unroll 1
    for (uint32_t step = 0; left != 0; step += 2) {
      ulonglong2 pairs[kItems];
      uint32_t tags[kItems];
#pragma unroll
      for (int item = 0; item < kItems; ++item) {
        if ((left >> item & 1) == 0) continue;
        Key const mixed = mix_key(keys[item]);
        tags[item] = tag_of(mixed);
        uint32_t const slot = table.slot_at(table.home_of(mixed), step);
        pairs[item] = *reinterpret_cast<const ulonglong2*>(table.slots + (slot & ~1U));
      }
      uint32_t ended = 0;  // a key that is not in a pair with a free slot is nowhere
      uint32_t alike = 0;
#pragma unroll
      for (int item = 0; item < kItems; ++item) {
        if ((left >> item & 1) == 0) continue;
        bool const is_first = table.may_be(pairs[item].x, tags[item]);
        bool const is_second = table.may_be(pairs[item].y, tags[item]);
        build[item] = row_of_slot(is_first ? pairs[item].x : pairs[item].y);
        if constexpr (sizeof(Key) == 8) {
          // So rare that it may be asked here.
          uint32_t const second = row_of_slot(pairs[item].y);
          if (is_first && is_second && table.build_keys[second] == keys[item]) build[item] = second;
        }
        bool const any_free = pairs[item].x == kFreeSlot || pairs[item].y == kFreeSlot;
        ended |= any_free ? 1U << item : 0;
        alike |= is_first || is_second ? 1U << item : 0;
      }
      if constexpr (sizeof(Key) == 8) verify(keys, build, &alike);
      hits |= alike;
      left &= ~(ended | alike);
    }
#pragma unroll
    for (int item = 0; item < kItems; ++item) found[item] = (hits >> item & 1) != 0;
  }
};

}  // namespace gpujoin::kernels
