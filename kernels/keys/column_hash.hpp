// column_hash.hpp: a hash of several key columns that nobody can aim at who does not know its seed,
// as host and device both see it
//
// Source   MULTILINEAR (Lemire & Kaser 2014, "Strongly universal string hashing is fast"): words of
//          64 bits, factors of 128
// In       columns of 4 or 8 bytes, as unsigned words
// Out      64 bits: the upper half of start + factor * word + factor * word + ..., modulo 2^128
// Why      keys are the caller's, and may be chosen to share a hash: of a chain mix(mix(a) ^ b)
//          with a known mix, all keys (a, mix(a)) do, and 2^14 rows of them match like one key.
//          Here two keys that differ, differ in some column by 2^t times an odd number, t < 64. Its
//          factor is any number with equal chance, so the two sums differ by a multiple of 2^t that
//          is any with equal chance, whatever the other columns hold; and the first of them is any,
//          for the start is. Their upper halves then are any two words with equal chance. So two
//          keys that were chosen without the seed share their hash with a chance of 2^-64, and n
//          bits of it with 2^-n, before a bijection as after it; of 2^32 keys less than one pair
//          does. That holds for whatever columns, and leaves an attacker nothing to choose.
// Costs    a multiplication of 128 by 32 or 64 bits a column
//
// Dense keys are an arithmetic progression of hashes: who takes bits of one mixes it first.
#pragma once

#include <cstdint>

#ifdef __CUDACC__
#define GPUJOIN_HASH __host__ __device__ constexpr
#else
#define GPUJOIN_HASH constexpr
#endif

namespace gpujoin::kernels {

// Columns that a key may have at most.
constexpr int kMostKeyColumns = 16;

__extension__ typedef unsigned __int128 HashSum;

struct ColumnHash {
  HashSum start;
  HashSum factors[kMostKeyColumns];
  // Bits that every hash has set: none, but in tests, whose keys then share their hashes.
  uint64_t ones;

  template <typename Value>
  GPUJOIN_HASH void add(HashSum* sum, int column, Value value) const {
    *sum += factors[column] * value;
  }
  GPUJOIN_HASH uint64_t of(HashSum sum) const { return static_cast<uint64_t>(sum >> 64); }
};

}  // namespace gpujoin::kernels

#undef GPUJOIN_HASH
