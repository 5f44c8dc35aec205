// global_table.cuh: one hash table in device memory, built and probed where the keys lie (NOP)
//
// Paper    the non-partitioned hash join of Wu et al. 2024, section 5.2.2, and Lin & Liao 2025,
//          section 3.1.2
// Differs  a slot names one row of its key, its *representative*; further rows with the key do not
//          enter the table, so they cannot lengthen a probe sequence. No key value is reserved: a
//          slot is free when it names no row
//
//   slot (8 bytes):  | tag 32 | representative 32 |
//
//          tag = the mixed key when the key has 4 bytes: exact. Of 8-byte keys the tag is half the
//          mixed key, and a hit is verified against the representative's key.
// In       build_keys[build_rows], probe_keys[probe_rows]   Key, any order
// Out      without duplicates: pairs (representative, probe row) through the sink; with: nothing,
//          see group_rows.cuh
// Launch   build: ceil(rows / kStreamTile) blocks; probe: a grid that fills the device and takes
//          tiles in order
// Moves    build: |Key| read + one random read-modify-write of a sector a row;
//          probe: |Key| read + one random sector a row + 8 bytes a pair
//          (traffic::global_table_build, _probe)
#pragma once

#include <cstdint>

#include "kernels/block_flag.cuh"
#include "kernels/output/emit_pairs.cuh"
#include "kernels/transform/mix_key.cuh"
#include "kernels/tuning.hpp"

namespace gpujoin::kernels {

constexpr uint32_t kNoRow = 0xffffffffU;
constexpr unsigned long long kFreeSlot = ~0ULL;  // representative kNoRow

template <typename Key>
struct GlobalTable {
  unsigned long long* slots;  // [mask + 1], all kFreeSlot before the build
  uint64_t mask;
  uint32_t* has_duplicates;  // 0 before the build
  const Key* build_keys;     // [build_rows]
};

template <typename Key>
__device__ uint32_t tag_of(Key mixed) {
  return static_cast<uint32_t>(mixed);
}
template <typename Key>
__device__ uint64_t slot_of(Key mixed, uint64_t mask) {
  // For 8-byte keys the high half, independent of the tag; tables beyond 2^32 slots use bits of
  // both.
  if constexpr (sizeof(Key) == 8) return ((mixed >> 32) | (mixed << 32)) & mask;
  return mixed & mask;
}
__device__ inline uint32_t row_of_slot(unsigned long long slot) {
  return static_cast<uint32_t>(slot);
}
__device__ inline uint32_t tag_of_slot(unsigned long long slot) {
  return static_cast<uint32_t>(slot >> 32);
}

template <typename Key>
__global__ void __launch_bounds__(kStreamThreads)
    build_global_table_kernel(GlobalTable<Key> table, uint32_t rows) {
  uint64_t const tile = uint64_t{blockIdx.x} * kStreamTile;
  // Once a duplicate was seen, looking comes before swapping: a heavy key's swaps would queue up on
  // its slot. Unique keys, which looking would cost a turn, never come here.
  bool const look = is_set_by_now(table.has_duplicates);
#pragma unroll
  for (int item = 0; item < kStreamItems; ++item) {
    uint64_t const position = tile + item * kStreamThreads + threadIdx.x;
    if (position >= rows) return;
    auto const row = static_cast<uint32_t>(position);
    Key const key = table.build_keys[row];
    Key const mixed = mix_key(key);
    unsigned long long const wanted = static_cast<unsigned long long>(tag_of(mixed)) << 32 | row;
    uint64_t slot = slot_of(mixed, table.mask);
    for (;;) {
      unsigned long long found = kFreeSlot;
      if (look) found = *static_cast<volatile unsigned long long*>(&table.slots[slot]);
      if (found == kFreeSlot) found = atomicCAS(&table.slots[slot], kFreeSlot, wanted);
      if (found == kFreeSlot) break;
      bool same = tag_of_slot(found) == tag_of(mixed);
      if constexpr (sizeof(Key) == 8) same = same && table.build_keys[row_of_slot(found)] == key;
      if (same) {
        if (!look) atomicExch(table.has_duplicates, 1U);
        break;
      }
      slot = (slot + 1) & table.mask;
    }
  }
}

// The representative of the key, or kNoRow.
template <typename Key>
__device__ uint32_t find_representative(const GlobalTable<Key>& table, Key key) {
  Key const mixed = mix_key(key);
  uint64_t slot = slot_of(mixed, table.mask);
  for (;;) {
    unsigned long long const found = table.slots[slot];
    if (row_of_slot(found) == kNoRow) return kNoRow;
    if (tag_of_slot(found) == tag_of(mixed)) {
      if constexpr (sizeof(Key) == 4) return row_of_slot(found);
      if (table.build_keys[row_of_slot(found)] == key) return row_of_slot(found);
    }
    slot = (slot + 1) & table.mask;
  }
}

template <typename Key>
struct ProbeGlobalTable {
  GlobalTable<Key> table;
  const Key* probe_keys;  // [probe_rows]
  uint32_t probe_rows;
  PairSink sink;
  ResumePoint* resume;  // [gridDim.x]
};

template <typename Key>
__global__ void __launch_bounds__(kProbeThreads)
    probe_global_table_kernel(ProbeGlobalTable<Key> args) {
  constexpr int kItems = kEmitItems;
  constexpr uint32_t kTile = kProbeThreads * kItems;
  using Emitter = BlockEmitter<kProbeThreads>;
  __shared__ typename Emitter::Shared shared;
  __shared__ unsigned long long shared_unit;
  // Rows of a key are not in the table: the host reads this flag with the counters and takes the
  // other path.
  if (*args.table.has_duplicates != 0) return;

  Emitter emitter(args.sink, shared);
  uint64_t const tiles = (uint64_t{args.probe_rows} + kTile - 1) / kTile;
  unsigned long long unit = args.resume[blockIdx.x].unit;
  for (;;) {
    if (unit == kNoUnit) {
      if (threadIdx.x == 0) shared_unit = atomicAdd(&args.sink.counters->taken, 1ULL);
      __syncthreads();
      unit = shared_unit;
      __syncthreads();
    }
    if (unit >= tiles) break;

    uint32_t matches[kItems];
    uint32_t count = 0;
#pragma unroll
    for (int item = 0; item < kItems; ++item) {
      uint64_t const row = unit * kTile + item * kProbeThreads + threadIdx.x;
      matches[item] =
          row < args.probe_rows ? find_representative(args.table, args.probe_keys[row]) : kNoRow;
    }
#pragma unroll
    for (int item = 0; item < kItems; ++item) count += matches[item] != kNoRow ? 1 : 0;
    int item = -1;
    bool const written = emitter.emit(count, [&](uint32_t* build, uint32_t* probe) {
      uint32_t row = kNoRow;
      while (row == kNoRow) {
        ++item;
#pragma unroll
        for (int i = 0; i < kItems; ++i) {
          if (i == item) row = matches[i];
        }
      }
      *build = row;
      *probe = static_cast<uint32_t>(unit * kTile + item * kProbeThreads + threadIdx.x);
    });
    if (!written) {
      if (threadIdx.x == 0) args.resume[blockIdx.x].unit = unit;
      return;
    }
    unit = kNoUnit;
  }
  // Nothing is left: a later launch must not take this block's old point up again.
  if (threadIdx.x == 0) args.resume[blockIdx.x].unit = tiles;
}

}  // namespace gpujoin::kernels
