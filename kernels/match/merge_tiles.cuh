// merge_tiles.cuh: a unit of sides that lie in the order of their keys: its probe rows are looked
// for among its build keys
//
// Source   ours, after the merge of Wu et al. 2024, section 3.3, whose sides are sorted first and
//          whose pairs are gathered by afterwards. Neighbouring lanes look for neighbouring keys:
//          they read the same words of shared memory, or neighbouring ones
// In       keys of a tile of both sides as they lie (ordered_tiles.cuh)
// Out      rows of the output columns, in the order of both sides but for chunks; counters->left
//          where a side is not in order, and then nothing that was written counts
// Needs    what carried_columns.cuh does
// Moves    |key| a row of either side
// Shared   log2 of the tile's build rows reads a probe row
#pragma once

#include <cuda_pipeline_primitives.h>

#include <cstdint>

#include "kernels/block_sync.cuh"
#include "kernels/load_column.cuh"
#include "kernels/match/carried_batches.cuh"
#include "kernels/match/carried_stages.cuh"
#include "kernels/match/carried_units.cuh"
#include "kernels/match/merge_bounds.cuh"
#include "kernels/match/ordered_tiles.cuh"
#include "kernels/tuning.hpp"

namespace gpujoin::kernels {

template <typename KeyType>
struct TilesJoin : CarriedJoin<KeyType> {
  static constexpr bool kMixesKeys = false;
  static constexpr bool kWidensKeys = false;
  static constexpr bool kNumbersRows = true;
  static constexpr bool kStages = false;
  const OrderState* order;
};

// Where so few rows of a batch have matches left, all lanes write those of one of them.
constexpr uint32_t kFewLongRuns = 8;

template <typename KeyType, int kColumnWidth, typename Shape>
struct MergeTiles {
  using Key = KeyType;
  using Join = TilesJoin<Key>;
  static constexpr int kWidth = kColumnWidth;
  static constexpr int kThreads = Shape::kThreads;
  static constexpr int kBlocksPerSm = Shape::kBlocksPerSm;
  static constexpr int kItems = kWidth != 0 ? kCarriedItems : kCarriedItemsWide;
  static constexpr uint32_t kUnitRows = kCarriedProbeRows;
  static constexpr bool kWholeBuild = false;
  static constexpr bool kKeeps = false;
  static constexpr bool kLoadsAhead = sizeof(Key) <= 4 || kWidth == 4;
  using Batch = BatchKeys<MergeTiles>;
  using Rows = LaneRows<Key, kItems>;

  struct Shared : CarriedBlock {
    alignas(16) Key keys[kCarriedBuildRows + kStageAlign];  // from the stages' first row on
  };

  __device__ static uint32_t heavy_rows(const CarriedJoin<Key>&) { return kUnitRows; }
  __device__ static uint32_t first_row(const CarriedUnit&, uint32_t batch) {
    return 32 * kItems * batch;
  }
  __device__ static void start(const Join&, Shared&) {}

  // All threads. False: a side is not in order, as somebody saw.
  __device__ static bool build(const Join& join, const CarriedUnit& unit, Shared& shared) {
    constexpr int kVectors = (stage_bytes(sizeof(Key)) / 16 + kThreads - 1) / kThreads;
    uint32_t const head = unit.build_first % kStageAlign;
    load_column<kThreads, kVectors>(shared.keys, join.build_keys + first_staged(unit),
                                    head + unit.build_rows);
    __pipeline_commit();
    uint32_t const end = unit.build_first + unit.build_rows;
    bool const has_next = unit.build_rows != 0 && end < join.build_offsets[join.partitions];
    Key const next = threadIdx.x == 0 && has_next ? join.build_keys[end] : 0;
    __pipeline_wait_prior(0);
    block_sync();
    const Key* const keys = shared.keys + head;
    bool is_broken = threadIdx.x == 0 && join.order->is_broken != 0;
    if (threadIdx.x == 0 && has_next) {
      is_broken = is_broken || is_before(next, keys[unit.build_rows - 1]);
    }
    for (uint32_t i = threadIdx.x + 1; i < unit.build_rows; i += kThreads) {
      is_broken = is_broken || is_before(keys[i], keys[i - 1]);
    }
    auto* const left = static_cast<volatile unsigned long long*>(&join.counters->left);
    if (is_broken) *left = 1;
    return !__any_sync(0xffffffffU, is_broken || *left != 0);
  }

  // All lanes of a warp.
  __device__ static void join_batch(const Join& join, const CarriedUnit& unit, Shared& shared,
                                    uint32_t number, const Batch& batch) {
    uint32_t const first = first_row(unit, number);
    uint32_t const left = unit.probe_rows - first;
    uint32_t const lane = threadIdx.x % 32;
    const Key* const keys = shared.keys + unit.build_first % kStageAlign;
    Rows rows;
    start_batch(unit, first, batch, rows);
    if (is_broken(join, unit, first, rows)) join.counters->left = 1;
    find_rows(keys, unit.build_rows, left, rows);
    bool repeats = false;
    uint32_t found = 0;
    uint32_t counts[kItems];
#pragma unroll
    for (int item = 0; item < kItems; ++item) {
      uint32_t const at = rows.build[item];
      bool const matches =
          item * 32 + lane < left && at < unit.build_rows && keys[at] == rows.keys[item];
      counts[item] = matches ? 1 : 0;
      repeats = repeats || (matches && at + 1 < unit.build_rows && keys[at + 1] == rows.keys[item]);
      rows.build[item] = unit.build_first + at;
      found += counts[item];
    }
    if (__any_sync(0xffffffffU, repeats)) {
      found = count_matches(keys, unit, rows, counts);
    }
    if (is_missed(join, shared, found)) return;
    write_next(join, shared, rows, counts);
    uint32_t runs = more_of(counts);
    while (runs > kFewLongRuns) {
      write_next(join, shared, rows, counts);
      runs = more_of(counts);
    }
    if (runs != 0) write_runs(join, shared, rows, counts);
  }

 private:
  // Whether a row of the batch has a lower key than the row before it.
  __device__ __forceinline__ static bool is_broken(const Join& join, const CarriedUnit& unit,
                                                   uint32_t first, const Rows& rows) {
    uint32_t const lane = threadIdx.x % 32;
    uint32_t const row = unit.probe_first + first;
    Key before = 0;
    if (lane == 0) before = row != 0 ? join.probe_keys[row - 1] : rows.keys[0];
    bool broken = false;
#pragma unroll
    for (int item = 0; item < kItems; ++item) {
      Key const above = __shfl_up_sync(0xffffffffU, rows.keys[item], 1);
      if (lane != 0) before = above;
      bool const is_row = first + item * 32 + lane < unit.probe_rows;
      broken = broken || (is_row && is_before(rows.keys[item], before));
      if (lane == 0) before = 0;
      Key const last = __shfl_sync(0xffffffffU, rows.keys[item], 31);
      if (lane == 0) before = last;
    }
    return broken;
  }

  // How many of the unit's `count` build keys are lower than each key of a batch, of which there
  // are `left`. Each lane looks for one of kItems neighbouring keys, the last lane for the last:
  // between two such places are those of the others, most often a few.
  __device__ __forceinline__ static void find_rows(const Key* keys, uint32_t count, uint32_t left,
                                                   Rows& rows) {
    constexpr uint32_t kAll = 0xffffffffU;
    constexpr uint32_t kLastRow = 32 * kItems - 1;
    uint32_t const lane = threadIdx.x % 32;
    uint32_t const own = min(lane == 31 ? kLastRow : kItems * lane, left - 1);
    Key wanted = 0;
#pragma unroll
    for (int item = 0; item < kItems; ++item) {
      Key const key = __shfl_sync(kAll, rows.keys[item], own % 32);
      if (own / 32 == item) wanted = key;
    }
    uint32_t low = 0;
    for (uint32_t step = count == 0 ? 0 : 1U << (31 - __clz(count)); step != 0; step /= 2) {
      uint32_t const place = low + step;
      if (place <= count && is_before(keys[place - 1], wanted)) low = place;
    }
    uint32_t ends[kItems];
    uint32_t most = 0;
#pragma unroll
    for (int item = 0; item < kItems; ++item) {
      uint32_t const from = min((32 * item + lane) / kItems, 30U);
      rows.build[item] = __shfl_sync(kAll, low, from);
      ends[item] = __shfl_sync(kAll, low, from + 1);
      // Of keys in no order nothing counts that is found.
      ends[item] = max(ends[item], rows.build[item]);
      most = max(most, ends[item] - rows.build[item]);
    }
    most = __reduce_max_sync(kAll, most);
#pragma unroll 1
    for (uint32_t step = most == 0 ? 0 : 1U << (31 - __clz(most)); step != 0; step /= 2) {
#pragma unroll
      for (int item = 0; item < kItems; ++item) {
        uint32_t const place = rows.build[item] + step;
        if (place <= ends[item] && is_before(keys[place - 1], rows.keys[item])) {
          rows.build[item] = place;
        }
      }
    }
  }

  // Where build keys repeat. The sum of a lane's.
  __device__ __forceinline__ static uint32_t count_matches(const Key* keys, const CarriedUnit& unit,
                                                           const Rows& rows,
                                                           uint32_t (&counts)[kItems]) {
    uint32_t all = 0;
#pragma unroll
    for (int item = 0; item < kItems; ++item) {
      if (counts[item] == 0) continue;
      counts[item] =
          count_equal(keys, unit.build_rows, rows.build[item] - unit.build_first, rows.keys[item]);
      all += counts[item];
    }
    return all;
  }

  // How many of the batch's rows have matches that are not written yet.
  __device__ __forceinline__ static uint32_t more_of(const uint32_t (&counts)[kItems]) {
    uint32_t more = 0;
#pragma unroll
    for (int item = 0; item < kItems; ++item) {
      more += __popc(__ballot_sync(0xffffffffU, counts[item] != 0));
    }
    return more;
  }

  // The next match of each row that has one.
  __device__ __forceinline__ static void write_next(const Join& join, Shared& shared, Rows& rows,
                                                    uint32_t (&counts)[kItems]) {
    uint32_t const below = (1U << threadIdx.x % 32) - 1;
    uint32_t slots = 0;
#pragma unroll
    for (int item = 0; item < kItems; ++item) {
      bool const is_written = counts[item] != 0;
      uint32_t const lanes = __ballot_sync(0xffffffffU, is_written);
      rows.slots[item] = is_written ? slots + __popc(lanes & below) : kNoSlot;
      slots += __popc(lanes);
    }
    write_batch<kWidth>(join, shared, slots, rows);
#pragma unroll
    for (int item = 0; item < kItems; ++item) {
      if (counts[item] == 0) continue;
      --counts[item];
      ++rows.build[item];
    }
  }

  // All matches of one row after the other.
  __device__ __forceinline__ static void write_runs(const Join& join, Shared& shared,
                                                    const Rows& rows,
                                                    const uint32_t (&counts)[kItems]) {
    uint32_t const lane = threadIdx.x % 32;
#pragma unroll 1
    for (int item = 0; item < kItems; ++item) {
      LaneRows<Key, 1> own;
      own.keys[0] = rows.keys[0];
      own.probe[0] = rows.probe[0];
      own.build[0] = rows.build[0];
      uint32_t count = counts[0];
#pragma unroll
      for (int other = 1; other < kItems; ++other) {
        if (other != item) continue;
        own.keys[0] = rows.keys[other];
        own.probe[0] = rows.probe[other];
        own.build[0] = rows.build[other];
        count = counts[other];
      }
      for (uint32_t lanes = __ballot_sync(0xffffffffU, count != 0); lanes != 0;
           lanes &= lanes - 1) {
        int const from = __ffs(static_cast<int>(lanes)) - 1;
        LaneRows<Key, 1> run;
        run.keys[0] = __shfl_sync(0xffffffffU, own.keys[0], from);
        run.probe[0] = __shfl_sync(0xffffffffU, own.probe[0], from);
        uint32_t const build = __shfl_sync(0xffffffffU, own.build[0], from);
        uint32_t const all = __shfl_sync(0xffffffffU, count, from);
#pragma unroll 1
        for (uint32_t first = 0; first < all; first += 32) {
          run.build[0] = build + first + lane;
          run.slots[0] = first + lane < all ? lane : kNoSlot;
          write_slots<kWidth>(join, shared, min(all - first, 32U), run);
        }
      }
    }
  }
};

}  // namespace gpujoin::kernels
