// unpack_words.cuh: columns of 1 and 2 bytes out of the words that they travelled in
//
// Source   ours
// In       words[rows], aligned to 16 bytes
// Out      parts.columns[rows], each aligned to 8 bytes
// Launch   ceil(rows / kStreamTile) x words blocks of kStreamThreads
// Moves    4 + the columns' widths a row and word (traffic::unpack_words)
#pragma once

#include <cstdint>

#include "kernels/packed_words.hpp"
#include "kernels/tuning.hpp"

namespace gpujoin::kernels {

struct UnpackedWords {
  const uint32_t* words;
  WordParts<void> parts;
};
constexpr int kUnpackedWords = 16;  // of one launch
struct WordsToUnpack {
  uint64_t rows;
  UnpackedWords words[kUnpackedWords];
};

__global__ void __launch_bounds__(kStreamThreads)
    unpack_words_kernel(const __grid_constant__ WordsToUnpack args) {
  constexpr int kFours = kStreamTile / 4 / kStreamThreads;
  UnpackedWords const& unpacked = args.words[blockIdx.y];
  uint64_t const first = uint64_t{blockIdx.x} * kStreamTile / 4 + threadIdx.x;
#pragma unroll
  for (int n = 0; n < kFours; ++n) {
    uint64_t const four = first + uint64_t{kStreamThreads} * n;
    if (4 * four >= args.rows) return;
    uint32_t shift = 0;
    if (4 * four + 4 <= args.rows) {
      uint4 const words = reinterpret_cast<const uint4*>(unpacked.words)[four];
      for (int32_t i = 0; i < unpacked.parts.count; ++i) {
        if (unpacked.parts.widths[i] == 1) {
          uint32_t const select = shift / 8 * 0x11 + 0x40;
          uint32_t const low = __byte_perm(words.x, words.y, select);
          uint32_t const high = __byte_perm(words.z, words.w, select);
          static_cast<uint32_t*>(unpacked.parts.columns[i])[four] = __byte_perm(low, high, 0x5410);
        } else {
          uint32_t const select = shift / 8 * 0x1111 + 0x5410;
          static_cast<uint2*>(unpacked.parts.columns[i])[four] = {
              __byte_perm(words.x, words.y, select), __byte_perm(words.z, words.w, select)};
        }
        shift += 8 * static_cast<uint32_t>(unpacked.parts.widths[i]);
      }
      continue;
    }
    for (int32_t i = 0; i < unpacked.parts.count; ++i) {
      for (uint64_t row = 4 * four; row < args.rows; ++row) {
        uint32_t const value = unpacked.words[row] >> shift;
        if (unpacked.parts.widths[i] == 1) {
          static_cast<uint8_t*>(unpacked.parts.columns[i])[row] = static_cast<uint8_t>(value);
        } else {
          static_cast<uint16_t*>(unpacked.parts.columns[i])[row] = static_cast<uint16_t>(value);
        }
      }
      shift += 8 * static_cast<uint32_t>(unpacked.parts.widths[i]);
    }
  }
}

}  // namespace gpujoin::kernels
