// global_table.cuh: one hash table in device memory, built and probed where the keys lie (NOP)
//
// Paper    the non-partitioned hash join of Wu et al. 2024, section 5.2.2, and Lin & Liao 2025, section 3.1.2
// Differs  a slot holds a tag and the head of a chain of equal keys: duplicates do not lengthen the probe sequence, and no
//          key value is reserved (a slot is free when its head is kNoRow)
//
//   slot (8 bytes):  | tag 32 | head 32 |      next[build_rows]:  row -> next row with the same key, or kNoRow
//
//          tag = the mixed key when the key has 4 bytes: exact. Of 8-byte keys the tag is half the mixed key, and a hit is
//          verified against build_keys[head].
// Launch   build: ceil(rows / kStreamTile) blocks; probe: a grid that fills the device and takes tiles in order
// Moves    build: |Key| read + one random read-modify-write of a sector + 4 bytes of next a row;
//          probe: |Key| read + one random sector a row (+ one a further match) + 8 bytes a pair    (global_table_traffic)
#pragma once

#include <cstdint>

#include "kernels/output/emit_pairs.cuh"
#include "kernels/transform/mix_key.cuh"
#include "kernels/tuning.hpp"

namespace gpujoin::kernels {

constexpr uint32_t kNoRow = 0xffffffffU;
constexpr unsigned long long kFreeSlot = ~0ULL;  // head kNoRow

template <typename Key>
struct GlobalTable {
  unsigned long long* slots;  // [mask + 1], all kFreeSlot before the build
  uint64_t mask;
  uint32_t* next;            // [build_rows]; read only when has_duplicates
  uint32_t* has_duplicates;  // 0 before the build
  const Key* build_keys;     // [build_rows]
};

template <typename Key>
__device__ uint32_t tag_of(Key mixed) {
  return static_cast<uint32_t>(mixed);
}
template <typename Key>
__device__ uint64_t slot_of(Key mixed, uint64_t mask) {
  // For 8-byte keys the high half, independent of the tag; tables beyond 2^32 slots use bits of both.
  if constexpr (sizeof(Key) == 8) return ((mixed >> 32) | (mixed << 32)) & mask;
  return mixed & mask;
}
__device__ inline uint32_t head_of(unsigned long long slot) { return static_cast<uint32_t>(slot); }
__device__ inline uint32_t tag_of_slot(unsigned long long slot) {
  return static_cast<uint32_t>(slot >> 32);
}

template <typename Key>
__global__ void __launch_bounds__(kStreamThreads)
    build_global_table_kernel(GlobalTable<Key> table, uint32_t rows) {
  uint64_t const tile = uint64_t{blockIdx.x} * kStreamTile;
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
      unsigned long long const found = atomicCAS(&table.slots[slot], kFreeSlot, wanted);
      if (found == kFreeSlot) {
        table.next[row] = kNoRow;  // the end of the chain; only this thread writes this entry
        break;
      }
      bool same = tag_of_slot(found) == tag_of(mixed);
      // Any row of a chain has the chain's key, so a head that changes meanwhile does not matter.
      if constexpr (sizeof(Key) == 8) same = same && table.build_keys[head_of(found)] == key;
      if (same) {
        auto* head = reinterpret_cast<uint32_t*>(&table.slots[slot]);  // little endian: low word
        table.next[row] = atomicExch(head, row);
        *table.has_duplicates = 1;
        break;
      }
      slot = (slot + 1) & table.mask;
    }
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

// The head of the chain with the key, or kNoRow.
template <typename Key>
__device__ uint32_t find_chain(const GlobalTable<Key>& table, Key key) {
  Key const mixed = mix_key(key);
  uint64_t slot = slot_of(mixed, table.mask);
  for (;;) {
    unsigned long long const found = table.slots[slot];
    if (head_of(found) == kNoRow) return kNoRow;
    if (tag_of_slot(found) == tag_of(mixed)) {
      if constexpr (sizeof(Key) == 4) return head_of(found);
      if (table.build_keys[head_of(found)] == key) return head_of(found);
    }
    slot = (slot + 1) & table.mask;
  }
}

template <typename Key>
__global__ void __launch_bounds__(kProbeThreads)
    probe_global_table_kernel(ProbeGlobalTable<Key> args) {
  constexpr int kItems = kEmitItems;
  constexpr uint32_t kTile = kProbeThreads * kItems;
  using Emitter = BlockEmitter<kProbeThreads>;
  __shared__ typename Emitter::Shared shared;
  __shared__ unsigned long long shared_unit;
  Emitter emitter(args.sink, shared);

  GlobalTable<Key> const& table = args.table;
  bool const chains = *table.has_duplicates != 0;  // written by an earlier launch
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

    uint32_t heads[kItems];
    uint32_t count = 0;
#pragma unroll
    for (int item = 0; item < kItems; ++item) {
      uint64_t const row = unit * kTile + item * kProbeThreads + threadIdx.x;
      heads[item] = row < args.probe_rows ? find_chain(table, args.probe_keys[row]) : kNoRow;
    }
#pragma unroll
    for (int item = 0; item < kItems; ++item) {
      if (heads[item] == kNoRow) continue;
      ++count;
      if (!chains) continue;
      for (uint32_t row = table.next[heads[item]]; row != kNoRow; row = table.next[row]) ++count;
    }
    int item = -1;
    uint32_t row = kNoRow;
    bool const written = emitter.emit(count, [&](uint32_t* build, uint32_t* probe) {
      while (row == kNoRow) {
        ++item;
#pragma unroll
        for (int i = 0; i < kItems; ++i) {
          if (i == item) row = heads[i];
        }
      }
      *build = row;
      *probe = static_cast<uint32_t>(unit * kTile + item * kProbeThreads + threadIdx.x);
      row = chains ? table.next[row] : kNoRow;
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
