// part_columns.cuh: rows of a tile on their way to parts, whose columns are words of 4 bytes or two
// of them
//
// Source   ours
// In       keys[rows], words of columns or row numbers; bits of rows that have a key
// Out      a thread's rows of a tile, kPartThreads apart
// Needs    load() a tile ahead of finish()
// Moves    |Key| and 4 bytes a word a row
#pragma once

#include <cstdint>

#include "kernels/match/place_parts.hpp"

namespace gpujoin::kernels {

// A word of every row: from[row * step].
struct MovedWord {
  const uint32_t* from;
  uint32_t step;  // in words
};

// kNulls: some rows have no key. By kernels of their own: a look at the word of rows that all have
// one took 2 to 4 % of a join.
template <typename KeyType, int kMovedWords, bool kNulls>
struct PartColumns {
  using Key = KeyType;
  static constexpr int kWords = kMovedWords;
  static constexpr bool kHasNulls = kNulls;
  static constexpr int kItems = part_items(kWords);
  struct Shared {};
  struct Loaded {
    Key keys[kItems];
    uint32_t words[kItems][kWords];
    uint32_t present;  // of the warp's rows of the item that the lane has the number of
  };

  const Key* keys;
  const uint32_t* present;  // [ceil(rows / 32)], a bit a row
  MovedWord words[kWords];
  int32_t number_word;  // which is the row's number, or -1

  // Of the thread's rows, in the tile.
  __device__ __forceinline__ static uint32_t row_of(int item) {
    return static_cast<uint32_t>(item * kPartThreads) + threadIdx.x;
  }
  __device__ static void start(uint32_t, Shared&) {}
  // Of rows beyond the last it is that one's, and words of a column of any width are told apart by
  // their step alone: where branches meet the compiler copies what they loaded, and waits for it.
  __device__ __forceinline__ void load(uint64_t first, uint32_t rows, Loaded& loaded) const {
    if (first >= rows) return;
    constexpr uint64_t kTile = uint64_t{kPartThreads} * kItems;
    auto const last = static_cast<uint32_t>(min(rows - first, kTile) - 1);
#pragma unroll
    for (int i = 0; i < kItems; ++i) {
      uint32_t const row = min(row_of(i), last);
      loaded.keys[i] = keys[first + row];
#pragma unroll
      for (int w = 0; w < kWords; ++w) {
        if (w == number_word) continue;
        const uint32_t* const from = words[w].from + first * words[w].step;
        loaded.words[i][w] = from[row * words[w].step];
      }
    }
    if constexpr (kNulls) {
      uint32_t const of_lane = threadIdx.x % 32 * kPartThreads + threadIdx.x / 32 * 32;
      loaded.present = present[(first + min(of_lane, last)) / 32];
    }
  }
  // Which rows have a key, as bits.
  __device__ __forceinline__ uint32_t finish(uint64_t first, uint32_t, const Shared&,
                                             Loaded& loaded,
                                             uint32_t (&moved)[kItems][kWords]) const {
    uint32_t are_present = kNulls ? 0 : ~0U;
#pragma unroll
    for (int i = 0; i < kItems; ++i) {
#pragma unroll
      for (int w = 0; w < kWords; ++w) {
        moved[i][w] =
            w == number_word ? static_cast<uint32_t>(first) + row_of(i) : loaded.words[i][w];
      }
      if constexpr (kNulls) {
        uint32_t const word = __shfl_sync(0xffffffffU, loaded.present, i);
        are_present |= (word >> threadIdx.x % 32 & 1) << i;
      }
    }
    return are_present;
  }
};

}  // namespace gpujoin::kernels
