// mix_key.cuh: a bijection on keys that spreads any key set over all bits
//
// Source   multiply-xorshift finalizers (Murmur3, Stafford); the constants are odd, so each step
//          has an inverse
// Why      radix partitions take digits of the mixed key: strided or clustered keys fill all
//          partitions alike. A bijection needs no verification afterwards: mixed keys are equal
//          exactly when the keys are, and the output recovers the key.
#pragma once

#include <cstdint>

#include "kernels/transform/odd_inverse.hpp"

namespace gpujoin::kernels {

template <typename Key>
struct MixConstants;
template <>
struct MixConstants<uint32_t> {
  static constexpr uint32_t kFirst = 0x85ebca6bU;
  static constexpr uint32_t kSecond = 0xc2b2ae35U;
};
template <>
struct MixConstants<uint64_t> {
  static constexpr uint64_t kFirst = 0xff51afd7ed558ccdULL;
  static constexpr uint64_t kSecond = 0xc4ceb9fe1a85ec53ULL;
};

template <typename Key>
__host__ __device__ constexpr Key mix_key(Key key) {
  constexpr int kHalf = sizeof(Key) * 4;  // a shift by half the width is its own inverse
  key ^= key >> kHalf;
  key *= MixConstants<Key>::kFirst;
  key ^= key >> kHalf;
  key *= MixConstants<Key>::kSecond;
  key ^= key >> kHalf;
  return key;
}

template <typename Key>
__host__ __device__ constexpr Key unmix_key(Key key) {
  constexpr int kHalf = sizeof(Key) * 4;
  constexpr Key kFirstInverse = inverse_of(MixConstants<Key>::kFirst);
  constexpr Key kSecondInverse = inverse_of(MixConstants<Key>::kSecond);
  key ^= key >> kHalf;
  key *= kSecondInverse;
  key ^= key >> kHalf;
  key *= kFirstInverse;
  key ^= key >> kHalf;
  return key;
}

static_assert(unmix_key(mix_key(uint32_t{0x12345678})) == 0x12345678U);
static_assert(unmix_key(mix_key(uint64_t{0x123456789abcdef0})) == 0x123456789abcdef0ULL);

}  // namespace gpujoin::kernels
