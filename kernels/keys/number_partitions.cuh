// number_partitions.cuh: which run of a block each row belongs to: that of its partition, by a hash
// of its keys' values
//
// Source   partitions of Shapiro 1986 (GRACE), by the hash of kernels/keys/value_hash.hpp
// In       key columns of HashedColumn; the runs of partitions
// Out      numbers[row], its run; counts[run * tiles + tile], the rows of each tile
// Needs    fewer than kMostRuns partitions; the one behind the last is of rows with a NULL that
//          equals nothing
// Launch   a block of kHashThreads a tile of kHashTile rows, dependent
// Moves    the keys, read; a byte a row and 4 a run and tile, written
#pragma once

#include <cstdint>

#include "kernels/dependent_launch.cuh"
#include "kernels/keys/value_word.cuh"
#include "kernels/transform/hash_partitions.hpp"

namespace gpujoin::kernels {

__device__ __forceinline__ uint32_t partition_of(const PartitionHash& how, uint64_t row) {
  uint64_t hash = how.columns[0].hash.start;
  bool has_null = false;
  for (int32_t i = 0; i < how.column_count; ++i) {
    HashedColumn const& column = how.columns[i];
    bool const valid = is_valid(column.validity, row);
    has_null |= !valid && !column.is_null_equal;
    hash = column.hash.add(valid ? value_word(column, row) : ValueHash::kNull, hash);
  }
  return has_null ? how.partitions : partition_of_hash(hash, how.partitions);
}

// numbers[row], and counts[run * tiles + tile].
__global__ void __launch_bounds__(kHashThreads)
    number_partitions_kernel(const __grid_constant__ PartitionHash how,
                             const __grid_constant__ RunMap map, uint32_t rows,
                             uint8_t* __restrict__ numbers, uint32_t* __restrict__ counts) {
  let_next_kernel_start();
  await_last_kernel();
  __shared__ uint32_t tile_counts[kMostRuns];
  // Threads of a warp ask for different ones, which the constants' cache answers one by one.
  __shared__ uint8_t run_of[kMostRuns];
  static_assert(kMostRuns == kHashThreads);
  tile_counts[threadIdx.x] = 0;
  run_of[threadIdx.x] = map.of[threadIdx.x];
  __syncthreads();
  uint32_t const first = blockIdx.x * kHashTile;
#pragma unroll 4
  for (int i = 0; i < kHashItems; ++i) {
    uint32_t const row = first + i * kHashThreads + threadIdx.x;
    if (row >= rows) break;
    uint32_t const number = run_of[partition_of(how, row)];
    numbers[row] = static_cast<uint8_t>(number);
    atomicAdd(&tile_counts[number], 1U);
  }
  __syncthreads();
  if (threadIdx.x < map.runs) {
    counts[threadIdx.x * gridDim.x + blockIdx.x] = tile_counts[threadIdx.x];
  }
}

}  // namespace gpujoin::kernels
