// pick_rows.cuh: rows that a bitmap picks, or row numbers: counted, written, or their columns
//
// Source   ours; compaction by ballots and a scan, as Billeter et al. 2009 ("Efficient stream
//          compaction on wide SIMD many-core architectures"), the words of the bitmap in place of
//          the ballots
// In       bits            one a row, from any bit on; picked rows have a 1, or a 0
//          columns[]       values of 1, 2, 4, 8, 16 bytes
// Out      before[tile]    picked rows before each tile of kPickTile rows, once summed up
//          numbers         of the picked rows, ascending, where they are wanted
//          target[]        their values, in the order of the rows
// Needs    what is counted and what is written to be of the same bits; rows beyond `count` are left
//          out
// Launch   a block of kPickThreads a tile; dependent
// Moves    count: a bit a row. write: a bit a row, and of each picked row each column's value
//          written and the sector that it lies in read, its number written
//
// A block lists its rows in shared memory, 2 bytes each, and then takes them in order, so that a
// warp reads neighbours, and writes full lines whatever the tile has.
#pragma once

#include <cub/block/block_scan.cuh>

#include <cstdint>

#include "kernels/dependent_launch.cuh"
#include "kernels/transform/picked_bits.cuh"
#include "kernels/tuning.hpp"
#include "kernels/value_type.cuh"

namespace gpujoin::kernels {

constexpr int kPickThreads = 256;
constexpr int kPickTile = 32 * kPickThreads;
constexpr int kPickItems = 4;    // rows of a thread at a time
constexpr int kPickColumns = 8;  // of one launch

struct PickColumn {
  const void* source;
  void* target;
  int32_t width;
};

struct PickRows {
  PickBits from;
  const unsigned long long* before;  // of each tile
  uint64_t count;                    // room for so many
  uint32_t* numbers;                 // or null
  int32_t column_count;
  PickColumn columns[kPickColumns];
};

__global__ void __launch_bounds__(kPickThreads)
    count_picked_kernel(const PickBits from, unsigned long long* of_tile) {
  await_last_kernel();
  __shared__ uint32_t picked;
  if (threadIdx.x == 0) picked = 0;
  __syncthreads();
  uint64_t const row = uint64_t{blockIdx.x} * kPickTile + threadIdx.x * uint64_t{32};
  auto const own = static_cast<uint32_t>(__popc(picked_bits(from, row)));
  uint32_t const of_warp = __reduce_add_sync(0xffffffffU, own);
  if (threadIdx.x % 32 == 0) atomicAdd(&picked, of_warp);
  __syncthreads();
  if (threadIdx.x == 0) of_tile[blockIdx.x] = picked;
}

template <typename Value>
__device__ void pick_values(const PickColumn& column, const uint32_t (&rows)[kPickItems],
                            const uint32_t (&places)[kPickItems], int items) {
  auto const* const source = static_cast<const Value*>(column.source);
  auto* const target = static_cast<Value*>(column.target);
  Value values[kPickItems] = {};
#pragma unroll
  for (int item = 0; item < kPickItems; ++item) {
    if (item < items) values[item] = source[rows[item]];
  }
#pragma unroll
  for (int item = 0; item < kPickItems; ++item) {
    if (item < items) target[places[item]] = values[item];
  }
}

__global__ void __launch_bounds__(kPickThreads)
    pick_rows_kernel(const __grid_constant__ PickRows args) {
  using Scan = cub::BlockScan<uint32_t, kPickThreads>;
  __shared__ typename Scan::TempStorage storage;
  __shared__ uint16_t listed[kPickTile];
  await_last_kernel();
  uint64_t const tile = uint64_t{blockIdx.x} * kPickTile;
  uint32_t bits = picked_bits(args.from, tile + threadIdx.x * 32);
  uint32_t at = 0;
  uint32_t count = 0;
  Scan(storage).ExclusiveSum(static_cast<uint32_t>(__popc(bits)), at, count);
  for (; bits != 0; bits &= bits - 1) {
    listed[at++] = static_cast<uint16_t>(threadIdx.x * 32 + __ffs(static_cast<int>(bits)) - 1);
  }
  __syncthreads();
  uint64_t const first = args.before[blockIdx.x];
  // Of bits that changed since they were counted.
  uint64_t const room = args.count > first ? args.count - first : 0;
  count = static_cast<uint32_t>(min(uint64_t{count}, room));
  for (uint32_t i = threadIdx.x; i < count; i += kPickThreads * kPickItems) {
    uint32_t rows[kPickItems] = {};
    uint32_t places[kPickItems] = {};
    int items = 0;
#pragma unroll
    for (int item = 0; item < kPickItems; ++item) {
      uint32_t const from = i + static_cast<uint32_t>(item * kPickThreads);
      if (from >= count) continue;
      rows[item] = static_cast<uint32_t>(tile) + listed[from];
      places[item] = static_cast<uint32_t>(first) + from;
      items = item + 1;
    }
    if (args.numbers != nullptr) {
#pragma unroll
      for (int item = 0; item < kPickItems; ++item) {
        if (item < items) args.numbers[places[item]] = rows[item];
      }
    }
    for (int c = 0; c < args.column_count; ++c) {
      with_value_type(args.columns[c].width, [&](auto zero) {
        pick_values<decltype(zero)>(args.columns[c], rows, places, items);
      });
    }
  }
}

// Row numbers as the caller gave them: the lowest place of one that is none of `rows` rows, and,
// where they have 8 bytes, the numbers in 4.
template <typename Number>
__global__ void __launch_bounds__(kPickThreads)
    check_numbers_kernel(const Number* __restrict__ numbers, uint64_t count, uint64_t rows,
                         uint32_t* narrow, unsigned long long* lowest_wrong) {
  await_last_kernel();
  uint64_t const stride = uint64_t{gridDim.x} * kPickThreads;
  for (uint64_t i = blockIdx.x * uint64_t{kPickThreads} + threadIdx.x; i < count; i += stride) {
    // A negative number lies outside as any other that does.
    auto const number = static_cast<uint64_t>(numbers[i]);
    if (number >= rows) atomicMin(lowest_wrong, static_cast<unsigned long long>(i));
    if (narrow != nullptr) narrow[i] = static_cast<uint32_t>(number);
  }
}

// Validity of rows that are valid and picked.
__global__ void __launch_bounds__(kPickThreads)
    mask_rows_kernel(const PickBits picked, const PickBits valid, uint32_t* words) {
  await_last_kernel();
  uint64_t const word = uint64_t{blockIdx.x} * kPickThreads + threadIdx.x;
  if (word * 32 >= picked.rows) return;
  uint32_t bits = picked_bits(picked, word * 32);
  if (valid.bits != nullptr) bits &= picked_bits(valid, word * 32);
  words[word] = bits;
}

}  // namespace gpujoin::kernels
