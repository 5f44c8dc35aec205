// key_hash.hpp: where a key goes: its partition and its bucket in the partition's table.
//
// Fibonacci hashing (Knuth, The Art of Computer Programming, volume 3, section 6.4): multiply by
// 2^w over the golden ratio and keep the high bits. Dense and strided keys then spread more evenly
// than random ones would, because the multiples of the golden ratio are the most evenly spread of
// all. The fold before it lets high key bits reach the low bits; it maps every range [0, 2^n) onto
// itself. Both steps are bijections of the key's width; a 4-byte key loses nothing, of an 8-byte
// key the upper half is kept.
//
// The highest bits of the hash are the partition, the next ones the bucket. Of another factor's
// product the highest bits are a second place for a key (cuckoo hashing, see partition_table.hpp).
#pragma once

#include <cstdint>

#include "src/plan/join_plan.hpp"

namespace gpujoin::cpu {

inline constexpr uint32_t kMostRadixBits = plan::kMostRadixBitsCpu;
inline constexpr uint32_t kMostBucketBits = 18;
static_assert(kMostRadixBits + kMostBucketBits <= 32, "bits of the hash");

inline uint32_t folded(uint32_t key) { return key ^ key >> 16; }
inline uint64_t folded(uint64_t key) { return key ^ key >> 32; }

// The factor nearest to 2^32 over the golden ratio whose own continued fraction over 2^32 has no
// quotient above 3. Rounding the golden ratio to 32 bits leaves larger ones, and millions of dense
// keys then crowd: of 2^24, spread over 2^25 buckets, 53 % shared theirs, with this one none does.
inline uint32_t hash_of(uint32_t key) { return folded(key) * 0x9E3A75A9u; }

inline uint32_t hash_of(uint64_t key) {
  return static_cast<uint32_t>((folded(key) * 0x9E3779B97F4A7C15u) >> 32);
}

// expected: 1 <= radix_bits <= kMostRadixBits.
inline uint32_t partition_of(uint32_t hash, uint32_t radix_bits) {
  return hash >> (32 - radix_bits);
}

// The `bucket_bits` bits after the partition's, as one shift and one mask.
struct BucketOf {
  uint32_t shift = 0;
  uint32_t mask = 0;
  BucketOf() = default;
  BucketOf(uint32_t radix_bits, uint32_t bucket_bits)
      : shift(32 - radix_bits - bucket_bits), mask((uint32_t{1} << bucket_bits) - 1) {}
  uint32_t operator()(uint32_t hash) const { return hash >> shift & mask; }
};

// The second place of a key among 2^bits. That of key 0 is 0, as the first one is.
inline uint32_t second_place_of(uint32_t key, uint32_t bits) {
  return folded(key) * 0x85EBCA6Bu >> (32 - bits);
}

inline uint32_t second_place_of(uint64_t key, uint32_t bits) {
  return static_cast<uint32_t>(folded(key) * 0xC2B2AE3D27D4EB4Fu >> (64 - bits));
}

}  // namespace gpujoin::cpu
