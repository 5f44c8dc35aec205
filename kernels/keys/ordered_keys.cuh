// ordered_keys.cuh: codes that have the order of a key column's values
//
// Source   ours; values that 8 bytes do not tell apart are ranked: CUB's merge sort of row numbers,
//          a sum over the places where the value changes
// In       an OrderedKey, on the device
// Out      codes[rows] uint64; the extremes of each block; ranks
// Launch   kStreamTile rows a block of kStreamThreads; extremes kExtremeThreads a block
// Moves    the width of a value and 8 bytes a row; of ranks 2 values and 24 bytes a row, at random
#pragma once

#include <cstdint>

#include "kernels/dependent_launch.cuh"
#include "kernels/keys/ordered_key.hpp"
#include "kernels/tuning.hpp"

namespace gpujoin::kernels {

template <bool kLong>
__global__ void __launch_bounds__(kStreamThreads)
    order_keys_kernel(const __grid_constant__ OrderedKey key, uint64_t rows,
                      uint64_t* __restrict__ codes) {
  await_last_kernel();
  uint64_t const first = uint64_t{blockIdx.x} * kStreamTile + threadIdx.x;
  if constexpr (kLong) {
    // One after the other, for the registers of 512 bits.
#pragma unroll 1
    for (uint64_t row = first; row < rows && row < first + kStreamTile; row += kStreamThreads) {
      codes[row] = code_of_long(key, row);
    }
  } else {
#pragma unroll
    for (int item = 0; item < kStreamItems; ++item) {
      uint64_t const row = first + item * kStreamThreads;
      if (row < rows) codes[row] = ordered_code(key, row);
    }
  }
}

// Least and greatest of those that are there.
struct BlockExtremes {
  LongNumber least;
  LongNumber greatest;
  uint32_t any;

  __device__ void add(const BlockExtremes& other) {
    if (other.any == 0) return;
    if (any == 0 || is_less(other.least, least)) least = other.least;
    if (any == 0 || is_less(greatest, other.greatest)) greatest = other.greatest;
    any = 1;
  }
};

constexpr int kExtremeThreads = 128;
constexpr unsigned kExtremeBlocks = 256;

__global__ void __launch_bounds__(kExtremeThreads)
    extremes_kernel(const __grid_constant__ OrderedKey key, uint64_t rows, BlockExtremes* blocks) {
  __shared__ BlockExtremes found[kExtremeThreads];
  await_last_kernel();
  BlockExtremes mine = {};
  uint64_t const stride = uint64_t{gridDim.x} * kExtremeThreads;
  for (uint64_t row = uint64_t{blockIdx.x} * kExtremeThreads + threadIdx.x; row < rows;
       row += stride) {
    if (!is_valid(key.valid, row)) continue;
    LongNumber const value = long_value(key, row);
    mine.add({value, value, 1});
  }
  found[threadIdx.x] = mine;
  for (int step = kExtremeThreads / 2; step > 0; step /= 2) {
    __syncthreads();
    if (threadIdx.x < step) found[threadIdx.x].add(found[threadIdx.x + step]);
  }
  if (threadIdx.x == 0) blocks[blockIdx.x] = found[0];
}

__global__ void __launch_bounds__(kStreamThreads)
    number_rows_kernel(uint64_t rows, uint64_t* __restrict__ numbers) {
  await_last_kernel();
  uint64_t const row = uint64_t{blockIdx.x} * kStreamThreads + threadIdx.x;
  if (row < rows) numbers[row] = row;
}

// 1 where a value that was not there begins. sorted: row numbers of both, by value.
__global__ void __launch_bounds__(kStreamThreads)
    new_values_kernel(const __grid_constant__ BothOrdered both, const uint64_t* __restrict__ sorted,
                      uint64_t rows, uint64_t* __restrict__ is_new) {
  await_last_kernel();
  uint64_t const place = uint64_t{blockIdx.x} * kStreamThreads + threadIdx.x;
  if (place >= rows) return;
  uint64_t const row = sorted[place];
  is_new[place] =
      both.has_value(row) && (place == 0 || both(sorted[place - 1], row)) ? uint64_t{1} : 0;
}

// counts: of new values, up to each place and with it.
__global__ void __launch_bounds__(kStreamThreads)
    put_ranks_kernel(const __grid_constant__ BothOrdered both, const uint64_t* __restrict__ sorted,
                     const uint64_t* __restrict__ counts, uint64_t rows, uint64_t* left,
                     uint64_t* right, LongNumber* __restrict__ values) {
  await_last_kernel();
  uint64_t const place = uint64_t{blockIdx.x} * kStreamThreads + threadIdx.x;
  if (place >= rows) return;
  uint64_t const row = sorted[place];
  bool const is_value = both.has_value(row);
  uint64_t const rank = is_value ? counts[place] - 1 : 0;
  if (both.is_left(row)) {
    left[row] = rank;
  } else {
    right[row - both.left_rows] = rank;
  }
  if (is_value && (place == 0 || counts[place - 1] != counts[place])) {
    values[rank] = both.value(row);
  }
}

}  // namespace gpujoin::kernels
