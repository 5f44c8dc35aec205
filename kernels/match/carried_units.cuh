// carried_units.cuh: what a block of a join that writes columns joins next, and where its warps
// write
//
// Source   ours
// In       unit_ends, the inclusive sums of CarriedUnits; offsets of both sides' partitions
// Out      a CarriedUnit in shared memory; rows in chunks of the output columns
// Needs    all lanes of one warp
// Moves    16 bytes a unit, and 8 * 32 for each factor 32 of partitions where one is cut, from L2
#pragma once

#include <cstdint>

#include "kernels/match/carried_columns.hpp"
#include "kernels/match/carried_places.cuh"
#include "kernels/match/lane_rows.cuh"
#include "kernels/match/scheduled_units.cuh"
#include "kernels/match/work_units.cuh"
#include "kernels/tuning.hpp"
#include "kernels/warp_take.cuh"

namespace gpujoin::kernels {

// Tables of the build rows, and units of the probe rows, one at least of each.
__device__ __forceinline__ unsigned long long units_of(uint32_t build_rows, uint32_t probe_rows,
                                                       uint32_t unit_rows) {
  return uint64_t{max(parts_of(build_rows, kCarriedBuildRows), 1U)} *
         max(parts_of(probe_rows, unit_rows), 1U);
}
__device__ __forceinline__ bool has_heavy_key(uint32_t build_rows) {
  return build_rows > kCarriedLightTables * kCarriedBuildRows;
}

// Units of partitions with a heavy key, for carried_schedule.cuh, with as many probe rows as may
// be.
struct HeavyUnits {
  const uint8_t* left;  // as in CarriedUnits

  __device__ unsigned long long operator()(uint32_t partition, uint32_t build_rows,
                                           uint32_t probe_rows) const {
    if (!has_heavy_key(build_rows) || (left != nullptr && left[partition] == 0)) return 0;
    return units_of(build_rows, probe_rows, kCarriedDealtRows);
  }
};

// Probe rows of their units, when all are so many.
__device__ __forceinline__ uint32_t heavy_unit_rows(unsigned long long units) {
  auto const parts = static_cast<uint32_t>(kCarriedHeavyUnits / max(units, 1ULL));
  return max(kCarriedDealtRows / max(parts, 1U) & ~31U, kCarriedFewestDealtRows);
}

// Units of a partition, for carried_schedule.cuh: one at least, so that where none is cut unit and
// partition have the same number. left: none of those that are not in it; null: all. Rows of a unit
// are of the probe side; heavy: where the partition has a heavy key.
struct CarriedUnits {
  const uint8_t* left;
  uint32_t unit_rows;
  uint32_t heavy_rows;

  __device__ unsigned long long operator()(uint32_t partition, uint32_t build_rows,
                                           uint32_t probe_rows) const {
    if (left != nullptr && left[partition] == 0) return 0;
    return units_of(build_rows, probe_rows, has_heavy_key(build_rows) ? heavy_rows : unit_rows);
  }
};

// Rows of a unit: a chunk of a partition's build rows with a chunk of its probe rows.
struct CarriedUnit {
  // Of one that was taken; there may be none of that number, and nothing else is set.
  unsigned long long number;
  uint32_t build_first;
  uint32_t build_rows;
  uint32_t probe_first;
  uint32_t probe_rows;  // 0 where there is no build row
  uint32_t partition;
  bool is_whole;  // of the build side
  bool is_only;   // of its partition: no other block decides about it
  bool is_heavy;  // its partition has a heavy key
};

// All lanes of one warp: the number of a unit that no block has, one of those beyond the first of
// each. Blocks that were given theirs in turn would wait for the one with the largest: 2^27 x 2^27
// rows 1.46 ms of match in the place of 1.53, 904M matches 5.32 in that of 5.51.
template <typename Join>
__device__ __forceinline__ unsigned long long take_unit(const Join& join) {
  return gridDim.x + warp_take(&join.counters->taken);
}

// All lanes of one warp. Where no partition is cut the units are the partitions, and what is loaded
// is loaded at once. kUnitRows: of the probe side; heavy_rows: likewise, of a partition with a
// heavy key. kWholeBuild: a unit has all build rows of its partition, and probe rows also where
// there are none; kKeeps: those, too.
template <uint32_t kUnitRows, bool kWholeBuild, bool kKeeps, typename Key>
__device__ __forceinline__ void find_carried_unit(const CarriedJoin<Key>& join, uint32_t heavy_rows,
                                                  unsigned long long number, CarriedUnit& unit) {
  uint32_t const lane = threadIdx.x % 32;
  bool const uncut = join.joins_all && join.unit_ends[join.partitions - 1] == join.partitions;
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
    uint32_t const build_all = build_end - build;
    uint32_t const chunks = kWholeBuild ? 1 : parts_of(build_all, kCarriedBuildRows);
    uint32_t const divisor = max(chunks, 1U);
    unit.is_heavy = !kWholeBuild && has_heavy_key(build_all);
    uint32_t const unit_rows = unit.is_heavy ? heavy_rows : kUnitRows;
    uint32_t const skipped_build = static_cast<uint32_t>(within % divisor) * kCarriedBuildRows;
    uint32_t const skipped_probe = static_cast<uint32_t>(within / divisor) * unit_rows;
    unit.build_first = build + skipped_build;
    unit.build_rows =
        kWholeBuild ? build_all : min(build_all - skipped_build, uint32_t{kCarriedBuildRows});
    unit.probe_first = probe + skipped_probe;
    unit.probe_rows =
        chunks == 0 && !kKeeps ? 0 : min(probe_end - probe - skipped_probe, unit_rows);
    unit.partition = partition;
    unit.is_whole = chunks <= 1;
    unit.is_only = chunks <= 1 && probe_end - probe <= unit_rows;
  }
  __syncwarp();  // the warp comes back together: the caller's barrier counts it once
}

// All threads; false: the partition is left to another join.
template <typename Key>
__device__ __forceinline__ bool leave_unit(const CarriedJoin<Key>& join, const CarriedUnit& unit) {
  if (threadIdx.x == 0) {
    join.left[unit.partition] = 1;
    join.counters->left = 1;
  }
  return false;
}

// What the warps of a block share, whatever table they ask.
struct CarriedBlock {
  CarriedUnit units[2];  // this one, and the next, which the first warp looks up meanwhile
  CarriedPlaces::Shared places;
  uint32_t batch;  // batches of the unit that warps have taken
  bool is_full;    // there is no room: what is found from now on is counted only
};

// Writes rows that have the slots 0 to `count` between them to places of `out`. no_room(): some
// find none. kAreBatch: they are some of a batch of neighbouring probe rows. All of one at once are
// told apart where columns have 4 bytes: H200, wider ones took 1 to 2 % longer so.
template <int kWidth, bool kAreBatch, typename Out, typename Rows, typename NoRoom>
__device__ __forceinline__ void write_to_places(const Out& out, CarriedPlaces::Shared& places,
                                                uint32_t count, Rows& rows, NoRoom no_room) {
#pragma unroll 1
  for (uint32_t written = 0; written != count; written += rows.slot_count) {
    rows.first_slot = written;
    rows.base = CarriedPlaces::take(out, places, count - written, &rows.slot_count);
    if (rows.base >= out.capacity) {
      no_room();
    } else if (kWidth == 4 && kAreBatch && rows.slot_count == 32 * Rows::kItems) {
      write_carried_rows<kWidth>(out, FullRows<Rows>(rows));
    } else {
      write_carried_rows<kWidth>(out, rows);
    }
  }
}
template <int kWidth, typename Join, typename Rows>
__device__ __forceinline__ void write_slots(const Join& join, CarriedBlock& block, uint32_t count,
                                            Rows& rows) {
  write_to_places<kWidth, false>(join, block.places, count, rows, [&] { block.is_full = true; });
}
template <int kWidth, typename Join, typename Rows>
__device__ __forceinline__ void write_batch(const Join& join, CarriedBlock& block, uint32_t count,
                                            Rows& rows) {
  write_to_places<kWidth, true>(join, block.places, count, rows, [&] { block.is_full = true; });
}
// Of a side's rows without a match, for all of which there is room.
template <int kWidth, typename Rows>
__device__ __forceinline__ void write_without_match(const RowsWithoutMatch<typename Rows::Key>& out,
                                                    CarriedPlaces::Shared& places, uint32_t count,
                                                    Rows& rows) {
  write_to_places<kWidth, false>(out, places, count, rows, [] {});
}

// Of rows that are counted only. True where there is no room; another warp may find so between the
// reads of two lanes.
template <typename Key>
__device__ __forceinline__ bool is_missed(const CarriedJoin<Key>& join, const CarriedBlock& block,
                                          uint32_t lane_matches) {
  constexpr uint32_t kAll = 0xffffffffU;
  if (!__any_sync(kAll, block.is_full)) return false;
  uint32_t const matches = __reduce_add_sync(kAll, lane_matches);
  if (threadIdx.x % 32 == 0 && matches != 0) {
    atomicAdd(&join.counters->missed, static_cast<unsigned long long>(matches));
  }
  return true;
}

}  // namespace gpujoin::kernels
