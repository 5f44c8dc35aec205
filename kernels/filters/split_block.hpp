// split_block.hpp: a split block Bloom filter, as host and device both see it
//
// Source   Apache Parquet format, "Parquet Bloom Filter" (BloomFilter.md); Putze et al. 2007,
//          "Cache-, Hash- and Space-Efficient Bloom Filters", for the blocks; the arithmetic is
//          Parquet's, so that its readers can test rows with our filters
// In       blocks of 8 words of 32 bits, [blocks][8]; a hash of 64 bits
// Out      the hash's block: its upper half times the number of blocks, over 2^32; the bit of word
//          i: the upper 5 bits of its lower half times kSalts[i]
#pragma once

#include <cstdint>

#ifdef __CUDACC__
#define GPUJOIN_BLOCK __host__ __device__ inline
#else
#define GPUJOIN_BLOCK inline
#endif

namespace gpujoin::kernels {

constexpr int kWordsOfBlock = 8;
constexpr uint64_t kBytesOfBlock = 4 * kWordsOfBlock;

constexpr uint32_t kSalt0 = 0x47b6137b;
constexpr uint32_t kSalt1 = 0x44974d91;
constexpr uint32_t kSalt2 = 0x8824ad5b;
constexpr uint32_t kSalt3 = 0xa2b7289d;
constexpr uint32_t kSalt4 = 0x705495c7;
constexpr uint32_t kSalt5 = 0x2df1424b;
constexpr uint32_t kSalt6 = 0x9efc4947;
constexpr uint32_t kSalt7 = 0x5c6bfb31;

// expected: 0 < blocks < 2^32.
GPUJOIN_BLOCK uint64_t block_of(uint64_t hash, uint64_t blocks) {
  return (hash >> 32) * blocks >> 32;
}
GPUJOIN_BLOCK uint32_t bit_of(uint32_t lower, uint32_t salt) { return 1U << (lower * salt >> 27); }

}  // namespace gpujoin::kernels

#undef GPUJOIN_BLOCK
