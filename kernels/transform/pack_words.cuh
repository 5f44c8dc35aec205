// pack_words.cuh: narrow columns of a tile, as words of 4 bytes
//
// Source   ours
// In       values [0, count) of columns of 1 and 2 bytes
// Out      the same in shared memory: column by column, one behind the other, then word by word
// Needs    a stage of 4 bytes a row, aligned to 16; all threads of the block
// Moves    the columns' widths a row
//
// A pass moves a word in the time of a column of 4 bytes, where four columns of 1 byte take four
// times that of one.
#pragma once

#include <cstdint>

#include "kernels/load_column.cuh"
#include "kernels/packed_words.hpp"

namespace gpujoin::kernels {

// Queues the copies of rows from `first` on; see load_column.
template <typename Shape>
__device__ __forceinline__ void load_parts(unsigned char* stage, const WordParts<const void>& parts,
                                           uint32_t first, uint32_t count) {
  // A column of a tile is so few vectors a thread that looking for more would take longer.
  constexpr int kOnes = (Shape::kItems + 15) / 16;
  constexpr int kTwos = (2 * Shape::kItems + 15) / 16;
#pragma unroll 1
  for (int32_t i = 0; i < parts.count; ++i) {
    if (parts.widths[i] == 1) {
      load_column<Shape::kThreads, kOnes>(
          stage, static_cast<const unsigned char*>(parts.columns[i]) + first, count);
      stage += Shape::kRows;
    } else {
      load_column<Shape::kThreads, kTwos>(reinterpret_cast<uint16_t*>(stage),
                                          static_cast<const uint16_t*>(parts.columns[i]) + first,
                                          count);
      stage += 2 * Shape::kRows;
    }
  }
}

// A byte of each of four neighbouring rows.
using BytePlane = uint32_t;

// Bytes 2 * half and 2 * half + 1 of the words of four rows, from the columns that have them: one
// of 2 bytes, or two of 1, of which the second may be missing.
template <uint32_t kRows>
__device__ __forceinline__ void load_half(const unsigned char* stage,
                                          const WordParts<const void>& parts, int32_t half,
                                          uint32_t four, BytePlane& low, BytePlane& high) {
  stage += 2 * half * kRows;
  int32_t const part = half == 0 ? 0 : parts.widths[0] == 2 ? 1 : 2;
  if (part >= parts.count) return;
  if (parts.widths[part] == 2) {
    uint2 const values = reinterpret_cast<const uint2*>(stage)[four];
    low = __byte_perm(values.x, values.y, 0x6420);
    high = __byte_perm(values.x, values.y, 0x7531);
    return;
  }
  low = reinterpret_cast<const uint32_t*>(stage)[four];
  if (part + 1 < parts.count) high = reinterpret_cast<const uint32_t*>(stage + kRows)[four];
}

// Of columns that are in the stage. Four neighbouring rows at a time: their bytes of a column are
// one read, and their words one write.
template <typename Shape>
__device__ __forceinline__ void pack_words(unsigned char* stage,
                                           const WordParts<const void>& parts) {
  constexpr uint32_t kFours = Shape::kRows / 4;
  constexpr int kOfThread = (kFours + Shape::kThreads - 1) / Shape::kThreads;
  uint4 words[kOfThread];
#pragma unroll
  for (int n = 0; n < kOfThread; ++n) {
    uint32_t const four = n * Shape::kThreads + threadIdx.x;
    if (four >= kFours) break;
    BytePlane planes[4] = {};
    load_half<Shape::kRows>(stage, parts, 0, four, planes[0], planes[1]);
    load_half<Shape::kRows>(stage, parts, 1, four, planes[2], planes[3]);
    uint32_t const first_low = __byte_perm(planes[0], planes[1], 0x5140);  // of rows 0 and 1
    uint32_t const last_low = __byte_perm(planes[0], planes[1], 0x7362);
    uint32_t const first_high = __byte_perm(planes[2], planes[3], 0x5140);
    uint32_t const last_high = __byte_perm(planes[2], planes[3], 0x7362);
    words[n] = {__byte_perm(first_low, first_high, 0x5410),
                __byte_perm(first_low, first_high, 0x7632),
                __byte_perm(last_low, last_high, 0x5410), __byte_perm(last_low, last_high, 0x7632)};
  }
  __syncthreads();
#pragma unroll
  for (int n = 0; n < kOfThread; ++n) {
    uint32_t const four = n * Shape::kThreads + threadIdx.x;
    if (four < kFours) reinterpret_cast<uint4*>(stage)[four] = words[n];
  }
  __syncthreads();
}

}  // namespace gpujoin::kernels
