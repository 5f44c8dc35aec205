// partition_tiles.cuh: what a pass of a histogram partitioning works on: tiles that do not cross
// the partitions of the pass before
//
// Paper    Rui & Tu 2017, section 3.2.1 and figure 2: a matrix of counters, one exclusive scan over
//          it; the second pass divides the partitions of the first
// In       positions                        the first pass's counters after the scan
// Out      tiles[max_tiles]                 rows of each tile, and where its counters are; tiles
//          beyond the last have no rows
// Launch   cut_partitions_kernel: one block of kPartitionSumThreads; place_tiles_kernel:
//          ceil(max_tiles / kStreamThreads) blocks of kStreamThreads
// Moves    a sector a partition, 16 bytes a tile
//
//   counters, and after the scan positions:  partition before > digit > tile > histogram of the
//   tile
//
// So the scan alone brings the rows of a partition together, in the order of tiles, and ascending
// by digit.
#pragma once

#include <cstdint>

#include "kernels/transform/partition_sums.cuh"
#include "kernels/tuning.hpp"

namespace gpujoin::kernels {

struct PartitionTile {
  uint32_t first_row;
  uint32_t rows;
  uint32_t first_tile;  // of its partition of the pass before
  uint32_t tiles;       // of that partition
};

struct HistogramPass {
  const PartitionTile* tiles;  // [gridDim.x]; null: all rows are one partition
  uint32_t rows;
  uint32_t tile_rows;
  int32_t shift;
  uint32_t digits;  // a power of two

  template <typename Key>
  __device__ uint32_t digit_of(Key key) const {
    return static_cast<uint32_t>(key >> shift) & (digits - 1);
  }

  __device__ PartitionTile tile() const {
    if (tiles != nullptr) return tiles[blockIdx.x];
    uint32_t const first_row = blockIdx.x * tile_rows;
    return {first_row, min(tile_rows, rows - first_row), 0, gridDim.x};
  }

  // The block's first counter of a digit, of `histograms` that a block has.
  __device__ uint64_t counter(const PartitionTile& tile, uint32_t digit,
                              uint32_t histograms) const {
    uint64_t const of_tile = uint64_t{tile.first_tile} * digits + uint64_t{digit} * tile.tiles +
                             (blockIdx.x - tile.first_tile);
    return of_tile * histograms;
  }
};

// Of each of the first pass's partitions: its first row, and the tiles before it.
__global__ void __launch_bounds__(kPartitionSumThreads)
    cut_partitions_kernel(const uint32_t* __restrict__ positions, uint64_t stride,
                          uint32_t partitions, uint32_t rows, uint32_t tile_rows,
                          uint32_t* __restrict__ offsets, uint32_t* __restrict__ tiles_before) {
  auto const begin = [=](uint32_t i) { return i < partitions ? positions[i * stride] : rows; };
  unsigned long long const tiles = partition_sums(
      partitions,
      [=](uint32_t i) {
        uint32_t const in_partition = begin(i + 1) - begin(i);
        return in_partition / tile_rows + (in_partition % tile_rows != 0 ? 1 : 0);
      },
      [=](uint32_t i, unsigned long long before) {
        offsets[i] = begin(i);
        tiles_before[i] = static_cast<uint32_t>(before);
      });
  if (threadIdx.x == 0) {
    offsets[partitions] = rows;
    tiles_before[partitions] = static_cast<uint32_t>(tiles);
  }
}

__global__ void __launch_bounds__(kStreamThreads)
    place_tiles_kernel(const uint32_t* __restrict__ offsets,
                       const uint32_t* __restrict__ tiles_before, uint32_t partitions,
                       uint32_t tile_rows, uint32_t max_tiles, PartitionTile* __restrict__ tiles) {
  uint32_t const tile = blockIdx.x * kStreamThreads + threadIdx.x;
  if (tile >= max_tiles) return;
  if (tile >= tiles_before[partitions]) {
    tiles[tile] = {0, 0, tile, 1};  // counters of its own, all zero
    return;
  }
  uint32_t const partition = holder_of(tiles_before, 0, partitions, tile);
  uint32_t const first_tile = tiles_before[partition];
  uint32_t const first_row = offsets[partition] + (tile - first_tile) * tile_rows;
  tiles[tile] = {first_row, min(tile_rows, offsets[partition + 1] - first_row), first_tile,
                 tiles_before[partition + 1] - first_tile};
}

}  // namespace gpujoin::kernels
