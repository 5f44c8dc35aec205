// key_ranges.cuh: the lowest and the highest value of every key column of both sides
//
// Source   ours; as key_range.cuh, of several columns and without their varying bits
// In       columns of 4 or 8 bytes, with validity: rows with a NULL in any of them do not count
// Out      the answer: a range for each column of each side
// Needs    state all 0, which it is again afterwards
// Launch   kRangeBlocksPerSm blocks of kStreamThreads for each multiprocessor, or less, dependent
// Moves    |key| a row that is asked, and a bit for each column with validity and each column
//
// A column after the other, so that a thread keeps one range; its tiles go to the blocks in turn,
// and those of the next column to the blocks after them.
#pragma once

#include <cstdint>

#include "kernels/dependent_launch.cuh"
#include "kernels/keys/key_ranges.hpp"
#include "kernels/last_block.cuh"
#include "kernels/transform/key_range.hpp"
#include "kernels/tuning.hpp"

namespace gpujoin::kernels {

struct StridedTiles {
  uint32_t first;
  uint32_t count;
};

// By whole blocks: the range of the thread's values of a column, the sign turned.
template <typename Value>
__device__ __forceinline__ void range_of_tiles(const RangedSide& side, int column,
                                               StridedTiles tiles, Value* low, Value* high) {
  auto const* const data = static_cast<const Value*>(side.columns[column]);
  for (uint64_t tile = tiles.first; tile < tiles.count; tile += gridDim.x) {
    Value values[kStreamItems] = {};
    bool counts[kStreamItems];
#pragma unroll
    for (int item = 0; item < kStreamItems; ++item) {
      uint64_t const stripe = tile * kStreamItems + item;
      uint64_t const row = (stripe * side.step >> kStepBits) + threadIdx.x;
      counts[item] = stripe < side.stripes && row < side.rows;
      if (!counts[item]) continue;
      values[item] = __ldcs(&data[row]);
      counts[item] = side.valid(static_cast<uint32_t>(row));
    }
#pragma unroll
    for (int item = 0; item < kStreamItems; ++item) {
      if (!counts[item]) continue;
      Value const turned = turn_sign(values[item]);
      *low = min(*low, turned);
      *high = max(*high, turned);
    }
  }
}

// All lanes of a warp.
template <typename Value>
__device__ __forceinline__ void range_of_lanes(Value* low, Value* high) {
  if constexpr (sizeof(Value) == 4) {
    *low = __reduce_min_sync(0xffffffffU, *low);
    *high = __reduce_max_sync(0xffffffffU, *high);
  } else {
#pragma unroll
    for (int lane = 16; lane > 0; lane /= 2) {
      *low = min(*low, __shfl_xor_sync(0xffffffffU, *low, lane));
      *high = max(*high, __shfl_xor_sync(0xffffffffU, *high, lane));
    }
  }
}

// The last block to come tells the host, which needs no copy then.
__global__ void __launch_bounds__(kStreamThreads)
    key_ranges_kernel(const __grid_constant__ RangedKeys keys, KeyRangesState* state,
                      KeyRangesAnswer* answer) {
  // All 0 is the start: lows are kept inverted.
  __shared__ unsigned long long inverted_lows[kMostRanges];
  __shared__ unsigned long long highs[kMostRanges];
  __shared__ bool is_last;
  int const ranges = 2 * keys.count;
  int const own = static_cast<int>(threadIdx.x);
  if (own < ranges) inverted_lows[own] = highs[own] = 0;
  await_last_kernel();
  __syncthreads();
  uint32_t first = blockIdx.x;
#pragma unroll 1
  for (int range = 0; range < ranges; ++range) {
    RangedSide const& side = keys.sides[range / keys.count];
    uint32_t const tiles = (side.stripes + kStreamItems - 1) / kStreamItems;
    auto const read = [&](int column, auto zero) {
      using Value = decltype(zero);
      auto low = static_cast<Value>(~Value{0});
      Value high = 0;
      range_of_tiles(side, column, {first, tiles}, &low, &high);
      range_of_lanes(&low, &high);
      if (threadIdx.x % 32 != 0 || low > high) return;
      atomicMax(&inverted_lows[range], ~static_cast<unsigned long long>(low));
      atomicMax(&highs[range], static_cast<unsigned long long>(high));
    };
    int const column = range % keys.count;
    if (keys.widths[column] == 4) {
      read(column, uint32_t{});
    } else {
      read(column, uint64_t{});
    }
    first = (first + gridDim.x - tiles % gridDim.x) % gridDim.x;
  }
  __syncthreads();
  // Either may be 0 where there is a value: the lowest of all that is, or the highest.
  if (own < ranges && (inverted_lows[own] | highs[own]) != 0) {
    atomicMax(&state->inverted_lows[own], inverted_lows[own]);
    atomicMax(&state->highs[own], highs[own]);
  }
  __syncthreads();
  if (own == 0) is_last = comes_last(&state->finished);
  __syncthreads();
  if (!is_last) return;
  if (own < ranges) {
    volatile KeyRangesState* const noted = state;
    answer->content.lows[own] = ~noted->inverted_lows[own];
    answer->content.highs[own] = noted->highs[own];
    noted->inverted_lows[own] = 0;
    noted->highs[own] = 0;
  }
  __syncthreads();
  if (own != 0) return;
  state->finished = 0;
  give_answer(answer);
}

}  // namespace gpujoin::kernels
