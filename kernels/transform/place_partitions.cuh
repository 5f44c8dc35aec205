// place_partitions.cuh: where the partitions of an unordered partitioning begin, and which rows the
// tiles of its second pass have
//
// Source   ours; the counts are those of count_partitions_kernel
// In       counts[2^radix_bits]
// Out      counts 0 again; offsets[2^radix_bits + 1], cursors; of two passes also segment_cursors,
//          tiles_before and tiles[]
// Needs    arrays aligned to 16 bytes
// Launch   place_partitions: one block of kPartitionSumThreads; place_unordered_tiles: a thread a
//          tile; dependent
// Moves    12 bytes a partition; 16 bytes a tile
#pragma once

#include <cub/block/block_scan.cuh>

#include <cstdint>

#include "kernels/dependent_launch.cuh"
#include "kernels/transform/partition_sums.cuh"
#include "kernels/transform/radix_unordered.cuh"
#include "kernels/tuning.hpp"

namespace gpujoin::kernels {

// Eight partitions of a thread as two vectors: an access of a warp to single words so far apart
// touches as many sectors as one to vectors, of which it takes a quarter. H200, 2^15 partitions: 56
// us by words.
static_assert(kPartitionSumItems == 8);

// By one block: exclusive sums of counts[partitions], a multiple of 8, to both targets, and the
// counts cleared. The function returns the sum of all.
__device__ inline uint32_t place_by_vectors(uint32_t* __restrict__ counts, uint32_t partitions,
                                            uint32_t* __restrict__ offsets,
                                            uint32_t* __restrict__ cursors) {
  using Scan = cub::BlockScan<uint32_t, kPartitionSumThreads>;
  __shared__ typename Scan::TempStorage storage;
  uint32_t before = 0;
#pragma unroll 1
  for (uint32_t tile = 0; tile < partitions; tile += kPartitionSumThreads * kPartitionSumItems) {
    uint32_t const first = tile + threadIdx.x * kPartitionSumItems;
    uint4 halves[2] = {};
    if (first < partitions) {
      auto* const counted = reinterpret_cast<uint4*>(counts + first);
      halves[0] = counted[0];
      halves[1] = counted[1];
      counted[0] = counted[1] = {0, 0, 0, 0};
    }
    uint32_t sum = 0;
#pragma unroll
    for (uint4& half : halves) {
      uint4 const own = half;
      half = {sum, sum + own.x, sum + own.x + own.y, sum + own.x + own.y + own.z};
      sum = half.w + own.w;
    }
    uint32_t start;
    uint32_t all;
    Scan(storage).ExclusiveSum(sum, start, all);
    start += before;
#pragma unroll
    for (int i = 0; i < 2; ++i) {
      uint4 const placed = {start + halves[i].x, start + halves[i].y, start + halves[i].z,
                            start + halves[i].w};
      if (first >= partitions) continue;
      reinterpret_cast<uint4*>(offsets + first)[i] = placed;
      reinterpret_cast<uint4*>(cursors + first)[i] = placed;
    }
    before += all;
    __syncthreads();  // the scan's storage is used again
  }
  return before;
}

// By one block: the first place of each partition, and what the passes go by. In two passes the
// first one's partitions are segments of 2^segment_bits; the second one's tiles begin at multiples
// of kUnorderedAlign rows, so that columns are loaded 16 bytes at a time. tiles_before null: one
// pass, whose cursors are `cursors`.
__global__ void __launch_bounds__(kPartitionSumThreads)
    place_partitions_kernel(uint32_t* __restrict__ counts, int32_t radix_bits, int32_t segment_bits,
                            uint32_t tile_rows, uint32_t* offsets, uint32_t* __restrict__ cursors,
                            uint32_t* __restrict__ segment_cursors,
                            uint32_t* __restrict__ tiles_before) {
  let_next_kernel_start();
  await_last_kernel();
  uint32_t const partitions = 1U << radix_bits;
  unsigned long long rows = 0;
  if (partitions % kPartitionSumItems == 0) {
    rows = place_by_vectors(counts, partitions, offsets, cursors);
  } else {
    // Two or four partitions.
    for (uint32_t i = 0; i < partitions && threadIdx.x == 0; ++i) {
      offsets[i] = cursors[i] = static_cast<uint32_t>(rows);
      rows += counts[i];
      counts[i] = 0;
    }
  }
  if (threadIdx.x == 0) offsets[partitions] = static_cast<uint32_t>(rows);
  if (tiles_before == nullptr) return;
  __syncthreads();
  uint32_t const segments = partitions >> segment_bits;
  unsigned long long const tiles = partition_sums(
      segments,
      [=](uint32_t i) {
        uint32_t const begin = offsets[i << segment_bits];
        uint32_t const end = offsets[(i + 1) << segment_bits];
        uint32_t const loaded = end - begin / kUnorderedAlign * kUnorderedAlign;
        return begin == end ? 0 : loaded / tile_rows + (loaded % tile_rows != 0 ? 1 : 0);
      },
      [=](uint32_t i, unsigned long long before) {
        segment_cursors[i] = offsets[i << segment_bits];
        tiles_before[i] = static_cast<uint32_t>(before);
      });
  if (threadIdx.x == 0) tiles_before[segments] = static_cast<uint32_t>(tiles);
}

__global__ void __launch_bounds__(kStreamThreads)
    place_unordered_tiles_kernel(const uint32_t* __restrict__ offsets, int32_t segment_bits,
                                 const uint32_t* __restrict__ tiles_before, uint32_t segments,
                                 uint32_t tile_rows, uint32_t max_tiles,
                                 UnorderedTile* __restrict__ tiles) {
  let_next_kernel_start();
  await_last_kernel();
  uint32_t const tile = blockIdx.x * kStreamThreads + threadIdx.x;
  if (tile >= max_tiles) return;
  if (tile >= tiles_before[segments]) {
    tiles[tile] = {0, 0, 0, 0};
    return;
  }
  uint32_t const segment = holder_of(tiles_before, 0, segments, tile);
  uint32_t const first = offsets[segment << segment_bits];
  uint32_t const begin =
      first / kUnorderedAlign * kUnorderedAlign + (tile - tiles_before[segment]) * tile_rows;
  uint32_t const end = offsets[(segment + 1) << segment_bits];
  tiles[tile] = {begin, begin < first ? first - begin : 0, min(end - begin, tile_rows), segment};
}

}  // namespace gpujoin::kernels
