// packed_columns.cuh: rows of a tile on their way to parts, of which columns of 1 and 2 bytes are
// packed to words
//
// Source   ours; words as pack_words.cuh makes them, here in registers
// In       keys[rows], columns of 1, 2, 4 and 8 bytes or row numbers; bits of rows that have a key
// Out      a thread's rows of a tile, four side by side
// Needs    load() a tile ahead of finish(); keys aligned to 16 bytes, columns to 4
// Moves    |Key| and the columns' widths a row
// Shared   the last rows where they are fewer than four
//
// Four rows of a column of 1 byte are a word, and of any other as many as it has bytes. So each of
// a row's words takes four loads of four rows, whatever it is made of, and permutes of bytes make
// the words of the four of them: no branch tells columns apart.
#pragma once

#include <cstdint>

#include "kernels/match/place_parts.hpp"
#include "kernels/transform/part_rows.cuh"

namespace gpujoin::kernels {

constexpr uint32_t kPackedRows = 4;  // of a thread, side by side

// Four bytes of each four rows: from + four * step.
struct BytePlane {
  const unsigned char* from;
  uint32_t step;
  uint16_t row;    // of the four, whose the first byte is
  uint16_t width;  // so many bytes are a row's
};
// Of four rows a word each, from four planes by permutes: of the first two and of the last two, of
// which the first result is rows 0 and 1 and the second one rows 2 and 3.
struct PackedWord {
  BytePlane planes[kPackedRows];
  uint32_t first_select[2];
  uint32_t last_select[2];
  uint32_t word_select[2];
};

// kNulls: part_columns.cuh.
template <typename KeyType, int kMovedWords, bool kNulls>
struct PackedColumns {
  using Key = KeyType;
  static constexpr int kWords = kMovedWords;
  static constexpr bool kHasNulls = kNulls;
  static constexpr int kItems = kPackedRows;
  static_assert(kItems == part_items(kWords));
  struct Shared {
    Key keys[kItems];
    uint32_t planes[kWords][kPackedRows];
  };
  struct Loaded {
    Key keys[kItems];
    uint32_t planes[kWords][kPackedRows];
    uint32_t present;
  };

  const Key* keys;
  const uint32_t* present;  // [ceil(rows / 32)], a bit a row
  PackedWord words[kWords];
  int32_t number_word;  // which is the row's number, or -1

  __device__ __forceinline__ static uint32_t row_of(int item) {
    return kPackedRows * threadIdx.x + static_cast<uint32_t>(item);
  }
  // The last rows, byte by byte: words of four of them would end behind their column.
  __device__ void start(uint32_t rows, Shared& last) const {
    uint32_t const four = rows / kPackedRows;
    uint32_t const left = rows % kPackedRows;
    if (threadIdx.x < left) last.keys[threadIdx.x] = keys[kPackedRows * four + threadIdx.x];
    if (threadIdx.x != 0 || left == 0) return;
#pragma unroll
    for (int w = 0; w < kWords; ++w) {
#pragma unroll
      for (int p = 0; p < kItems; ++p) {
        BytePlane const& plane = words[w].planes[p];
        uint32_t value = 0;
        for (uint32_t byte = 0; byte < sizeof(uint32_t); ++byte) {
          if (plane.row + byte / plane.width >= left) continue;
          value |= uint32_t{plane.from[uint64_t{four} * plane.step + byte]} << 8 * byte;
        }
        last.planes[w][p] = value;
      }
    }
  }
  __device__ __forceinline__ void load(uint64_t first, uint32_t rows, Loaded& loaded) const {
    uint32_t const fours = rows / kPackedRows;
    if constexpr (kNulls) {
      loaded.present = present[min(first + row_of(0), uint64_t{rows} - 1) / 32];
    }
    if (first >= uint64_t{kPackedRows} * fours) return;
    uint32_t const four = min(static_cast<uint32_t>(first) / kPackedRows + threadIdx.x, fours - 1);
    load_side_by_side(keys, uint64_t{kPackedRows} * four, loaded.keys);
#pragma unroll
    for (int w = 0; w < kWords; ++w) {
#pragma unroll
      for (int p = 0; p < kItems; ++p) {
        BytePlane const& plane = words[w].planes[p];
        loaded.planes[w][p] =
            *reinterpret_cast<const uint32_t*>(plane.from + uint64_t{four} * plane.step);
      }
    }
  }
  // Which rows have a key, as bits.
  __device__ __forceinline__ uint32_t finish(uint64_t first, uint32_t rows, const Shared& last,
                                             Loaded& loaded,
                                             uint32_t (&moved)[kItems][kWords]) const {
    uint64_t const row = first + row_of(0);
    if (row < rows && rows - row < kPackedRows) {
#pragma unroll
      for (int i = 0; i < kItems; ++i) {
        loaded.keys[i] = last.keys[i];
#pragma unroll
        for (int w = 0; w < kWords; ++w) loaded.planes[w][i] = last.planes[w][i];
      }
    }
#pragma unroll
    for (int w = 0; w < kWords; ++w) {
      PackedWord const& word = words[w];
      const uint32_t(&planes)[kItems] = loaded.planes[w];
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        uint32_t const low = __byte_perm(planes[0], planes[1], word.first_select[half]);
        uint32_t const high = __byte_perm(planes[2], planes[3], word.last_select[half]);
#pragma unroll
        for (int i = 0; i < 2; ++i) {
          moved[2 * half + i][w] = w == number_word ? static_cast<uint32_t>(row) + 2 * half + i
                                                    : __byte_perm(low, high, word.word_select[i]);
        }
      }
    }
    return kNulls ? loaded.present >> static_cast<uint32_t>(row) % 32 : ~0U;
  }
};

}  // namespace gpujoin::kernels
