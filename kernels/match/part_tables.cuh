// part_tables.cuh: a part's build rows in shared memory, by their addresses
//
// Source   ours: DirectPart is direct_table.cuh of a part, HashedPart open addressing by buckets
//          that are in the order of the addresses
// In       addresses and words of a part's build rows (move_to_parts.cuh)
// Out      where the row of an address is
// Needs    all threads of the block
// Moves    nothing beside shared memory
// Shared   direct: 4 bytes a word and place, two bits a place; an atomic or a row; hashed: 4 bytes
//          and those of its words a slot, 2 bytes a bucket; an atomic add a row and bucket
#pragma once

#include <cstdint>

#include "kernels/block_sync.cuh"
#include "kernels/match/place_parts.hpp"

namespace gpujoin::kernels {

// Probe rows of a part that are joined at a time.
struct alignas(16) PartUnit {
  uint32_t part;
  uint32_t first;  // probe row
  uint32_t end;
};

// A part is a block's.
struct PartOfBlock {
  __device__ static constexpr uint32_t rank() { return 0; }
  __device__ static constexpr uint32_t blocks() { return 1; }
  __device__ static void sync() { block_sync(); }
  // One thread.
  __device__ static void tell(PartUnit* mine, const PartUnit& unit) { *mine = unit; }
  // Rows of a thread that are looked for at a time, of so many words of either side.
  __device__ static constexpr int items(int words) { return words <= 2 ? 6 : words <= 6 ? 4 : 2; }
  // All threads, after the last unit. True: a row was lost that end_build() did not tell of.
  __device__ static constexpr bool lost_rows() { return false; }
};

// Words of a row, apart: lanes that ask for rows at random meet in fewer banks.
template <typename Table>
__device__ __forceinline__ void put_words(const Table& table, uint32_t at,
                                          const uint32_t (&row)[Table::kWords]) {
#pragma unroll
  for (int w = 0; w < Table::kWords; ++w) table.words[w * table.room + at] = row[w];
}
template <typename Table, int kItems>
__device__ __forceinline__ void get_words(const Table& table, const uint32_t (&at)[kItems],
                                          const bool (&found)[kItems],
                                          uint32_t (&rows)[kItems][Table::kWords]) {
#pragma unroll
  for (int i = 0; i < kItems; ++i) {
    if (!found[i]) continue;
#pragma unroll
    for (int w = 0; w < Table::kWords; ++w) rows[i][w] = table.words[w * table.room + at[i]];
  }
}

template <int kWordsOfRow>
struct DirectPart : PartOfBlock {
  static constexpr int kWords = kWordsOfRow;
  static constexpr int kBuildItems = kWords == 1 ? 4 : 2;
  uint32_t* words;  // [kWords][room]
  uint32_t* bits;   // of the places that have a row
  uint32_t* bits_of_next;
  uint32_t room;

  __device__ DirectPart(uint32_t* shared, uint32_t room_of_part)
      : words(shared), bits_of_next(shared + kWords * room_of_part), room(room_of_part) {
    bits = bits_of_next + room / 32;
    for (uint32_t i = threadIdx.x; i < 2 * (room / 32); i += kPartThreads) bits_of_next[i] = 0;
  }
  __device__ bool has_room_for(uint32_t) const { return true; }
  // Before the rows of a part, after a barrier.
  __device__ __forceinline__ void start(uint32_t) {
    uint32_t* const next = bits;
    bits = bits_of_next;
    bits_of_next = next;
  }
  // False: there is a row of the address.
  __device__ __forceinline__ bool insert(uint32_t address, const uint32_t (&row)[kWords]) const {
    uint32_t const bit = 1U << address % 32;
    if ((atomicOr(&bits[address / 32], bit) & bit) != 0) return false;
    put_words(*this, address, row);
    return true;
  }
  // After a barrier. False: an address is there twice, which insert() did not say.
  __device__ __forceinline__ bool end_build() const {
    for (uint32_t i = threadIdx.x; i < room / 32; i += kPartThreads) bits_of_next[i] = 0;
    return true;
  }
  // found: which of a thread's addresses are looked for, then which are there, with their rows.
  template <int kItems>
  __device__ __forceinline__ void find(const uint32_t (&addresses)[kItems], bool (&found)[kItems],
                                       uint32_t (&rows)[kItems][kWords]) const {
#pragma unroll
    for (int i = 0; i < kItems; ++i) {
      if (found[i]) found[i] = (bits[addresses[i] / 32] >> addresses[i] % 32 & 1) != 0;
    }
    get_words(*this, addresses, found, rows);
  }
};

// Slots in buckets of four, which are seen at once: of a table that is half full one lookup in
// twenty goes on to a second bucket. Rows take their slots by counters: compare-and-swap, slot by
// slot, took 2^24 build rows half a millisecond more on an H200.
template <int kWordsOfRow>
struct HashedPart : PartOfBlock {
  static constexpr int kWords = kWordsOfRow;
  static constexpr int kBuildItems = kWords == 1 ? 4 : 2;
  static constexpr uint32_t kBucket = 4;
  // Buckets that a row looks through for a slot: no table of rows that are told apart has so many
  // full ones side by side, and rows of one key, which would fill as many as they are, end there.
  static constexpr int kMostBuckets = 256;
  uint32_t* words;     // [kWords][room]
  uint32_t* slots;     // [room] addresses
  uint32_t* counters;  // of two buckets each: rows that came, those that found no slot, too
  uint32_t room;
  uint32_t free = 0;  // in the place of an address

  __device__ HashedPart(uint32_t* shared, uint32_t room_of_part)
      : words(shared),
        slots(shared + kWords * room_of_part),
        counters(slots + room_of_part),
        room(room_of_part) {}
  __device__ bool has_room_for(uint32_t rows) const { return rows <= most_hashed_rows(room); }
  __device__ __forceinline__ void start(uint32_t part) {
    free = PlaceParts::no_address(part);
    auto* const vectors = reinterpret_cast<uint4*>(slots);
    for (uint32_t i = threadIdx.x; i < room / kBucket; i += kPartThreads) {
      vectors[i] = {free, free, free, free};
    }
    for (uint32_t i = threadIdx.x; i < room / (2 * kBucket); i += kPartThreads) counters[i] = 0;
    block_sync();
  }
  __device__ __forceinline__ uint32_t first_bucket(uint32_t address) const {
    return __umulhi(address, room / kBucket);
  }
  __device__ __forceinline__ uint32_t behind(uint32_t bucket) const {
    return bucket + 1 == room / kBucket ? 0 : bucket + 1;
  }
  __device__ __forceinline__ uint4 addresses_of(uint32_t bucket) const {
    return reinterpret_cast<const uint4*>(slots)[bucket];
  }
  // The number of the first slot that has the value; kBucket: none has.
  __device__ __forceinline__ static uint32_t slot_with(uint32_t value, const uint4& bucket) {
    return bucket.x == value   ? 0
           : bucket.y == value ? 1
           : bucket.z == value ? 2
           : bucket.w == value ? 3
                               : kBucket;
  }
  // expected: has_room_for the part's rows.
  __device__ __forceinline__ bool insert(uint32_t address, const uint32_t (&row)[kWords]) const {
    uint32_t bucket = first_bucket(address);
#pragma unroll 1
    for (int seen = 0; seen < kMostBuckets; ++seen) {
      uint32_t const shift = bucket % 2 * 16;
      uint32_t const slot = atomicAdd(&counters[bucket / 2], 1U << shift) >> shift & 0xffffU;
      if (slot < kBucket) {
        uint32_t const at = kBucket * bucket + slot;
        slots[at] = address;
        put_words(*this, at, row);
        return true;
      }
      bucket = behind(bucket);
    }
    return false;
  }
  __device__ __forceinline__ bool end_build() const {
    bool is_once = true;
    for (uint32_t bucket = threadIdx.x; bucket < room / kBucket; bucket += kPartThreads) {
      uint4 const held = addresses_of(bucket);
      uint32_t const addresses[kBucket] = {held.x, held.y, held.z, held.w};
#pragma unroll
      for (uint32_t slot = 0; slot < kBucket; ++slot) {
        if (addresses[slot] == free) break;
        uint32_t at = 0;
        uint32_t const first = first_bucket(addresses[slot]);
        bool const is_first = first == bucket ? slot_with(addresses[slot], held) == slot
                                              : find_from(first, addresses[slot], &at) &&
                                                    at == kBucket * bucket + slot;
        is_once = is_once && is_first;
      }
    }
    return is_once;
  }
  template <int kItems>
  __device__ __forceinline__ void find(const uint32_t (&addresses)[kItems], bool (&found)[kItems],
                                       uint32_t (&rows)[kItems][kWords]) const {
    uint32_t at[kItems];
    uint32_t sought = 0;  // behind a bucket that is full of others
#pragma unroll
    for (int i = 0; i < kItems; ++i) {
      if (!found[i]) continue;
      uint32_t const bucket = first_bucket(addresses[i]);
      uint4 const held = addresses_of(bucket);
      uint32_t const slot = slot_with(addresses[i], held);
      found[i] = slot != kBucket;
      at[i] = found[i] ? kBucket * bucket + slot : behind(bucket);
      sought |= static_cast<uint32_t>(!found[i] && held.w != free) << i;
    }
    if (sought != 0) {
#pragma unroll
      for (int i = 0; i < kItems; ++i) {
        if ((sought >> i & 1) != 0) found[i] = find_from(at[i], addresses[i], &at[i]);
      }
    }
    get_words(*this, at, found, rows);
  }

 private:
  __device__ __forceinline__ bool find_from(uint32_t bucket, uint32_t address, uint32_t* at) const {
    while (true) {
      uint4 const held = addresses_of(bucket);
      uint32_t const slot = slot_with(address, held);
      *at = kBucket * bucket + slot;
      if (slot != kBucket) return true;
      if (held.w == free) return false;
      bucket = behind(bucket);
    }
  }
};

}  // namespace gpujoin::kernels
