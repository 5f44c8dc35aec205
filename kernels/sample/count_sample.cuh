// count_sample.cuh: the build rows that have the sampled keys of the probe side
//
// Source   ours; the rule and the reason for it are in src/plan/key_sample.hpp
// In       keys[rows] Key of the build side, with validity bits; table and filter of sample_keys.cuh
// Out      rows, tiles, bounds, within += those of a part of the build side
// Needs    Rule: Slices, sample_slot(key), ... of src/plan/sample_rule.hpp
// Launch   a grid that fills the device, kSampleThreads each, count_sample_shared<Rule>() dynamic shared
// Moves    |Key| a build row of scanned tiles, + a bit of validity; the filter and the table from L2
// Shared   the filter, two counters a sampled key: a key that fills the build side would queue up on a global one
#pragma once

#include <cstdint>
#include <cub/block/block_reduce.cuh>

#include "kernels/block_sync.cuh"
#include "kernels/sample/sample_keys.cuh"
#include "kernels/tuning.hpp"

namespace gpujoin::kernels {

template <typename Rule>
constexpr uint32_t count_sample_shared() {
  return (Rule::kFilterWords + 2 * Rule::kPositions) * sizeof(uint32_t);
}

// Resident blocks, by which the compiler limits registers: with as many for keys of 8 bytes it spills.
template <typename Key>
constexpr int kCountSampleBlocks = sizeof(Key) <= 4 ? kSampleBlocksPerSm : kSampleBlocksPerSm - 1;

template <typename Rule, typename Key>
__global__ void __launch_bounds__(kSampleThreads, kCountSampleBlocks<Key>)
    count_sample_kernel(SampledColumn<Key> column, typename Rule::Slices tiling,
                        SampleBuffers<Rule, Key>* __restrict__ sample) {
  constexpr int kItems = kSampleItemBytes / sizeof(Key);
  constexpr int kRows = kItems * kSampleThreads;  // that the block reads at once
  static_assert(Rule::kTileRows % kRows == 0 && kSampleThreads % Rule::kSliceRows == 0 &&
                Rule::kTileSlices <= kSampleThreads);
  using Reduce = cub::BlockReduce<SampledBounds<Key>, kSampleThreads>;
  __shared__ typename Reduce::TempStorage storage;
  __shared__ uint32_t slices[2][Rule::kTileSlices];  // first rows, of this tile and of the next
  extern __shared__ __align__(16) unsigned char dynamic_shared[];
  auto* const filter = reinterpret_cast<uint32_t*>(dynamic_shared);
  uint32_t* const rows = filter + Rule::kFilterWords;
  // Of each key, the last tile that had it, plus one, and in the two low bits how many had it.
  uint32_t* const tiles = rows + Rule::kPositions;
  const SampleTable<Rule, Key>& table = sample->table;

  // Sixteen bytes at a time, and all loads of a thread at once.
  auto* const shared = reinterpret_cast<uint4*>(dynamic_shared);
  auto const* const made = reinterpret_cast<const uint4*>(sample->filter);
  constexpr int kFilterParts = Rule::kFilterWords / 4;
  constexpr int kCounterParts = 2 * Rule::kPositions / 4;
  static_assert(kFilterParts % kSampleThreads == 0 && kCounterParts % kSampleThreads == 0);
#pragma unroll
  for (int first = 0; first < kFilterParts; first += kSampleThreads) {
    shared[first + threadIdx.x] = made[first + threadIdx.x];
  }
#pragma unroll
  for (int first = 0; first < kCounterParts; first += kSampleThreads) {
    shared[kFilterParts + first + threadIdx.x] = {};
  }
  if (threadIdx.x < Rule::kTileSlices) {
    slices[0][threadIdx.x] = static_cast<uint32_t>(tiling.first_row(blockIdx.x, threadIdx.x));
  }
  block_sync();

  using Signed = typename SampledBounds<Key>::Signed;
  auto const& probe_bounds = sample->findings.probe.bounds;
  bool const has_probe = probe_bounds.low <= probe_bounds.high;
  Signed const probe_low = has_probe ? static_cast<Signed>(probe_bounds.low) : 1;
  Signed const probe_high = has_probe ? static_cast<Signed>(probe_bounds.high) : 0;
  uint32_t within = 0;
  SampledBounds<Key> bounds;
  auto const tile_count = static_cast<uint32_t>(tiling.tiles());
  auto const row_count = static_cast<uint32_t>(column.rows);
  int turn = 0;
  for (uint32_t number = blockIdx.x; number < tile_count; number += gridDim.x) {
    for (uint32_t first = threadIdx.x; first < Rule::kTileRows; first += kRows) {
      Key keys[kItems];
      uint32_t valid = 0;
#pragma unroll
      for (int item = 0; item < kItems; ++item) {
        uint32_t const in_tile = first + item * kSampleThreads;
        uint32_t const row = slices[turn][in_tile / Rule::kSliceRows] + in_tile % Rule::kSliceRows;
        if (row >= row_count || !column.is_valid(row)) continue;
        valid |= 1U << item;
        keys[item] = column.keys[row];
      }
#pragma unroll
      for (int item = 0; item < kItems; ++item) {
        if ((valid >> item & 1) == 0) continue;
        bounds.add(keys[item]);
        auto const value = static_cast<Signed>(keys[item]);
        within += probe_low <= value && value <= probe_high ? 1 : 0;
        auto const bits = Rule::sample_filter_bits(keys[item]);
        if ((filter[bits.word] & bits.mask) != bits.mask) continue;
        uint32_t slot = Rule::sample_slot(keys[item]);
        int32_t position = table.slots[slot];
        while (position >= 0 && table.keys[position] != keys[item]) {
          slot = (slot + 1) & static_cast<uint32_t>(Rule::kSlots - 1);
          position = table.slots[slot];
        }
        if (position < 0) continue;
        atomicAdd(&rows[position], 1U);
        uint32_t seen = *static_cast<volatile uint32_t*>(&tiles[position]);
        while (seen >> 2 != number + 1) {
          uint32_t const had = seen;
          seen = atomicCAS(&tiles[position], had, (number + 1) << 2 | min((had & 3) + 1, 3U));
          if (seen == had) break;
        }
      }
    }
    turn ^= 1;
    uint32_t const next = number + gridDim.x;
    if (threadIdx.x < Rule::kTileSlices && next < tile_count) {
      slices[turn][threadIdx.x] = static_cast<uint32_t>(tiling.first_row(next, threadIdx.x));
    }
    block_sync();  // so that all warps count for the same tile
  }

  within = __reduce_add_sync(0xffffffffU, within);
  if (threadIdx.x % 32 == 0 && within != 0) {
    atomicAdd(&sample->within, static_cast<unsigned long long>(within));
  }
  bounds = Reduce(storage).Reduce(bounds, AddSums());
  if (threadIdx.x == 0 && bounds.has_key()) {
    atomicOr(&sample->bounds.any, static_cast<unsigned long long>(bounds.any));
    atomicAnd(&sample->bounds.all, static_cast<unsigned long long>(bounds.all));
    atomicMin(&sample->bounds.low, static_cast<long long>(bounds.low));
    atomicMax(&sample->bounds.high, static_cast<long long>(bounds.high));
  }
  for (int i = threadIdx.x; i < Rule::kPositions; i += kSampleThreads) {
    if (rows[i] == 0) continue;
    atomicAdd(&sample->rows[i], rows[i]);
    atomicAdd(&sample->tiles[i], tiles[i] & 3);
  }
}

}  // namespace gpujoin::kernels
