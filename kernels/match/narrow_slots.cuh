// narrow_slots.cuh: the hash table of a join of few rows with slots of 4 bytes, four of which are
// looked at at once
//
// Source   ours: of 2^21 rows a number takes 21 bits, and a part of the hash fits beside it
// In       some keys of a thread, and the build rows that have them or shall be found
// Needs    slots all kFreeNarrowSlot, of which some stay free; rows below 2^21 - 1
// Moves    16 bytes a lookup and the build key that is found there; twice as many slots in the
//          memory of those of pair_slots.cuh, so that hardly a sequence goes beyond its four
//
//   slot (4 bytes):  | part of the hash 11 | row 21 |
#pragma once

#include <cstdint>

#include "kernels/match/global_table.cuh"
#include "kernels/match/slot_steps.cuh"
#include "kernels/transform/mix_key.cuh"

namespace gpujoin::kernels {

constexpr uint32_t kFreeNarrowSlot = 0xffffffffU;
constexpr int kNarrowRowBits = 21;
constexpr uint32_t kNarrowRows = (1U << kNarrowRowBits) - 1;

template <typename Key>
struct NarrowTable {
  using Slot = uint32_t;
  static constexpr Slot kFree = kFreeNarrowSlot;
  static constexpr bool kVerifies = true;
  static constexpr bool kChains = true;
  uint32_t* slots;  // [mask + 1], a multiple of four
  uint32_t mask;
  const Key* build_keys;
  uint32_t* next;  // [build rows] the row behind each of the same key, where there is one

  __device__ static uint32_t tag_at(Key mixed) {
    return static_cast<uint32_t>(sizeof(Key) == 8 ? mixed << kNarrowRowBits
                                                  : mixed & ~Key{kNarrowRows});
  }
  __device__ uint32_t home_of(Key mixed) const {
    return static_cast<uint32_t>(slot_of(mixed, mask));
  }
  __device__ uint32_t slot_at(uint32_t home, uint32_t step) const {
    return ((home + (step & ~3U)) & mask) ^ (step & 3);
  }
  __device__ static bool may_be(uint32_t slot, uint32_t tag) {
    return slot != kFreeNarrowSlot && (slot ^ tag) <= kNarrowRows;
  }
  __device__ static uint32_t slot_with(Key mixed, uint32_t row) { return tag_at(mixed) | row; }
  __device__ static uint32_t row_at(uint32_t slot) { return slot & kNarrowRows; }
  __device__ void put_before(Key mixed, uint32_t step, uint32_t row) const {
    uint32_t* const slot = slots + slot_at(home_of(mixed), step);
    next[row] = row_at(atomicExch(slot, slot_with(mixed, row)));
  }
};

template <typename KeyType>
struct FindNarrowRows {
  using Key = KeyType;
  NarrowTable<Key> table;

  template <int kItems>
  __device__ __forceinline__ void operator()(const Key (&keys)[kItems],
                                             const bool (&are_rows)[kItems], uint32_t,
                                             uint32_t (&build)[kItems],
                                             bool (&found)[kItems]) const {
    uint32_t left = start_finding(are_rows, build);
#pragma unroll 1
    for (uint32_t step = 0; left != 0; step += 4) {
      uint4 quads[kItems];
#pragma unroll
      for (int item = 0; item < kItems; ++item) {
        if ((left >> item & 1) == 0) continue;
        uint32_t const slot = table.slot_at(table.home_of(mix_key(keys[item])), step);
        quads[item] = *reinterpret_cast<const uint4*>(table.slots + (slot & ~3U));
      }
      Key there[kItems];
      uint32_t alike[kItems];  // slots of the four with the same part of the hash, as bits
#pragma unroll
      for (int item = 0; item < kItems; ++item) {
        if ((left >> item & 1) == 0) continue;
        uint32_t const tag = table.tag_at(mix_key(keys[item]));
        uint4 const& quad = quads[item];
        alike[item] = (table.may_be(quad.x, tag) ? 1U : 0) | (table.may_be(quad.y, tag) ? 2U : 0) |
                      (table.may_be(quad.z, tag) ? 4U : 0) | (table.may_be(quad.w, tag) ? 8U : 0);
        build[item] = kNoRow;
        if (alike[item] == 0) continue;
        build[item] = slot_of_quad(quad, __ffs(static_cast<int>(alike[item])) - 1) & kNarrowRows;
        there[item] = table.build_keys[build[item]];
      }
#pragma unroll
      for (int item = 0; item < kItems; ++item) {
        if ((left >> item & 1) == 0) continue;
        // Once in hundreds of lookups the first of them is another key.
        while (build[item] != kNoRow && there[item] != keys[item]) {
          alike[item] &= alike[item] - 1;
          build[item] = kNoRow;
          if (alike[item] == 0) break;
          build[item] =
              slot_of_quad(quads[item], __ffs(static_cast<int>(alike[item])) - 1) & kNarrowRows;
          there[item] = table.build_keys[build[item]];
        }
        uint4 const& quad = quads[item];
        bool const any_free = quad.x == kFreeNarrowSlot || quad.y == kFreeNarrowSlot ||
                              quad.z == kFreeNarrowSlot || quad.w == kFreeNarrowSlot;
        if (any_free || build[item] != kNoRow) left &= ~(1U << item);
      }
    }
    end_finding(build, found);
  }

 private:
  __device__ static uint32_t slot_of_quad(const uint4& quad, int number) {
    return number == 0 ? quad.x : number == 1 ? quad.y : number == 2 ? quad.z : quad.w;
  }
};

}  // namespace gpujoin::kernels
