// carried_columns.cuh: the join of partitions writes the output columns itself
//
// Source   ours. Payloads moved with their keys (radix_unordered.cuh), so that a match finds them where its key is: no pair is written,
//          none is read again, and nothing is gathered (Wu et al. 2024 gather in section 4.3)
// In       mixed keys of both sides, contiguous partitions; columns in the order of the keys
// Out      target[] of each column, in chunks; rows in any order
// Needs    unit_ends, the inclusive sums of CarriedUnits
// Launch   as many blocks of kCarriedThreads as are resident
// Moves    the widths of a row of either side, and of an output row (traffic::carried_columns)
// Shared   carried_groups.cuh; a warp takes kItems * 32 probe rows at a time, and warps wait for each other only where groups are built
//
//   few matches a row:   rounds; in the first each lane writes its rows' first matches, and most often there is no second
//   many matches a row:  all matches of a batch, in the order of lanes, are dealt to the lanes one by one
#pragma once

#include <cstdint>

#include "kernels/match/carried_columns.hpp"
#include "kernels/match/carried_groups.cuh"
#include "kernels/match/carried_places.cuh"
#include "kernels/match/carried_rows.cuh"
#include "kernels/match/scheduled_units.cuh"
#include "kernels/tuning.hpp"

namespace gpujoin::kernels {

// Units of a partition, for count_units.cuh: one at least, so that where none is cut unit and partition have the same number.
struct CarriedUnits {
  __device__ unsigned long long operator()(uint64_t build_rows, uint64_t probe_rows) const {
    return max((build_rows + kCarriedBuildRows - 1) / kCarriedBuildRows, uint64_t{1}) *
           max((probe_rows + kCarriedProbeRows - 1) / kCarriedProbeRows, uint64_t{1});
  }
};

// Rows of a unit: a chunk of a partition's build rows with a chunk of its probe rows.
struct CarriedUnit {
  uint32_t build_first;
  uint32_t build_rows;
  uint32_t probe_first;
  uint32_t probe_rows;
};

template <typename Key>
struct CarriedShared {
  CarriedUnit units[2];  // this one, and the next, which the first warp looks up meanwhile
  CarriedPlaces::Shared places;
  uint32_t batch;  // probe rows of the unit that warps have taken
  bool is_full;    // there is no room: what is found from now on is counted only
  CarriedGroups<Key> groups;
};

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
    uint32_t const chunks = parts_of(build_end - build, kCarriedBuildRows);
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

// A lane's matches of one probe row, in positions of the groups.
struct CarriedMatches {
  uint32_t start;  // of the bucket
  uint32_t end;
  uint32_t first;  // match
  uint32_t count;
};

template <typename Key>
__device__ __forceinline__ CarriedMatches find_matches(const CarriedGroups<Key>& groups, Key key,
                                                       int32_t radix_bits) {
  uint32_t const bucket = carried_bucket(key, radix_bits);
  CarriedMatches found = {groups.start_of(bucket), groups.start_of(bucket + 1), 0, 0};
#pragma unroll 1
  for (uint32_t at = found.start; at < found.end; ++at) {
    if (groups.keys[at] == key && found.count++ == 0) found.first = at;
  }
  return found;
}

// Writes rows that have the slots 0 to `count` between them.
template <int kWidth, typename Rows>
__device__ __forceinline__ void write_slots(const CarriedJoin<typename Rows::Key>& join,
                                            CarriedShared<typename Rows::Key>& shared,
                                            uint32_t count, Rows& rows) {
#pragma unroll 1
  for (uint32_t written = 0; written != count; written += rows.slot_count) {
    rows.first_slot = written;
    rows.base = CarriedPlaces::take(join, shared.places, count - written, &rows.slot_count);
    if (rows.base < join.capacity) {
      write_carried_rows<kWidth>(join, rows);
    } else {
      shared.is_full = true;
    }
  }
}

// Many matches of one probe row among other keys of the bucket: all lanes look through the bucket.
template <int kWidth, typename Key>
__device__ __forceinline__ void write_by_scan(const CarriedJoin<Key>& join,
                                              CarriedShared<Key>& shared, Key key, uint32_t start,
                                              uint32_t end, uint32_t build_first,
                                              uint32_t probe_row) {
  constexpr uint32_t kAll = 0xffffffffU;
  uint32_t const lane = threadIdx.x % 32;
  CarriedRows<Key, 1> row;
  row.keys[0] = key;
  row.probe[0] = probe_row;
#pragma unroll 1
  for (uint32_t first = start; first < end; first += 32) {
    uint32_t const at = first + lane;
    bool const matches = at < end && shared.groups.keys[at] == key;
    uint32_t const lanes = __ballot_sync(kAll, matches);
    row.slots[0] = matches ? __popc(lanes & ((1U << lane) - 1)) : kNoSlot;
    if (matches) row.build[0] = build_first + shared.groups.rows[at];
    write_slots<kWidth>(join, shared, __popc(lanes), row);
  }
}

// Of one probe row of each lane, all matches: dealt to the lanes in turn, so that they write side by side however unequal their own
// counts are.
template <int kWidth, int kItems, typename Key>
__device__ __forceinline__ void write_all_matches(const CarriedJoin<Key>& join,
                                                  CarriedShared<Key>& shared, Key key,
                                                  CarriedMatches own, uint32_t build_first,
                                                  uint32_t probe_row) {
  constexpr uint32_t kAll = 0xffffffffU;
  constexpr uint32_t kManyMatches = 32;
  uint32_t const lane = threadIdx.x % 32;
  // A bucket that holds one key only has its matches side by side.
  bool const lone = own.end - own.start == own.count;
  bool const scans = !lone && own.count > kManyMatches;
#pragma unroll 1
  for (uint32_t lanes = __ballot_sync(kAll, scans); lanes != 0; lanes &= lanes - 1) {
    int const owner = __ffs(static_cast<int>(lanes)) - 1;
    write_by_scan<kWidth>(join, shared, __shfl_sync(kAll, key, owner),
                          __shfl_sync(kAll, own.start, owner), __shfl_sync(kAll, own.end, owner),
                          build_first, __shfl_sync(kAll, probe_row, owner));
  }
  if (scans) own.count = 0;
  uint32_t const end = warp_inclusive_sum(own.count);
  uint32_t const total = __shfl_sync(kAll, end, 31);
  CarriedRows<Key, kItems> rows;
#pragma unroll 1
  for (uint32_t first = 0; first < total; first += 32 * kItems) {
#pragma unroll
    for (int item = 0; item < kItems; ++item) {
      uint32_t const within = 32 * item + lane;
      uint32_t const slot = first + within;
      uint32_t owner = 0;  // lanes whose matches end no later than this slot
#pragma unroll
      for (uint32_t step = 16; step != 0; step /= 2) {
        if (__shfl_sync(kAll, end, owner + step - 1) <= slot) owner += step;
      }
      uint32_t k = slot - (__shfl_sync(kAll, end, owner) - __shfl_sync(kAll, own.count, owner));
      uint32_t at = __shfl_sync(kAll, own.first, owner);
      bool const of_lone = __shfl_sync(kAll, lone, owner);
      rows.keys[item] = __shfl_sync(kAll, key, owner);
      rows.probe[item] = __shfl_sync(kAll, probe_row, owner);
      rows.slots[item] = slot < total ? within : kNoSlot;
      if (slot >= total) continue;
      if (of_lone) {
        at += k;
      } else {
#pragma unroll 1
        while (k != 0) k -= shared.groups.keys[++at] == rows.keys[item] ? 1 : 0;
      }
      rows.build[item] = build_first + shared.groups.rows[at];
    }
    __syncwarp();
    write_slots<kWidth>(join, shared, min(total - first, 32U * kItems), rows);
  }
}

// A batch of probe rows and what they match.
template <typename Key, int kItems>
struct CarriedBatch {
  CarriedRows<Key, kItems> rows;
  // Of each of a lane's rows, the matches not yet written << 16 | the position of the first of them.
  uint32_t matches[kItems];
  uint32_t count;  // of all the lane's rows

  __device__ bool has_match(int item) const { return matches[item] >> 16 != 0; }
};
constexpr uint32_t kOneMatch = 1U << 16;

template <int kItems, typename Key>
__device__ __forceinline__ void find_batch(const CarriedJoin<Key>& join, const CarriedUnit& unit,
                                           const CarriedGroups<Key>& groups, uint32_t first,
                                           CarriedBatch<Key, kItems>& batch) {
  uint32_t const left = unit.probe_rows - first;
  uint32_t const lane = threadIdx.x % 32;
#pragma unroll
  for (int item = 0; item < kItems; ++item) {
    batch.rows.probe[item] = unit.probe_first + first + 32 * item + lane;
    if (item * 32 + lane < left) batch.rows.keys[item] = join.probe_keys[batch.rows.probe[item]];
  }
  batch.count = 0;
#pragma unroll
  for (int item = 0; item < kItems; ++item) {
    CarriedMatches found{};
    if (item * 32 + lane < left) {
      found = find_matches(groups, batch.rows.keys[item], join.radix_bits);
    }
    batch.matches[item] = found.count << 16 | found.first;
    batch.count += found.count;
  }
}

// Each row's next match: the lanes that have one write side by side.
template <int kWidth, int kItems, typename Key>
__device__ __forceinline__ void write_next_matches(const CarriedJoin<Key>& join,
                                                   CarriedShared<Key>& shared, uint32_t build_first,
                                                   CarriedBatch<Key, kItems>& batch) {
  uint32_t const below = (1U << threadIdx.x % 32) - 1;
  uint32_t slots = 0;
#pragma unroll
  for (int item = 0; item < kItems; ++item) {
    bool const writes = batch.has_match(item);
    uint32_t const lanes = __ballot_sync(0xffffffffU, writes);
    batch.rows.slots[item] = writes ? slots + __popc(lanes & below) : kNoSlot;
    if (writes) {
      batch.rows.build[item] = build_first + shared.groups.rows[batch.matches[item] & 0xffffU];
    }
    slots += __popc(lanes);
  }
  write_slots<kWidth>(join, shared, slots, batch.rows);
}

// kDeals: many rows have many matches. Else they are written too, but lanes with few matches wait for those with many.
template <int kWidth, bool kDeals, int kItems, typename Key>
__device__ __forceinline__ void join_carried_batch(const CarriedJoin<Key>& join,
                                                   const CarriedUnit& unit,
                                                   CarriedShared<Key>& shared, uint32_t first) {
  constexpr uint32_t kAll = 0xffffffffU;
  CarriedBatch<Key, kItems> batch;
  find_batch(join, unit, shared.groups, first, batch);
  // Another warp may find so between the reads of two lanes.
  if (__any_sync(kAll, shared.is_full)) {
    uint32_t const matches = __reduce_add_sync(kAll, batch.count);
    if (threadIdx.x % 32 == 0 && matches != 0) {
      atomicAdd(&join.counters->missed, static_cast<unsigned long long>(matches));
    }
    return;
  }
  if constexpr (kDeals) {
#pragma unroll
    for (int item = 0; item < kItems; ++item) {
      uint32_t const bucket = carried_bucket(batch.rows.keys[item], join.radix_bits);
      CarriedMatches const own = {shared.groups.start_of(bucket),
                                  shared.groups.start_of(bucket + 1), batch.matches[item] & 0xffffU,
                                  batch.matches[item] >> 16};
      write_all_matches<kWidth, kItems>(join, shared, batch.rows.keys[item], own, unit.build_first,
                                        batch.rows.probe[item]);
    }
  } else {
    bool more = batch.count != 0;
#pragma unroll 1
    while (__any_sync(kAll, more)) {
      write_next_matches<kWidth>(join, shared, unit.build_first, batch);
      more = false;
#pragma unroll
      for (int item = 0; item < kItems; ++item) {
        if (!batch.has_match(item)) continue;
        batch.matches[item] -= kOneMatch;
        if (!batch.has_match(item)) continue;
        more = true;
#pragma unroll 1
        do {
          ++batch.matches[item];
        } while (shared.groups.keys[batch.matches[item] & 0xffffU] != batch.rows.keys[item]);
      }
    }
  }
}

template <typename Key, int kWidth, bool kDeals>
__global__ void __launch_bounds__(kCarriedThreads,
                                  carried_blocks_per_sm(sizeof(Key), kWidth, kDeals))
    carried_columns_kernel(const __grid_constant__ CarriedJoin<Key> join) {
  constexpr int kItems = kWidth != 0 && !kDeals ? kCarriedItems : kCarriedItemsWide;
  extern __shared__ __align__(16) unsigned char dynamic_shared[];
  auto& shared = *reinterpret_cast<CarriedShared<Key>*>(dynamic_shared);
  unsigned long long const units = join.unit_ends[join.partitions - 1];
  unsigned long long number = blockIdx.x;
  if (threadIdx.x == 0) {
    CarriedPlaces::start(shared.places);
    shared.is_full = false;
  }
  if (number < units && threadIdx.x < 32) find_carried_unit(join, number, shared.units[0]);
  block_sync();
  // Units in turn: none is large, so nobody has to be asked which is next.
  for (uint32_t turn = 0; number < units; turn ^= 1) {
    CarriedUnit const& unit = shared.units[turn];
    if (threadIdx.x == 0) shared.batch = 0;
    build_groups(join.build_keys + unit.build_first, unit.build_rows, join.radix_bits,
                 shared.groups);
    number += gridDim.x;
    if (number < units && threadIdx.x < 32) {
      find_carried_unit(join, number, shared.units[turn ^ 1]);
    }
    for (;;) {
      uint32_t first = 0;
      if (threadIdx.x % 32 == 0) first = atomicAdd(&shared.batch, 32U * kItems);
      first = __shfl_sync(0xffffffffU, first, 0);
      if (first >= unit.probe_rows) break;
      join_carried_batch<kWidth, kDeals, kItems>(join, unit, shared, first);
    }
    block_sync();  // the groups and the unit are read to the end
  }
  if (threadIdx.x == 0) CarriedPlaces::finish(join, shared.places);
}

}  // namespace gpujoin::kernels
