// slot_steps.cuh: what the hash tables that a thread makes or asks for several keys at a time have
// in common
//
// Source   ours
// In       some keys of a thread, and a table: its Slot, kFree, slots, home_of, slot_at; slot_with,
//          what a row becomes; may_be, whether a slot has the part of the hash that is tag_at a
//          key, and where kVerifies is true row_at, whose key is compared; where kChains is true
//          put_before, which puts a row in the place of another of its key
// Out      rows in slots; which rows are to be found, and which were
// Needs    slots all kFree, of which some stay free
// Moves    as the tables
//
// What a warp waits for is its longest sequence of slots: a thread takes all its keys a step
// further at a time.
#pragma once

#include <cstdint>

#include "kernels/match/global_table.cuh"
#include "kernels/transform/mix_key.cuh"

namespace gpujoin::kernels {

// Slots that are looked at in pairs: the home, the other slot of its pair, and those of the next
// pairs.
__device__ __forceinline__ uint32_t slot_in_pairs(uint32_t home, uint32_t step, uint32_t mask) {
  return ((home + (step & ~1U)) & mask) ^ (step & 1);
}

// Which keys were there already, as bits. kLooksFirst: a key may come so often that its slot is
// looked at before it is swapped, since an address takes 0.6e9 atomics a second.
template <bool kLooksFirst = false, int kItems, typename Table, typename Key>
__device__ __forceinline__ uint32_t hash_rows(const Table& table, const Key (&keys)[kItems],
                                              const uint32_t (&rows)[kItems], uint32_t are_rows) {
  uint32_t repeated = 0;
  uint32_t left = are_rows;
#pragma unroll 1
  for (uint32_t step = 0; left != 0; ++step) {
    typename Table::Slot there[kItems];
#pragma unroll
    for (int item = 0; item < kItems; ++item) {
      if ((left >> item & 1) == 0) continue;
      Key const mixed = mix_key(keys[item]);
      typename Table::Slot const wanted = table.slot_with(mixed, rows[item]);
      auto* const slot = table.slots + table.slot_at(table.home_of(mixed), step);
      there[item] = Table::kFree;
      if constexpr (kLooksFirst) there[item] = __ldcg(slot);
      if (there[item] == Table::kFree) there[item] = atomicCAS(slot, Table::kFree, wanted);
    }
#pragma unroll
    for (int item = 0; item < kItems; ++item) {
      if ((left >> item & 1) == 0) continue;
      bool same = false;
      if (there[item] != Table::kFree) {
        same = table.may_be(there[item], table.tag_at(mix_key(keys[item])));
        if constexpr (Table::kVerifies) {
          same = same && table.build_keys[table.row_at(there[item])] == keys[item];
        }
        if (!same) continue;
      }
      if constexpr (Table::kChains) {
        if (same) table.put_before(mix_key(keys[item]), step, rows[item]);
      }
      repeated |= same ? 1U << item : 0;
      left &= ~(1U << item);
    }
  }
  return repeated;
}

// The rows that are to be found, as bits; none is yet.
template <int kItems>
__device__ __forceinline__ uint32_t start_finding(const bool (&are_rows)[kItems],
                                                  uint32_t (&build)[kItems]) {
  uint32_t left = 0;
#pragma unroll
  for (int item = 0; item < kItems; ++item) {
    left |= are_rows[item] ? 1U << item : 0;
    build[item] = kNoRow;
  }
  return left;
}

template <int kItems>
__device__ __forceinline__ void end_finding(const uint32_t (&build)[kItems],
                                            bool (&found)[kItems]) {
#pragma unroll
  for (int item = 0; item < kItems; ++item) found[item] = build[item] != kNoRow;
}

}  // namespace gpujoin::kernels
