// match_sets.cuh: rows of one side of partitions whose key the other side has, or has not
//
// Source   ours. A semi join needs no pair: a probe row comes out once, however many rows it meets,
//          and an anti join's where it meets none
// Differs  from match_by_rank.cuh and match_in_rounds.cuh: what is there is asked, not where; build
//          keys may repeat, and a unit has all of its partition, in chunks where a table does not
//          hold them
// In       mixed keys of one partition, whose low radix_bits bits are equal
// Out      rows of the output columns, all of them of the probe side
// Needs    SetByBits: 32 - radix_bits <= kCarriedRankBits
// Moves    |key| a build row for each unit of its partition; |key| a probe row for each chunk
// Shared   one atomic or none a build row, or its group
#pragma once

#include <cuda_pipeline_primitives.h>

#include <cstdint>
#include <type_traits>

#include "kernels/block_sync.cuh"
#include "kernels/match/carried_batches.cuh"
#include "kernels/match/carried_groups.cuh"
#include "kernels/match/carried_stages.cuh"
#include "kernels/match/carried_units.cuh"
#include "kernels/tuning.hpp"

namespace gpujoin::kernels {

// Units of a partition, for count_units.cuh: one at least, so that where none is cut unit and
// partition have the same number. left: none of those that are not in it; null: all.
struct SetUnits {
  const uint8_t* left;

  __device__ unsigned long long operator()(uint32_t partition, uint32_t,
                                           uint32_t probe_rows) const {
    if (left != nullptr && left[partition] == 0) return 0;
    return max(parts_of(probe_rows, kCarriedProbeRows), 1U);
  }
};

// What both have in common.
template <typename KeyType, int kColumnWidth, typename Shape, bool kAmongPairs>
struct SetShape {
  using Key = KeyType;
  // Among pairs: of one side, which is the probe side here.
  using Join = std::conditional_t<kAmongPairs, OuterPairs<Key>, CarriedJoin<Key>>;
  static constexpr int kWidth = kColumnWidth;
  static constexpr int kThreads = Shape::kThreads;
  static constexpr int kBlocksPerSm = Shape::kBlocksPerSm;
  static constexpr int kItems = kWidth != 0 ? kCarriedItems : kCarriedItemsWide;
  static constexpr uint32_t kUnitRows = kCarriedProbeRows;
  static constexpr bool kWholeBuild = true;
  static constexpr bool kKeeps = false;
  static constexpr bool kLoadsAhead = true;

  __device__ static uint32_t heavy_rows(const CarriedJoin<Key>&) { return kUnitRows; }
  __device__ static uint32_t first_row(const CarriedUnit&, uint32_t batch) {
    return 32 * kItems * batch;
  }
};

// All lanes of a warp write those of a batch that are wanted. is_there(row of the unit, key).
template <typename Shape, typename Batch, typename IsThere>
__device__ __forceinline__ void write_set_rows(const typename Shape::Join& join,
                                               const CarriedUnit& unit, CarriedBlock& shared,
                                               uint32_t number, const Batch& batch,
                                               IsThere is_there) {
  uint32_t const first = Shape::first_row(unit, number);
  uint32_t const lane = threadIdx.x % 32;
  uint32_t const below = (1U << lane) - 1;
  LaneRows<typename Shape::Key, Shape::kItems> rows;
  start_batch(unit, first, batch, rows);
  uint32_t slots = 0;
  uint32_t found = 0;
#pragma unroll
  for (int item = 0; item < Shape::kItems; ++item) {
    uint32_t const row = first + item * 32 + lane;
    bool const is_wanted =
        row < unit.probe_rows && is_there(row, rows.keys[item]) != join.wants_absent;
    uint32_t const lanes = __ballot_sync(0xffffffffU, is_wanted);
    rows.slots[item] = is_wanted ? slots + __popc(lanes & below) : kNoSlot;
    slots += __popc(lanes);
    found += is_wanted;
    if constexpr (Shape::Join::kMissesRows) rows.build[item] = kNoRowOfSide;
  }
  if (is_missed(join, shared, found)) return;
  write_slots<Shape::kWidth>(join, shared, slots, rows);
  if constexpr (Shape::Join::kMissesRows) {
    auto* const counter =
        join.keeps_build ? &join.counters->alone_of_build : &join.counters->alone_of_probe;
    if (lane == 0 && slots != 0) atomicAdd(counter, static_cast<unsigned long long>(slots));
  }
}

// A bit for each key that a partition may have.
template <int kColumnWidth, typename Shape, bool kAmongPairs>
struct SetByBits : SetShape<uint32_t, kColumnWidth, Shape, kAmongPairs> {
  using Base = SetShape<uint32_t, kColumnWidth, Shape, kAmongPairs>;
  using Batch = BatchKeys<Base>;
  static constexpr uint32_t kWords = 1U << (kCarriedRankBits - 5);

  struct alignas(16) Shared : CarriedBlock {
    alignas(16) uint32_t bits[kWords];
  };

  __device__ static void start(const CarriedJoin<uint32_t>&, Shared&) {}

  // All threads.
  __device__ static bool build(const CarriedJoin<uint32_t>& join, const CarriedUnit& unit,
                               Shared& shared) {
    constexpr int kAtOnce = kChunkAtOnce<Base::kThreads, uint32_t>;
    auto* const vectors = reinterpret_cast<uint4*>(shared.bits);
    for (uint32_t i = threadIdx.x; i < kWords / 4; i += Base::kThreads) vectors[i] = {0, 0, 0, 0};
    block_sync();
    const uint32_t* const keys = join.build_keys + unit.build_first;
    uint32_t const count = unit.build_rows;
#pragma unroll 1
    for (uint32_t first = threadIdx.x; first < count; first += kAtOnce * Base::kThreads) {
      uint32_t loaded[kAtOnce];
#pragma unroll
      for (int i = 0; i < kAtOnce; ++i) {
        uint32_t const row = first + i * Base::kThreads;
        if (row < count) loaded[i] = keys[row];
      }
#pragma unroll
      for (int i = 0; i < kAtOnce; ++i) {
        if (first + i * Base::kThreads >= count) continue;
        uint32_t const rest = loaded[i] >> join.radix_bits;
        uint32_t const bit = 1U << rest % 32;
        // One word takes one atomic at a time, and a key may have all rows.
        if ((shared.bits[rest / 32] & bit) == 0) atomicOr(&shared.bits[rest / 32], bit);
      }
    }
    block_sync();
    return true;
  }

  // All lanes of a warp.
  __device__ static void join_batch(const typename Base::Join& join, const CarriedUnit& unit,
                                    Shared& shared, uint32_t number, const Batch& batch) {
    write_set_rows<Base>(join, unit, shared, number, batch, [&](uint32_t, uint32_t key) {
      uint32_t const rest = key >> join.radix_bits;
      return (shared.bits[rest / 32] >> rest % 32 & 1) != 0;
    });
  }
};

// Groups of build rows, a chunk of them at a time. What chunks before the last have shown is kept
// as a bit a probe row.
template <typename KeyType, int kColumnWidth, typename Shape, bool kAmongPairs>
struct SetByGroups : SetShape<KeyType, kColumnWidth, Shape, kAmongPairs> {
  using Base = SetShape<KeyType, kColumnWidth, Shape, kAmongPairs>;
  using Key = KeyType;
  using Batch = BatchKeys<Base>;

  struct Shared : CarriedBlock {
    uint32_t found[Base::kUnitRows / 32];  // where there are several chunks
    CarriedGroups<Key> groups;
  };

  __device__ static void start(const CarriedJoin<Key>&, Shared&) {}

  // All threads.
  __device__ static bool build(const CarriedJoin<Key>& join, const CarriedUnit& unit,
                               Shared& shared) {
    CarriedUnit chunk = unit;
    uint32_t left = unit.build_rows;
    for (bool is_first = true; left > kCarriedBuildRows; is_first = false) {
      chunk.build_rows = kCarriedBuildRows;
      build_groups<Base::kThreads>(join, chunk, shared.groups);
      look_ahead(join, unit, shared, is_first);
      block_sync();
      chunk.build_first += kCarriedBuildRows;
      left -= kCarriedBuildRows;
    }
    chunk.build_rows = left;
    build_groups<Base::kThreads>(join, chunk, shared.groups);
    return true;
  }

  // All lanes of a warp.
  __device__ static void join_batch(const typename Base::Join& join, const CarriedUnit& unit,
                                    Shared& shared, uint32_t number, const Batch& batch) {
    bool const has_chunks = unit.build_rows > kCarriedBuildRows;
    write_set_rows<Base>(join, unit, shared, number, batch, [&](uint32_t row, Key key) {
      if (has_chunks && (shared.found[row / 32] >> row % 32 & 1) != 0) return true;
      return is_there(join, shared, key);
    });
  }

 private:
  __device__ __forceinline__ static bool is_there(const CarriedJoin<Key>& join,
                                                  const Shared& shared, Key key) {
    uint32_t const bucket = carried_bucket(key, join.radix_bits);
    uint32_t const end = shared.groups.start_of(bucket + 1);
#pragma unroll 1
    for (uint32_t at = shared.groups.start_of(bucket); at < end; ++at) {
      if (shared.groups.keys[at] == key) return true;
    }
    return false;
  }

  // All threads: the probe rows of the unit in a chunk that is not the last. A warp has the same 32
  // rows every time.
  __device__ static void look_ahead(const CarriedJoin<Key>& join, const CarriedUnit& unit,
                                    Shared& shared, bool is_first) {
    for (uint32_t first = threadIdx.x / 32 * 32; first < unit.probe_rows; first += Base::kThreads) {
      uint32_t const before = is_first ? 0 : shared.found[first / 32];
      uint32_t const row = first + threadIdx.x % 32;
      bool const is_new = row < unit.probe_rows && (before >> threadIdx.x % 32 & 1) == 0 &&
                          is_there(join, shared, join.probe_keys[unit.probe_first + row]);
      uint32_t const lanes = __ballot_sync(0xffffffffU, is_new);
      __syncwarp();
      if (threadIdx.x % 32 == 0) shared.found[first / 32] = before | lanes;
    }
  }
};

}  // namespace gpujoin::kernels
