// place_partitions.cuh: where the partitions of an unordered partitioning begin, and which rows the
// tiles of its second pass have
//
// Source   ours; the counts are those of count_partitions_kernel
// In       counts[2^radix_bits]
// Out      counts 0 again; offsets[2^radix_bits + 1], cursors; of two passes also segment_cursors
//          and tiles[]
// Needs    counts aligned to 16 bytes; kStreamThreads segments at most, and kPartitionSumTile
//          partitions of one pass
// Launch   place_partitions: a block of kPartitionSumThreads for kPartitionSumTile partitions;
//          place_unordered_tiles: a thread a tile; dependent
// Moves    12 bytes a partition; each block sums the counts before its own once more, from L2. 16
//          bytes a tile. One block by itself took 35 us for 2^15 partitions on an H200, these 13
#pragma once

#include <cub/block/block_reduce.cuh>
#include <cub/block/block_scan.cuh>

#include <cstdint>

#include "kernels/dependent_launch.cuh"
#include "kernels/transform/partition_sums.cuh"
#include "kernels/transform/radix_unordered.cuh"
#include "kernels/tuning.hpp"

namespace gpujoin::kernels {

// All threads: rows of the partitions before `end`, a multiple of 4.
__device__ inline uint32_t rows_before(const uint32_t* __restrict__ counts, uint32_t end) {
  using Reduce = cub::BlockReduce<uint32_t, kPartitionSumThreads>;
  __shared__ typename Reduce::TempStorage storage;
  __shared__ uint32_t all;
  auto const* const vectors = reinterpret_cast<const uint4*>(counts);
  uint32_t own = 0;
#pragma unroll 4
  for (uint32_t i = threadIdx.x; i < end / 4; i += kPartitionSumThreads) {
    uint4 const four = vectors[i];
    own += four.x + four.y + four.z + four.w;
  }
  uint32_t const sum = Reduce(storage).Sum(own);
  if (threadIdx.x == 0) all = sum;
  __syncthreads();
  return all;
}

// The first place of each partition. In two passes the first one's partitions are segments of
// 2^segment_bits, whose cursors are segment_cursors, and the counts are cleared by the next kernel;
// null: one pass, of partitions of one block, which clears them.
__global__ void __launch_bounds__(kPartitionSumThreads)
    place_partitions_kernel(uint32_t* counts, int32_t radix_bits, int32_t segment_bits,
                            uint32_t* __restrict__ offsets, uint32_t* __restrict__ cursors,
                            uint32_t* __restrict__ segment_cursors) {
  constexpr int kItems = kPartitionSumTile / kPartitionSumThreads;
  using Scan = cub::BlockScan<uint32_t, kPartitionSumThreads>;
  __shared__ typename Scan::TempStorage storage;
  let_next_kernel_start();
  await_last_kernel();
  uint32_t const partitions = 1U << radix_bits;
  uint32_t const tile = blockIdx.x * kPartitionSumTile;
  uint32_t const first = tile + threadIdx.x * kItems;
  uint32_t rows[kItems];
#pragma unroll
  for (int i = 0; i < kItems; ++i) rows[i] = first + i < partitions ? counts[first + i] : 0;
  uint32_t const before = rows_before(counts, tile);
  uint32_t starts[kItems];
  Scan(storage).ExclusiveSum(rows, starts);
#pragma unroll
  for (int i = 0; i < kItems; ++i) {
    uint32_t const partition = first + i;
    if (partition >= partitions) break;
    uint32_t const start = before + starts[i];
    offsets[partition] = cursors[partition] = start;
    bool const is_first = partition % (1U << segment_bits) == 0;
    if (segment_cursors != nullptr && is_first) segment_cursors[partition >> segment_bits] = start;
    if (partition + 1 == partitions) offsets[partitions] = start + rows[i];
  }
#pragma unroll
  for (int i = 0; i < kItems; ++i) {
    if (segment_cursors == nullptr && first + i < partitions) counts[first + i] = 0;
  }
}

// The second pass's tiles begin at multiples of kUnorderedAlign rows, so that columns are loaded 16
// bytes at a time. counts: of place_partitions, cleared.
__global__ void __launch_bounds__(kStreamThreads)
    place_unordered_tiles_kernel(const uint32_t* __restrict__ offsets, int32_t segment_bits,
                                 uint32_t segments, uint32_t tile_rows, uint32_t max_tiles,
                                 UnorderedTile* __restrict__ tiles, uint32_t* __restrict__ counts) {
  using Scan = cub::BlockScan<uint32_t, kStreamThreads>;
  __shared__ typename Scan::TempStorage storage;
  __shared__ uint32_t tiles_before[kStreamThreads];
  let_next_kernel_start();
  await_last_kernel();
  uint32_t own = 0;
  if (threadIdx.x < segments) {
    uint32_t const begin = offsets[threadIdx.x << segment_bits];
    uint32_t const end = offsets[(threadIdx.x + 1) << segment_bits];
    uint32_t const loaded = end - begin / kUnorderedAlign * kUnorderedAlign;
    own = begin == end ? 0 : (loaded - 1) / tile_rows + 1;
  }
  uint32_t all;
  Scan(storage).ExclusiveSum(own, tiles_before[threadIdx.x], all);
  __syncthreads();
  uint32_t const tile = blockIdx.x * kStreamThreads + threadIdx.x;
  for (uint32_t i = tile; i < segments << segment_bits; i += gridDim.x * kStreamThreads) {
    counts[i] = 0;
  }
  if (tile >= max_tiles) return;
  if (tile >= all) {
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
