// carried_columns.cuh: the join of partitions writes the output columns itself
//
// Source   ours; the table is that of co_partitions.cuh. Payloads moved with their keys (radix_unordered.cuh), so that a match finds them
//          where its key is: no pair is written, none is read again, and nothing is gathered (Wu et al. 2024 gather in section 4.3)
// In       mixed keys of both sides, contiguous partitions; columns in the order of the keys
// Out      target[] of each column, no holes; any order of rows
// Needs    units of at most kCarriedBuildRows build rows (work_units.cuh)
// Launch   as many blocks of kCarriedThreads as are resident
// Moves    2 * |key| a row, the columns' widths a row and a pair (traffic::carried_columns)
// Shared   the table; a warp takes kCarriedItems * 32 probe rows at a time and reserves places for exactly their pairs, so warps wait
//          for each other only where a table is built
#pragma once

#include <cooperative_groups.h>

#include <cstdint>

#include "kernels/match/carried_columns.hpp"
#include "kernels/match/scheduled_units.cuh"
#include "kernels/transform/mix_key.cuh"
#include "kernels/tuning.hpp"
#include "kernels/wide.hpp"

namespace gpujoin::kernels {

// Lanes of a warp come here one by one from what they did last, and __syncthreads() would count the warp as soon as the first of them
// is there.
__device__ __forceinline__ void block_sync() { cooperative_groups::this_thread_block().sync(); }

// Work units of each partition, one at least; inclusive sums of them are the unit ends.
__global__ void __launch_bounds__(kStreamThreads)
    count_carried_units_kernel(const uint32_t* __restrict__ build_offsets,
                               const uint32_t* __restrict__ probe_offsets, uint32_t partitions,
                               unsigned long long* __restrict__ units) {
  uint32_t const i = blockIdx.x * kStreamThreads + threadIdx.x;
  if (i >= partitions) return;
  unsigned long long const builds = build_offsets[i + 1] - build_offsets[i];
  unsigned long long const probes = probe_offsets[i + 1] - probe_offsets[i];
  units[i] = max((builds + kCarriedBuildRows - 1) / kCarriedBuildRows, 1ULL) *
             max((probes + kCarriedProbeRows - 1) / kCarriedProbeRows, 1ULL);
}

// Rows of a unit: a chunk of a partition's build rows with a chunk of its probe rows.
struct CarriedUnit {
  uint32_t build_first;
  uint32_t build_rows;
  uint32_t probe_first;
  uint32_t probe_rows;
};

// A block's places: a chunk of which its warps take what they write. One atomic add in shared memory tells a warp both the chunk and
// the place in it, so warps wait for each other only while one of them fetches the next chunk. One global counter for every batch
// would be asked more often than an H200 answers, 0.6e9 times a second.
class CarriedPlaces {
 public:
  using Shared = unsigned long long;  // number of the chunk << 32 | places taken of it, or more

  // One thread, before the others take any.
  __device__ static void start(Shared& shared) { shared = kCarriedChunk; }

  // All lanes of a warp: the first of *count places, of which there are `rows`, or at least one and the others are to be asked for.
  template <typename Key>
  __device__ static unsigned long long take(const CarriedJoin<Key>& join, Shared& shared,
                                            uint32_t rows, uint32_t* count) {
    unsigned long long before = 0;
    if (threadIdx.x % 32 == 0) {
      for (;;) {
        before = atomicAdd(&shared, static_cast<unsigned long long>(rows));
        auto const used = static_cast<uint32_t>(before);
        if (used < kCarriedChunk) {
          // What is missing is asked for again, of the next chunk: this one is just full.
          if (used + rows > kCarriedChunk) atomicExch(&shared, (before >> 32 << 32) | kCarriedChunk);
          break;
        }
        if (used == kCarriedChunk) {
          // Whoever finds the chunk just full fetches the next one, and has the first places of it.
          before = atomicAdd(&join.counters->chunks, 1ULL) << 32;
          atomicExch(&shared, before | rows);
          break;
        }
        while (static_cast<uint32_t>(*static_cast<volatile Shared*>(&shared)) > kCarriedChunk) {
          __nanosleep(20);
        }
      }
    }
    before = __shfl_sync(0xffffffffU, before, 0);
    auto const used = static_cast<uint32_t>(before);
    *count = min(rows, kCarriedChunk - used);
    return (before >> 32) * kCarriedChunk + used;
  }

  // One thread, after the others took theirs.
  template <typename Key>
  __device__ static void finish(const CarriedJoin<Key>& join, const Shared& shared) {
    auto const used = static_cast<uint32_t>(shared);
    if (used >= kCarriedChunk) return;
    join.tails[atomicAdd(&join.counters->tails, 1ULL)] = (shared >> 32) * kCarriedChunk + used;
    atomicAdd(&join.counters->holes, static_cast<unsigned long long>(kCarriedChunk - used));
  }
};

constexpr uint32_t kCarriedEnd = 0xffffU;  // of a chain

template <typename Key>
struct CarriedShared {
  CarriedUnit units[2];  // this one, and the next, which the first warp looks up meanwhile
  CarriedPlaces::Shared places;
  uint32_t batch;
  Key keys[kCarriedBuildRows];
  uint32_t heads[1U << kCarriedBucketBits];
  uint16_t links[kCarriedBuildRows];
};

template <typename Key>
__device__ __forceinline__ uint32_t carried_bucket(Key key, int32_t radix_bits) {
  return static_cast<uint32_t>(key >> radix_bits) & ((1U << kCarriedBucketBits) - 1);
}

template <typename Key>
__device__ __forceinline__ void build_carried_table(const CarriedJoin<Key>& join, const CarriedUnit& unit,
                                                    CarriedShared<Key>& shared) {
  constexpr int kItems = (kCarriedBuildRows + kCarriedThreads - 1) / kCarriedThreads;
  Key keys[kItems];
#pragma unroll
  for (int item = 0; item < kItems; ++item) {
    uint32_t const i = item * kCarriedThreads + threadIdx.x;
    if (i < unit.build_rows) keys[item] = join.build_keys[unit.build_first + i];
  }
  for (uint32_t i = threadIdx.x; i < 1U << kCarriedBucketBits; i += kCarriedThreads) {
    shared.heads[i] = kCarriedEnd;
  }
  if (threadIdx.x == 0) shared.batch = 0;
  block_sync();
#pragma unroll
  for (int item = 0; item < kItems; ++item) {
    uint32_t const i = item * kCarriedThreads + threadIdx.x;
    if (i < unit.build_rows) {
      shared.keys[i] = keys[item];
      shared.links[i] = static_cast<uint16_t>(
          atomicExch(&shared.heads[carried_bucket(keys[item], join.radix_bits)], i));
    }
  }
  block_sync();
}

// A warp's batch of probe rows.
template <typename Key>
struct CarriedBatch {
  uint32_t build_first;  // of the chunk
  uint32_t probe_first;  // of the batch
  Key keys[kCarriedItems];
  // Of each of a lane's rows, the matches from now on << 16 | the chunk row of the first of them.
  uint32_t matches[kCarriedItems];
  uint32_t slots[kCarriedItems];  // which of the batch's pairs that one is
  // Slots that are written now, the first of them to place `base`.
  uint32_t first_slot;
  uint32_t slot_count;
  unsigned long long base;

  __device__ bool has_match(int item) const { return matches[item] >> 16 != 0; }
  __device__ bool is_written(int item) const {
    return has_match(item) && slots[item] - first_slot < slot_count;
  }
  // From `base` on.
  __device__ uint32_t place(int item) const { return slots[item] - first_slot; }
  __device__ uint32_t build_row(int item) const { return build_first + (matches[item] & 0xffffU); }
  __device__ uint32_t probe_row(int item) const {
    return probe_first + item * 32 + threadIdx.x % 32;
  }
};

// Keeps the compiler from working out addresses for every width ahead of the columns' loop, for which there are no registers.
__device__ __forceinline__ uint32_t here(uint32_t number) {
  asm volatile("" : "+r"(number));
  return number;
}

// kAtOnce: values that a lane loads before it writes them.
template <typename Value, typename Key>
__device__ __forceinline__ void write_carried(const CarriedColumn& column,
                                              const CarriedBatch<Key>& batch) {
  constexpr int kAtOnce = sizeof(Value) <= 4 ? 4 : 1;
  auto const* const source = static_cast<const Value*>(column.source);
  auto* const target = static_cast<Value*>(column.target) + batch.base;
  bool const of_build = column.from == CarriedFrom::kBuild;
#pragma unroll
  for (int first = 0; first < kCarriedItems; first += kAtOnce) {
    Value values[kAtOnce];
#pragma unroll
    for (int i = 0; i < kAtOnce; ++i) {
      int const item = first + i;
      if (batch.is_written(item)) {
        values[i] = source[here(of_build ? batch.build_row(item) : batch.probe_row(item))];
      }
    }
#pragma unroll
    for (int i = 0; i < kAtOnce; ++i) {
      if (batch.is_written(first + i)) target[here(batch.place(first + i))] = values[i];
    }
  }
}

// kWords: every column but the keys has 4 bytes, which is most often so and half the code.
template <bool kWords, typename Key>
__device__ __forceinline__ void write_carried_rows(const CarriedJoin<Key>& join,
                                                   const CarriedBatch<Key>& batch) {
#pragma unroll 1
  for (int32_t i = 0; i < join.column_count; ++i) {
    CarriedColumn const& column = join.columns[i];
    if (column.from == CarriedFrom::kKey) {
      auto* const target = static_cast<Key*>(column.target) + batch.base;
#pragma unroll
      for (int item = 0; item < kCarriedItems; ++item) {
        if (batch.is_written(item)) target[here(batch.place(item))] = unmix_key(batch.keys[item]);
      }
      continue;
    }
    switch (kWords ? 4 : column.width) {
      case 1:
        write_carried<uint8_t>(column, batch);
        break;
      case 2:
        write_carried<uint16_t>(column, batch);
        break;
      case 4:
        write_carried<uint32_t>(column, batch);
        break;
      case 8:
        write_carried<uint64_t>(column, batch);
        break;
      default:
        write_carried<Wide>(column, batch);
        break;
    }
  }
}

// Each row's next match gets a slot, side by side from `slot` on. Returns the slot after them.
template <typename Key>
__device__ __forceinline__ uint32_t place_carried(CarriedBatch<Key>& batch, uint32_t slot) {
  uint32_t const below = (1U << threadIdx.x % 32) - 1;
#pragma unroll
  for (int item = 0; item < kCarriedItems; ++item) {
    uint32_t const lanes = __ballot_sync(0xffffffffU, batch.has_match(item));
    batch.slots[item] = slot + __popc(lanes & below);
    slot += __popc(lanes);
  }
  return slot;
}

template <bool kWords, typename Key>
__device__ __forceinline__ void join_carried_batch(const CarriedJoin<Key>& join, const CarriedUnit& unit,
                                                   CarriedShared<Key>& shared,
                                                   uint32_t first) {
  constexpr uint32_t kAll = 0xffffffffU;
  constexpr uint32_t kOneMatch = 1U << 16;
  uint32_t const lane = threadIdx.x % 32;
  CarriedBatch<Key> batch;
  batch.build_first = unit.build_first;
  batch.probe_first = unit.probe_first + first;
  uint32_t const rows = unit.probe_rows - first;
#pragma unroll
  for (int item = 0; item < kCarriedItems; ++item) {
    uint32_t const i = item * 32 + lane;
    if (i < rows) batch.keys[item] = join.probe_keys[batch.probe_first + i];
  }
  // The chains of all items in step: their loads overlap, and the longest is waited for once.
  uint32_t at[kCarriedItems];
#pragma unroll
  for (int item = 0; item < kCarriedItems; ++item) {
    batch.matches[item] = 0;
    at[item] = item * 32 + lane < rows
                   ? shared.heads[carried_bucket(batch.keys[item], join.radix_bits)]
                   : kCarriedEnd;
  }
  bool goes_on = true;
#pragma unroll 1
  while (goes_on) {
    goes_on = false;
#pragma unroll
    for (int item = 0; item < kCarriedItems; ++item) {
      if (at[item] == kCarriedEnd) continue;
      if (shared.keys[at[item]] == batch.keys[item]) {
        uint32_t const matches = batch.matches[item];
        batch.matches[item] = matches == 0 ? kOneMatch | at[item] : matches + kOneMatch;
      }
      at[item] = shared.links[at[item]];
      goes_on |= at[item] != kCarriedEnd;
    }
  }
  uint32_t pairs = 0;
#pragma unroll
  for (int item = 0; item < kCarriedItems; ++item) pairs += batch.matches[item] >> 16;
  pairs = __reduce_add_sync(kAll, pairs);

  // Rounds: each row's first match, then each one's second, until all have their places.
  uint32_t placed = 0;
#pragma unroll 1
  for (uint32_t written = 0; written != pairs;) {
    if (written == placed) placed = place_carried(batch, placed);
    batch.first_slot = written;
    batch.base = CarriedPlaces::take(join, shared.places, placed - written, &batch.slot_count);
    if (batch.base < join.capacity) write_carried_rows<kWords>(join, batch);
    written += batch.slot_count;
    if (written != placed || written == pairs) continue;
#pragma unroll
    for (int item = 0; item < kCarriedItems; ++item) {
      if (!batch.has_match(item)) continue;
      uint32_t const matches = batch.matches[item] - kOneMatch;
      batch.matches[item] = 0;
      if (matches < kOneMatch) continue;
      uint32_t at = matches & 0xffffU;
#pragma unroll 1
      do {
        at = shared.links[at];
      } while (shared.keys[at] != batch.keys[item]);
      batch.matches[item] = (matches & ~0xffffU) | at;
    }
  }
}

// All lanes of one warp. Where no partition is cut the units are the partitions, and what is loaded is loaded at once.
template <typename Key>
__device__ __forceinline__ void find_carried_unit(const CarriedJoin<Key>& join,
                                               unsigned long long number, CarriedUnit& unit) {
  uint32_t const lane = threadIdx.x % 32;
  bool const uncut = join.unit_ends[join.partitions - 1] == join.partitions;
  uint32_t const partition = uncut ? static_cast<uint32_t>(number)
                                   : find_partition(join.unit_ends, join.partitions, number);
  uint32_t offset = 0;
  if (lane < 4) offset = (lane < 2 ? join.build_offsets : join.probe_offsets)[partition + lane % 2];
  unsigned long long const before =
      uncut || partition == 0 ? (uncut ? number : 0) : join.unit_ends[partition - 1];
  uint32_t const build = __shfl_sync(0xffffffffU, offset, 0);
  uint32_t const build_end = __shfl_sync(0xffffffffU, offset, 1);
  uint32_t const probe = __shfl_sync(0xffffffffU, offset, 2);
  uint32_t const probe_end = __shfl_sync(0xffffffffU, offset, 3);
  if (lane == 0) {
    unsigned long long const within = number - before;
    uint32_t const chunks = (build_end - build + kCarriedBuildRows - 1) / kCarriedBuildRows;
    uint32_t const divisor = max(chunks, 1U);
    uint32_t const skipped_build = static_cast<uint32_t>(within % divisor) * kCarriedBuildRows;
    uint32_t const skipped_probe = static_cast<uint32_t>(within / divisor) * kCarriedProbeRows;
    unit.build_first = build + skipped_build;
    unit.build_rows = min(build_end - build - skipped_build, uint32_t{kCarriedBuildRows});
    unit.probe_first = probe + skipped_probe;
    unit.probe_rows = min(probe_end - probe - skipped_probe, uint32_t{kCarriedProbeRows});
  }
  __syncwarp();  // the warp comes back together: the caller's barrier counts it once
}

template <typename Key, bool kWords>
__global__ void __launch_bounds__(kCarriedThreads, sizeof(Key) == 4 ? kCarriedBlocksPerSm
                                                                    : kCarriedBlocksPerSmWide)
    carried_columns_kernel(const __grid_constant__ CarriedJoin<Key> join) {
  extern __shared__ __align__(16) unsigned char dynamic_shared[];
  auto& shared = *reinterpret_cast<CarriedShared<Key>*>(dynamic_shared);
  unsigned long long const units = join.unit_ends[join.partitions - 1];
  unsigned long long number = blockIdx.x;
  if (threadIdx.x == 0) CarriedPlaces::start(shared.places);
  if (number < units && threadIdx.x < 32) find_carried_unit(join, number, shared.units[0]);
  block_sync();
  // Units in turn: none is large, so nobody has to be asked which is next.
  for (uint32_t turn = 0; number < units; turn ^= 1) {
    CarriedUnit const& unit = shared.units[turn];
    build_carried_table(join, unit, shared);
    number += gridDim.x;
    if (number < units && threadIdx.x < 32) {
      find_carried_unit(join, number, shared.units[turn ^ 1]);
    }
    for (;;) {
      uint32_t first = 0;
      if (threadIdx.x % 32 == 0) first = atomicAdd(&shared.batch, 32U * kCarriedItems);
      first = __shfl_sync(0xffffffffU, first, 0);
      if (first >= unit.probe_rows) break;
      join_carried_batch<kWords>(join, unit, shared, first);
    }
    block_sync();  // the table and the unit are read to the end
  }
  if (threadIdx.x == 0) CarriedPlaces::finish(join, shared.places);
}

}  // namespace gpujoin::kernels
