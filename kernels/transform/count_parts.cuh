// count_parts.cuh: how many rows each block moves to each part, and where it writes them
//
// Source   ours; a histogram a block is Rui & Tu's 3.2.1 (histogram_partition.cuh of the papers),
//          here of the keys' places and of whole blocks that stay, so that no place is reserved by
//          an atomic
// In       keys[rows], bits of those present
// Out      starts[blocks][parts + 1], offsets[parts + 1], units_before[parts + 1]; and
//          part_rows[parts + 1], of which the last are those with a key and without a place
// Needs    the blocks of move_to_parts.cuh take the same tiles; starts of keys between the steps,
//          or beyond the table's places, are of no part
// Launch   count_parts: a block a multiprocessor; sum_starts: a thread a part; place_parts: one
//          block; dependent
// Moves    |Key| a row (traffic::read_keys); 12 bytes a block and part
// Shared   4 bytes a part and 4; an atomic add a row
#pragma once

#include <cstdint>

#include "kernels/block_sync.cuh"
#include "kernels/bytes_column.hpp"
#include "kernels/dependent_launch.cuh"
#include "kernels/match/place_parts.hpp"
#include "kernels/transform/key_steps.hpp"
#include "kernels/transform/part_rows.cuh"
#include "kernels/transform/partition_sums.cuh"
#include "kernels/tuning.hpp"

namespace gpujoin::kernels {

// kItems: rows of a thread in a tile. kNulls: some are not present.
template <typename Key, int kItems, bool kNulls>
__global__ void __launch_bounds__(kPartThreads)
    count_parts_kernel(KeySteps<Key> steps, PlaceParts parts, const Key* __restrict__ keys,
                       bool are_aligned, ValidityBits present, uint32_t rows,
                       uint32_t* __restrict__ counts) {
  constexpr uint32_t kTile = kPartThreads * kItems;
  constexpr int kTiles = 8 / kItems;  // at a time
  extern __shared__ uint32_t part_rows[];
  for (uint32_t i = threadIdx.x; i <= parts.count; i += kPartThreads) part_rows[i] = 0;
  let_next_kernel_start();
  await_last_kernel();
  block_sync();
  auto const add = [&](Key key) {
    Key const place = steps.place_of(key);
    uint32_t part = parts.count;
    if (place <= parts.last_place) parts.split(static_cast<uint32_t>(place), part);
    atomicAdd(&part_rows[part], 1U);
  };
  uint64_t const stride = uint64_t{gridDim.x} * kTile;
  uint64_t first = uint64_t{blockIdx.x} * kTile + threadIdx.x * kItems;
  // The last row of the last tile's last thread is there.
  uint64_t const reach = (kTiles - 1) * stride + kTile - threadIdx.x * kItems;
#pragma unroll 1
  for (; are_aligned && first + reach <= rows; first += kTiles * stride) {
    Key loaded[kTiles][kItems];
#pragma unroll
    for (int tile = 0; tile < kTiles; ++tile) {
      load_side_by_side(keys, first + tile * stride, loaded[tile]);
    }
#pragma unroll
    for (int tile = 0; tile < kTiles; ++tile) {
      uint32_t const valid = kNulls ? are_valid<kItems>(present, first + tile * stride) : ~0U;
#pragma unroll
      for (int i = 0; i < kItems; ++i) {
        if ((valid >> i & 1) != 0) add(loaded[tile][i]);
      }
    }
  }
#pragma unroll 1
  for (; first < rows; first += stride) {
    Key loaded[kItems];
    load_one_by_one(keys, first, rows, loaded);
#pragma unroll
    for (int i = 0; i < kItems; ++i) {
      if (first + i < rows && (!kNulls || is_valid(present, first + i))) add(loaded[i]);
    }
  }
  block_sync();
  uint32_t* const own = counts + uint64_t{blockIdx.x} * (parts.count + 1);
  for (uint32_t i = threadIdx.x; i <= parts.count; i += kPartThreads) own[i] = part_rows[i];
}

// counts[blocks][parts] to the rows of the blocks before, and of all.
__global__ void __launch_bounds__(kStreamThreads)
    sum_starts_kernel(uint32_t blocks, uint32_t parts, uint32_t* __restrict__ counts,
                      uint32_t* __restrict__ part_rows) {
  constexpr uint32_t kAtOnce = 12;
  let_next_kernel_start();
  await_last_kernel();
  uint32_t const part = blockIdx.x * kStreamThreads + threadIdx.x;
  if (part >= parts) return;
  uint32_t before = 0;
  for (uint32_t first = 0; first < blocks; first += kAtOnce) {
    uint32_t loaded[kAtOnce];
#pragma unroll
    for (uint32_t i = 0; i < kAtOnce; ++i) {
      loaded[i] = first + i < blocks ? counts[uint64_t{first + i} * parts + part] : 0;
    }
#pragma unroll
    for (uint32_t i = 0; i < kAtOnce; ++i) {
      if (first + i < blocks) counts[uint64_t{first + i} * parts + part] = before;
      before += loaded[i];
    }
  }
  part_rows[part] = before;
}

// offsets: part_rows, summed. units_before: units of unit_rows rows, of each part one at least.
__global__ void __launch_bounds__(kPartitionSumThreads)
    place_parts_kernel(uint32_t parts, uint32_t unit_rows, const uint32_t* __restrict__ part_rows,
                       uint32_t* __restrict__ offsets, uint32_t* __restrict__ units_before) {
  let_next_kernel_start();
  await_last_kernel();
  auto const units_of = [=](uint32_t rows) {
    return rows == 0 ? 1U : rows / unit_rows + (rows % unit_rows != 0 ? 1 : 0);
  };
  // Rows in the lower half, of which there are fewer than 2^32.
  unsigned long long const all = partition_sums(
      parts,
      [=](uint32_t part) {
        uint32_t const rows = part_rows[part];
        return (static_cast<unsigned long long>(units_of(rows)) << 32) | rows;
      },
      [=](uint32_t part, unsigned long long before) {
        offsets[part] = static_cast<uint32_t>(before);
        units_before[part] = static_cast<uint32_t>(before >> 32);
      });
  if (threadIdx.x != 0) return;
  offsets[parts] = static_cast<uint32_t>(all);
  units_before[parts] = static_cast<uint32_t>(all >> 32);
}

}  // namespace gpujoin::kernels
