// xxh64.hpp: XXH64 with the seed 0, as host and device both see it
//
// Source   Collet, "xxHash fast digest algorithm", specification 0.1.1 (XXH64); what Bloom filters
//          of Apache Parquet hash values by
// In       8 bytes, as a word whose lowest byte is the first, or any number of bytes
// Out      64 bits
// Costs    of 8 bytes five multiplications
#pragma once

#include <cstdint>
#include <cstring>

#ifdef __CUDACC__
#define GPUJOIN_XXH __host__ __device__ inline
#else
#define GPUJOIN_XXH inline
#endif

namespace gpujoin::kernels {

constexpr uint64_t kXxhPrime1 = 0x9E3779B185EBCA87;
constexpr uint64_t kXxhPrime2 = 0xC2B2AE3D27D4EB4F;
constexpr uint64_t kXxhPrime3 = 0x165667B19E3779F9;
constexpr uint64_t kXxhPrime4 = 0x85EBCA77C2B2AE63;
constexpr uint64_t kXxhPrime5 = 0x27D4EB2F165667C5;

GPUJOIN_XXH uint64_t xxh_rotated(uint64_t word, int bits) {
  return word << bits | word >> (64 - bits);
}
GPUJOIN_XXH uint64_t xxh_round(uint64_t lane, uint64_t word) {
  return xxh_rotated(lane + word * kXxhPrime2, 31) * kXxhPrime1;
}
GPUJOIN_XXH uint64_t xxh_with_word(uint64_t hash, uint64_t word) {
  return xxh_rotated(hash ^ xxh_round(0, word), 27) * kXxhPrime1 + kXxhPrime4;
}
GPUJOIN_XXH uint64_t xxh_finished(uint64_t hash) {
  hash = (hash ^ hash >> 33) * kXxhPrime2;
  hash = (hash ^ hash >> 29) * kXxhPrime3;
  return hash ^ hash >> 32;
}

// Of the 8 bytes of a word.
GPUJOIN_XXH uint64_t xxh64(uint64_t word) {
  return xxh_finished(xxh_with_word(kXxhPrime5 + 8, word));
}

inline uint64_t xxh64(const void* data, uint64_t bytes) {
  auto const* at = static_cast<const unsigned char*>(data);
  auto const word_at = [](const unsigned char* from) {
    uint64_t word;
    std::memcpy(&word, from, sizeof(word));
    return word;
  };
  uint64_t left = bytes;
  uint64_t hash = kXxhPrime5;
  if (left >= 32) {
    uint64_t lanes[4] = {kXxhPrime1 + kXxhPrime2, kXxhPrime2, 0, 0 - kXxhPrime1};
    for (; left >= 32; left -= 32) {
      for (uint64_t& lane : lanes) {
        lane = xxh_round(lane, word_at(at));
        at += 8;
      }
    }
    hash = xxh_rotated(lanes[0], 1) + xxh_rotated(lanes[1], 7) + xxh_rotated(lanes[2], 12) +
           xxh_rotated(lanes[3], 18);
    for (uint64_t const lane : lanes) {
      hash = (hash ^ xxh_round(0, lane)) * kXxhPrime1 + kXxhPrime4;
    }
  }
  hash += bytes;
  for (; left >= 8; left -= 8) {
    hash = xxh_with_word(hash, word_at(at));
    at += 8;
  }
  if (left >= 4) {
    uint32_t half;
    std::memcpy(&half, at, sizeof(half));
    hash = xxh_rotated(hash ^ half * kXxhPrime1, 23) * kXxhPrime2 + kXxhPrime3;
    at += 4;
    left -= 4;
  }
  for (; left > 0; --left) hash = xxh_rotated(hash ^ *at++ * kXxhPrime5, 11) * kXxhPrime1;
  return xxh_finished(hash);
}

}  // namespace gpujoin::kernels

#undef GPUJOIN_XXH
