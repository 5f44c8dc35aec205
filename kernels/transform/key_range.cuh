// key_range.cuh: the lowest and the highest key, which bits differ between, and whether keys go up
// in equal steps
//
// Source   ours; GQE's perfect join finds dense keys by the bits that vary (varying_bits.cuh),
//          which misses ranges across a power of two
// In       keys[rows]  Key, of which those without a bit among those present do not count
// Out      the answer: range, of all keys; keys in the order of signed integers, their sign bit
//          turned so that they compare unsigned. Likewise of each tile of kNearTile rows, on the
//          device, where tiles are asked for
// Needs    state all 0, which it is again afterwards
// Launch   kRangeBlocksPerSm blocks of kStreamThreads for each multiprocessor, or less, dependent
// Moves    rows * |Key| read
#pragma once

#include <cstdint>

#include "kernels/bytes_column.hpp"
#include "kernels/dependent_launch.cuh"
#include "kernels/last_block.cuh"
#include "kernels/limits.hpp"
#include "kernels/transform/key_range.hpp"
#include "kernels/tuning.hpp"

namespace gpujoin::kernels {

template <typename Key>
struct TurnedRange {
  Key any = 0;
  Key all = static_cast<Key>(~Key{0});
  Key low = static_cast<Key>(~Key{0});
  Key high = 0;

  __device__ void add(const TurnedRange& other) {
    any |= other.any;
    all &= other.all;
    low = min(low, other.low);
    high = max(high, other.high);
  }
  __device__ void add_key(Key key) {
    Key const turned = turn_sign(key);
    add({turned, turned, turned, turned});
  }
  template <int kItems>
  __device__ void add_keys(const Key (&keys)[kItems], uint32_t are_rows) {
#pragma unroll
    for (int item = 0; item < kItems; ++item) {
      if ((are_rows >> item & 1) != 0) add_key(keys[item]);
    }
  }
  // All lanes of a warp.
  __device__ void add_lanes() {
    if constexpr (sizeof(Key) == 4) {
      any = __reduce_or_sync(0xffffffffU, any);
      all = __reduce_and_sync(0xffffffffU, all);
      low = __reduce_min_sync(0xffffffffU, low);
      high = __reduce_max_sync(0xffffffffU, high);
    } else {
#pragma unroll
      for (int lane = 16; lane > 0; lane /= 2) {
        add({__shfl_xor_sync(0xffffffffU, any, lane), __shfl_xor_sync(0xffffffffU, all, lane),
             __shfl_xor_sync(0xffffffffU, low, lane), __shfl_xor_sync(0xffffffffU, high, lane)});
      }
    }
  }
};

// All threads; thread 0 has that of the block. One address takes 0.6e9 atomics a second: with one a
// warp instead of one a block, an H200 spends 17 us on them for 10^6 keys.
template <int kThreads, typename Key>
__device__ __forceinline__ void add_block(TurnedRange<Key>& range) {
  constexpr int kWarps = kThreads / 32;
  __shared__ TurnedRange<Key> warps[kWarps];
  range.add_lanes();
  if (threadIdx.x % 32 == 0) warps[threadIdx.x / 32] = range;
  __syncthreads();
  if (threadIdx.x >= 32) return;
  range = {};
  if (threadIdx.x < kWarps) range = warps[threadIdx.x];
  range.add_lanes();
}

// One thread. All 0 is the start: what is to be a minimum or an and is kept inverted.
template <typename Key>
__device__ __forceinline__ void note_range(const TurnedRange<Key>& range, NotedRange* noted) {
  atomicOr(&noted->any, static_cast<unsigned long long>(range.any));
  atomicOr(&noted->none, static_cast<unsigned long long>(static_cast<Key>(~range.all)));
  atomicMax(&noted->high, static_cast<unsigned long long>(range.high));
  atomicMax(&noted->inverted_low, static_cast<unsigned long long>(static_cast<Key>(~range.low)));
}
template <typename Key>
__device__ __forceinline__ TurnedRange<Key> noted_range(const volatile NotedRange& noted) {
  TurnedRange<Key> range;
  range.any = static_cast<Key>(noted.any);
  range.all = static_cast<Key>(~static_cast<Key>(noted.none));
  range.low = static_cast<Key>(~static_cast<Key>(noted.inverted_low));
  range.high = static_cast<Key>(noted.high);
  return range;
}

// What a block saw of its rows' keys; of thread 0.
template <typename Key>
struct SeenByBlock {
  TurnedRange<Key> range;
  Key step;  // of the first two rows
  bool breaks;
};

// All threads of all blocks. sink(row, key) is given each. Of rows in parts of kStreamTile a block
// has `parts` side by side; end_parts(first row) comes behind each such tile. Rows that are not
// present break the steps.
template <typename Key, typename Sink, typename EndParts>
__device__ __forceinline__ SeenByBlock<Key> see_tiles(const Key* __restrict__ keys, uint32_t rows,
                                                      uint32_t parts, const Sink& sink,
                                                      const EndParts& end_parts,
                                                      const ValidityBits& present = {}) {
  SeenByBlock<Key> seen{};
  Key const first = keys[0];
  seen.step = rows > 1 ? static_cast<Key>(keys[1] - first) : Key{0};
  uint64_t const tile_rows = uint64_t{parts} * kStreamTile;
  for (uint64_t tile = blockIdx.x * tile_rows; tile < rows; tile += gridDim.x * tile_rows) {
#pragma unroll 1
    for (uint64_t part = tile; part < tile + tile_rows; part += kStreamTile) {
      Key read[kStreamItems];
#pragma unroll
      for (int item = 0; item < kStreamItems; ++item) {
        uint64_t const row = part + item * kStreamThreads + threadIdx.x;
        if (row < rows) read[item] = __ldcs(&keys[row]);
      }
#pragma unroll
      for (int item = 0; item < kStreamItems; ++item) {
        uint64_t const row = part + item * kStreamThreads + threadIdx.x;
        if (row >= rows) continue;
        if (!is_valid(present, row)) {
          seen.breaks = true;
          continue;
        }
        seen.range.add_key(read[item]);
        seen.breaks |= read[item] != static_cast<Key>(first + static_cast<Key>(row) * seen.step);
        sink(row, read[item]);
      }
    }
    end_parts(tile);
  }
  seen.breaks = __syncthreads_or(seen.breaks) != 0;
  add_block<kStreamThreads>(seen.range);
  return seen;
}
template <typename Key, typename Sink>
__device__ __forceinline__ SeenByBlock<Key> see_keys(const Key* __restrict__ keys, uint32_t rows,
                                                     const Sink& sink) {
  return see_tiles(keys, rows, 1, sink, [](uint64_t) {});
}

// One thread a block.
template <typename Key>
__device__ __forceinline__ void note_block(const SeenByBlock<Key>& seen, KeyRangeState* state) {
  if (seen.breaks) atomicOr(&state->has_breaks, 1U);
  note_range(seen.range, &state->noted);
}
// Of the last block to come: it sees what all blocks noted before, each ahead of a barrier.
template <typename Key>
__device__ __forceinline__ void take_noted(const volatile KeyRangeState& state,
                                           SeenByBlock<Key>* seen) {
  seen->range = noted_range<Key>(state.noted);
  seen->breaks = state.has_breaks != 0;
}
template <typename Key>
__device__ __forceinline__ KeyRange range_of(const SeenByBlock<Key>& seen) {
  TurnedRange<Key> const& all = seen.range;
  return {all.any, all.all, all.low, all.high, seen.breaks ? 0 : uint64_t{seen.step}};
}

// One thread a block, before it tells. One block by itself has nobody to tell but the host.
template <typename Key>
__device__ __forceinline__ void note_seen(const SeenByBlock<Key>& seen, KeyRangeState* state) {
  if (gridDim.x != 1) note_block(seen, state);
}

// The same thread. The last block to come tells the host, which needs no copy then.
template <typename Key>
__device__ __forceinline__ void tell_seen(SeenByBlock<Key> seen, KeyRangeState* state,
                                          KeyRangeAnswer* answer) {
  if (gridDim.x != 1) {
    if (!comes_last(&state->finished)) return;
    take_noted(*state, &seen);
    *state = {};
  }
  answer->content = range_of(seen);
  give_answer(answer);
}

// kNulls: not all rows are present.
template <typename Key, bool kNulls>
__global__ void __launch_bounds__(kStreamThreads)
    key_range_kernel(const Key* __restrict__ keys, uint32_t rows, ValidityBits present,
                     KeyRangeState* state, KeyRangeAnswer* answer) {
  await_last_kernel();
  SeenByBlock<Key> const seen = see_tiles(
      keys, rows, 1, [](uint64_t, Key) {}, [](uint64_t) {}, kNulls ? present : ValidityBits{});
  if (threadIdx.x != 0) return;
  note_seen(seen, state);
  tell_seen(seen, state, answer);
}

// The same, and tiles[ceil(rows / kNearTile)].
template <typename Key>
__global__ void __launch_bounds__(kStreamThreads)
    tile_ranges_kernel(const Key* __restrict__ keys, uint32_t rows, TileRange<Key>* tiles,
                       KeyRangeState* state, KeyRangeAnswer* answer) {
  static_assert(kNearTile % kStreamTile == 0);
  constexpr int kWarps = kStreamThreads / 32;
  __shared__ TileRange<Key> warps[2][kWarps];  // in turns, so that a tile has one barrier
  await_last_kernel();
  uint32_t turn = 0;
  TurnedRange<Key> own;
  SeenByBlock<Key> const seen = see_tiles(
      keys, rows, kNearTile / kStreamTile, [&own](uint64_t, Key key) { own.add_key(key); },
      [&](uint64_t first_row) {
        own.add_lanes();
        if (threadIdx.x % 32 == 0) warps[turn][threadIdx.x / 32] = {own.low, own.high};
        own = {};
        __syncthreads();
        if (threadIdx.x < 32) {
          TileRange<Key> const& of_warp = warps[turn][threadIdx.x % kWarps];
          TurnedRange<Key> all;
          all.low = of_warp.low;
          all.high = of_warp.high;
          all.add_lanes();
          if (threadIdx.x == 0) tiles[first_row / kNearTile] = {all.low, all.high};
        }
        turn ^= 1;
      });
  if (threadIdx.x != 0) return;
  note_seen(seen, state);
  tell_seen(seen, state, answer);
}

}  // namespace gpujoin::kernels
