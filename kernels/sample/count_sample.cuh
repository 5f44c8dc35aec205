// count_sample.cuh: the build rows that have the sampled keys of the probe side
//
// Source   ours; the rule and the reason for it are in src/plan/key_sample.hpp
// In       keys[rows] Key of the build side, with validity bits; table and filter of
//          draw_sample.cuh
// Out      rows, tiles, bounds, within += those of a part of the build side
// Needs    Rule: Slices, sample_hash(key), ... of src/plan/sample_rule.hpp
// Launch   a grid that fills the device beside the draw, kSampleThreads each,
//          count_sample_shared<Rule, Key>() dynamic shared, dependent
// Moves    |Key| a build row of scanned tiles, + a bit of validity; the filter and the table from
//          L2
// Shared   the filter, two counters a sampled key: a key that fills the build side would queue up
//          on a global one; the keys that a warp is to look up, which would wait for the table
//          one by one, for 2 us each
#pragma once

#include <cstdint>
#include <cub/block/block_reduce.cuh>

#include "kernels/block_sync.cuh"
#include "kernels/dependent_launch.cuh"
#include "kernels/sample/ready_flag.cuh"
#include "kernels/sample/sample_buffers.cuh"
#include "kernels/tuning.hpp"

namespace gpujoin::kernels {

// Keys of a warp that passed the filter, until there are as many as lanes.
template <typename Key>
struct PassedKeys {
  static constexpr uint32_t kMost = 2 * 32;
  Key keys[kMost];
  uint32_t tiles[kMost];
};

template <typename Rule, typename Key>
constexpr uint32_t count_sample_shared() {
  return (Rule::kFilterWords + 2 * Rule::kPositions) * sizeof(uint32_t) +
         kSampleThreads / 32 * sizeof(PassedKeys<Key>);
}

// Of a key, the first two tiles that had it, each plus one, in a half of a word; all bits set: more
// had it. Tiles may come in any order, so that the warps of a block need not wait for each other
// after each.
constexpr uint32_t kManyTiles = ~0U;
__device__ inline void add_tile(uint32_t* tiles, uint32_t tile) {
  uint32_t const number = tile + 1;
  uint32_t seen = *static_cast<volatile uint32_t*>(tiles);
  while (seen != kManyTiles && (seen & 0xffff) != number && seen >> 16 != number) {
    uint32_t const more = seen == 0 ? number : seen >> 16 == 0 ? seen | number << 16 : kManyTiles;
    uint32_t const had = atomicCAS(tiles, seen, more);
    if (had == seen) break;
    seen = had;
  }
}
__device__ inline uint32_t tiles_of(uint32_t seen) {
  if (seen == kManyTiles) return 3;
  return (seen != 0 ? 1 : 0) + (seen >> 16 != 0 ? 1 : 0);
}

template <typename Key>
struct ScannedKeys {
  SampledBounds<Key> bounds;
  uint32_t within = 0;

  __device__ void add(const ScannedKeys& other) {
    bounds.add(other.bounds);
    within += other.within;
  }
};

// Looks at some keys of a thread, kAll: every one is valid. Which of them pass the filter, as bits.
template <typename Rule, bool kAll, typename Key, int kItems>
__device__ uint32_t look_at_keys(const Key (&keys)[kItems], uint32_t valid, const uint32_t* filter,
                                 const SampledBounds<Key>& probe, ScannedKeys<Key>& scanned) {
  uint32_t passed = 0;
  SampledBounds<Key> bounds;
#pragma unroll
  for (int item = 0; item < kItems; ++item) {
    if (!kAll && (valid >> item & 1) == 0) continue;
    bounds.add(keys[item]);
    auto const bits = Rule::sample_filter_bits(keys[item]);
    passed += static_cast<uint32_t>(bits.held_by(filter[bits.word])) << item;
  }
  scanned.bounds.add(bounds);
  // Three instructions of twenty a key, unless all keys are within or none is.
  if (probe.low <= bounds.low && bounds.high <= probe.high) {
    scanned.within += kAll ? kItems : __popc(valid);
  } else if (probe.low <= bounds.high && bounds.low <= probe.high) {
#pragma unroll
    for (int item = 0; item < kItems; ++item) {
      if (kAll || (valid >> item & 1) != 0) scanned.within += probe.holds(keys[item]) ? 1 : 0;
    }
  }
  return passed;
}

// Each warp reads slices of its own in each tile of its block, and the next ones before it looks at
// those it has.
template <typename Rule, typename Key>
__global__ void __launch_bounds__(kSampleThreads, kSampleBlocksPerSm)
    count_sample_kernel(SampledColumn<Key> column, typename Rule::Slices tiling,
                        SampleBuffers<Rule, Key>* sample, const SampleFlags* flags) {
  constexpr int kItems = kSampleItemBytes / sizeof(Key);
  constexpr int kSliceItems = Rule::kSliceRows / 32;
  constexpr uint32_t kSlices = kItems / kSliceItems;  // that a warp reads at once
  constexpr uint32_t kWarpSlices = Rule::kTileSlices * 32 / kSampleThreads;
  static_assert(kSlices * kSliceItems == kItems && kWarpSlices % kSlices == 0 && 32 % kSlices == 0);
  using Reduce = cub::BlockReduce<ScannedKeys<Key>, kSampleThreads>;
  __shared__ typename Reduce::TempStorage storage;
  extern __shared__ __align__(16) unsigned char dynamic_shared[];
  auto* const filter = reinterpret_cast<uint32_t*>(dynamic_shared);
  uint32_t* const rows = filter + Rule::kFilterWords;
  uint32_t* const tiles = rows + Rule::kPositions;
  auto& passed_keys =
      reinterpret_cast<PassedKeys<Key>*>(tiles + Rule::kPositions)[threadIdx.x / 32];
  const SampleTable<Rule, Key>& table = sample->table;

  let_next_kernel_start();
  uint32_t const lane = threadIdx.x % 32;
  auto const row_count = static_cast<uint32_t>(column.rows);
  auto const tile_count = static_cast<uint32_t>(tiling.tiles());
  uint32_t const turns = (tile_count - blockIdx.x + gridDim.x - 1) / gridDim.x;
  uint32_t const slice_count = turns * kWarpSlices;  // of this warp
  auto const tile_of = [](uint32_t slice) { return blockIdx.x + slice / kWarpSlices * gridDim.x; };
  uint32_t first_row = 0;  // of one of the warp's next 32 slices
  bool whole = false;      // these have a key in every row
  auto const row_of = [&](uint32_t slice) {
    return __shfl_sync(0xffffffffU, first_row, slice) + lane;
  };
  Key next[kItems];
  auto const load = [&](uint32_t slice) {
    if (slice % 32 == 0) {
      uint32_t const mine = slice + lane;
      uint32_t const in_tile = threadIdx.x / 32 * kWarpSlices + mine % kWarpSlices;
      first_row =
          mine < slice_count ? static_cast<uint32_t>(tiling.first_row(tile_of(mine), in_tile)) : 0;
      bool const full = first_row < row_count && row_count - first_row >= Rule::kSliceRows;
      whole = column.validity == nullptr && __all_sync(0xffffffffU, full);
    }
    if (!whole) return;
#pragma unroll
    for (int item = 0; item < kItems; item += kSliceItems) {
      const Key* const at = column.keys + row_of(slice + item / kSliceItems);
#pragma unroll
      for (int i = 0; i < kSliceItems; ++i) next[item + i] = at[i * 32];
    }
  };
  load(0);  // which the draw does not write

  // Sixteen bytes at a time, and all loads of a thread at once.
  auto* const shared = reinterpret_cast<uint4*>(dynamic_shared);
  auto const* const made = reinterpret_cast<const uint4*>(sample->filter);
  constexpr int kFilterParts = Rule::kFilterWords / 4;
  constexpr int kCounterParts = 2 * Rule::kPositions / 4;
  static_assert(kFilterParts % kSampleThreads == 0 && kCounterParts % kSampleThreads == 0);
#pragma unroll
  for (int first = 0; first < kCounterParts; first += kSampleThreads) {
    shared[kFilterParts + first + threadIdx.x] = {};
  }
  if (threadIdx.x == 0) await_ready(&flags->has_filter);
  __syncthreads();
#pragma unroll
  for (int first = 0; first < kFilterParts; first += kSampleThreads) {
    shared[first + threadIdx.x] = made[first + threadIdx.x];
  }
  SampledBounds<Key> const probe = sample->probe_bounds;
  __syncthreads();

  bool has_table = false;
  uint32_t waiting = 0;  // keys of the warp
  // The first of them, as many as lanes at most. All lanes.
  auto const look_up = [&](uint32_t count) {
    if (!has_table && lane < kSampleParts) await_ready(&flags->has_table[lane]);
    has_table = true;
    __syncwarp();
    int32_t const position = lane < count ? drawn_position(table, passed_keys.keys[lane]) : -1;
    if (position < 0) return;
    atomicAdd(&rows[position], 1U);
    add_tile(&tiles[position], passed_keys.tiles[lane]);
  };
  ScannedKeys<Key> scanned;
  for (uint32_t slice = 0; slice < slice_count; slice += kSlices) {
    Key keys[kItems];
    uint32_t valid = 0;
    bool const all = whole;
    if (all) {
#pragma unroll
      for (int item = 0; item < kItems; ++item) keys[item] = next[item];
    } else {
      // Not ahead: it would take the registers of a block.
#pragma unroll
      for (int item = 0; item < kItems; ++item) {
        uint32_t const row = row_of(slice + item / kSliceItems) + item % kSliceItems * 32;
        if (row < row_count && column.is_valid(row)) valid |= 1U << item;
        if ((valid >> item & 1) != 0) keys[item] = column.keys[row];
      }
    }
    if (slice + kSlices < slice_count) load(slice + kSlices);
    uint32_t passed = all ? look_at_keys<Rule, true>(keys, valid, filter, probe, scanned)
                          : look_at_keys<Rule, false>(keys, valid, filter, probe, scanned);
    // Lanes give whatever key of theirs it is.
    uint32_t giving = 0;
    while ((giving = __ballot_sync(0xffffffffU, passed != 0)) != 0) {
      if (passed != 0) {
        int const item = __ffs(static_cast<int>(passed)) - 1;
        passed &= passed - 1;
        uint32_t const at = waiting + __popc(giving & ((1U << lane) - 1));
        passed_keys.keys[at] = key_of_item(keys, item);
        passed_keys.tiles[at] = tile_of(slice);
      }
      waiting += __popc(giving);
      __syncwarp();
      if (waiting < 32) continue;
      look_up(32);
      __syncwarp();
      waiting -= 32;
      Key const kept = passed_keys.keys[32 + lane];
      uint32_t const kept_tile = passed_keys.tiles[32 + lane];
      passed_keys.keys[lane] = kept;
      passed_keys.tiles[lane] = kept_tile;
      __syncwarp();
    }
  }
  // What the draw starts, the sums below too, is there then; and who follows waits for this kernel
  // alone.
  await_last_kernel();
  has_table = true;
  look_up(waiting);
  block_sync();

  scanned = Reduce(storage).Reduce(scanned, AddSums());
  if (threadIdx.x == 0 && scanned.bounds.has_key()) {
    const SampledBounds<Key>& bounds = scanned.bounds;
    atomicOr(&sample->bounds.any, static_cast<unsigned long long>(bounds.any));
    atomicAnd(&sample->bounds.all, static_cast<unsigned long long>(bounds.all));
    atomicMin(&sample->bounds.low, static_cast<long long>(bounds.low));
    atomicMax(&sample->bounds.high, static_cast<long long>(bounds.high));
    atomicAdd(&sample->within, static_cast<unsigned long long>(scanned.within));
  }
  for (int i = threadIdx.x; i < Rule::kPositions; i += kSampleThreads) {
    if (rows[i] == 0) continue;
    atomicAdd(&sample->rows[i], rows[i]);
    atomicAdd(&sample->tiles[i], tiles_of(tiles[i]));
  }
}

}  // namespace gpujoin::kernels
