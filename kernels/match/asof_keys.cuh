// asof_keys.cuh: what a side of an ASOF join is sorted by: a group of equal keys, and a place in it
//
// Source   ours
// In       AsofColumns
// Out      look: between which values groups and places lie, and whether rows ascend already, by
//          both or by place alone; keys of 8 bytes, or of 16
// Launch   look: kRangeBlocksPerSm blocks of kStreamThreads for each multiprocessor, or less; keys:
//          kStreamTile rows a block of kStreamThreads; all dependent
// Moves    the columns' bytes, read; 8 or 16 bytes a row of keys, written
#pragma once

#include <cstdint>

#include "kernels/dependent_launch.cuh"
#include "kernels/match/asof_rule.hpp"
#include "kernels/tuning.hpp"

namespace gpujoin::kernels {

struct AsofColumns {
  const uint64_t* places;  // [rows of the relation]
  uint64_t turned;         // bits of a place to turn, for the order of unsigned numbers
  const void* groups;      // of group_width bytes; null: there is one
  int32_t group_width;
  const uint32_t* rows;  // those that take part; null: all
  uint32_t count;

  __device__ uint32_t row(uint32_t i) const { return rows == nullptr ? i : rows[i]; }
  __device__ uint64_t place(uint32_t row) const { return places[row] ^ turned; }
  __device__ uint64_t group(uint32_t row) const {
    if (groups == nullptr) return 0;
    return group_width == 4 ? static_cast<const uint32_t*>(groups)[row]
                            : static_cast<const uint64_t*>(groups)[row];
  }
  __device__ WideKey key(uint32_t i) const { return {group(row(i)), place(row(i))}; }
};

// Starts as zeros: minima are kept inverted.
struct AsofLook {
  unsigned long long inverted_low_place;
  unsigned long long high_place;
  unsigned long long inverted_low_group;
  unsigned long long high_group;
  unsigned long long descents_of_place;  // where a row comes before the one before it
  unsigned long long descents;           // by group and place
};

__global__ void __launch_bounds__(kStreamThreads)
    asof_look_kernel(const __grid_constant__ AsofColumns columns, AsofLook* look) {
  __shared__ AsofLook of_warps[kStreamThreads / 32];
  await_last_kernel();
  AsofLook mine = {};
  uint64_t const stride = uint64_t{gridDim.x} * kStreamTile;
  for (uint64_t tile = uint64_t{blockIdx.x} * kStreamTile; tile < columns.count; tile += stride) {
    WideKey keys[kStreamItems];
    WideKey last[kStreamItems];
#pragma unroll
    for (int item = 0; item < kStreamItems; ++item) {
      uint64_t const i = tile + item * kStreamThreads + threadIdx.x;
      if (i >= columns.count) continue;
      keys[item] = columns.key(static_cast<uint32_t>(i));
      // Its neighbour's is in cache.
      last[item] = i == 0 ? keys[item] : columns.key(static_cast<uint32_t>(i - 1));
    }
#pragma unroll
    for (int item = 0; item < kStreamItems; ++item) {
      uint64_t const i = tile + item * kStreamThreads + threadIdx.x;
      if (i >= columns.count) continue;
      WideKey const key = keys[item];
      mine.inverted_low_place =
          max(mine.inverted_low_place, static_cast<unsigned long long>(~key.place));
      mine.high_place = max(mine.high_place, static_cast<unsigned long long>(key.place));
      mine.inverted_low_group =
          max(mine.inverted_low_group, static_cast<unsigned long long>(~key.group));
      mine.high_group = max(mine.high_group, static_cast<unsigned long long>(key.group));
      mine.descents_of_place += key.place < last[item].place ? 1 : 0;
      mine.descents += key < last[item] ? 1 : 0;
    }
  }
  auto const add = [](AsofLook& one, const AsofLook& other) {
    one.inverted_low_place = max(one.inverted_low_place, other.inverted_low_place);
    one.high_place = max(one.high_place, other.high_place);
    one.inverted_low_group = max(one.inverted_low_group, other.inverted_low_group);
    one.high_group = max(one.high_group, other.high_group);
    one.descents_of_place += other.descents_of_place;
    one.descents += other.descents;
  };
#pragma unroll
  for (int lane = 16; lane > 0; lane /= 2) {
    constexpr unsigned kAll = 0xffffffffU;
    add(mine, {__shfl_xor_sync(kAll, mine.inverted_low_place, lane),
               __shfl_xor_sync(kAll, mine.high_place, lane),
               __shfl_xor_sync(kAll, mine.inverted_low_group, lane),
               __shfl_xor_sync(kAll, mine.high_group, lane),
               __shfl_xor_sync(kAll, mine.descents_of_place, lane),
               __shfl_xor_sync(kAll, mine.descents, lane)});
  }
  if (threadIdx.x % 32 == 0) of_warps[threadIdx.x / 32] = mine;
  __syncthreads();
  if (threadIdx.x != 0) return;
  for (int warp = 1; warp < kStreamThreads / 32; ++warp) add(mine, of_warps[warp]);
  atomicMax(&look->inverted_low_place, mine.inverted_low_place);
  atomicMax(&look->high_place, mine.high_place);
  atomicMax(&look->inverted_low_group, mine.inverted_low_group);
  atomicMax(&look->high_group, mine.high_group);
  atomicAdd(&look->descents_of_place, mine.descents_of_place);
  atomicAdd(&look->descents, mine.descents);
}

// (group - low_group) * 2^place_bits + place - least. expected: place_bits of 64: one group.
__global__ void __launch_bounds__(kStreamThreads)
    asof_keys_kernel(const __grid_constant__ AsofColumns columns, uint64_t low_group,
                     uint64_t least, int32_t place_bits, uint64_t* __restrict__ keys) {
  await_last_kernel();
  uint64_t const first = uint64_t{blockIdx.x} * kStreamTile + threadIdx.x;
#pragma unroll
  for (int item = 0; item < kStreamItems; ++item) {
    uint64_t const i = first + item * kStreamThreads;
    if (i >= columns.count) continue;
    WideKey const key = columns.key(static_cast<uint32_t>(i));
    uint64_t const group = place_bits == 64 ? 0 : (key.group - low_group) << place_bits;
    keys[i] = group | (key.place - least);
  }
}

// Groups alone, from the lowest on.
__global__ void __launch_bounds__(kStreamThreads)
    asof_groups_kernel(const __grid_constant__ AsofColumns columns, uint64_t low_group,
                       uint64_t* __restrict__ groups) {
  await_last_kernel();
  uint64_t const first = uint64_t{blockIdx.x} * kStreamTile + threadIdx.x;
#pragma unroll
  for (int item = 0; item < kStreamItems; ++item) {
    uint64_t const i = first + item * kStreamThreads;
    if (i < columns.count)
      groups[i] = columns.group(columns.row(static_cast<uint32_t>(i))) - low_group;
  }
}

__global__ void __launch_bounds__(kStreamThreads)
    asof_wide_keys_kernel(const __grid_constant__ AsofColumns columns, WideKey* __restrict__ keys) {
  await_last_kernel();
  uint64_t const first = uint64_t{blockIdx.x} * kStreamTile + threadIdx.x;
#pragma unroll
  for (int item = 0; item < kStreamItems; ++item) {
    uint64_t const i = first + item * kStreamThreads;
    if (i < columns.count) keys[i] = columns.key(static_cast<uint32_t>(i));
  }
}

}  // namespace gpujoin::kernels
