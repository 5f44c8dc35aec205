// addend.cuh: sums of several words, in a thread and in memory
//
// Source   ours
// In       words of 64 bits, lowest first, in two's complement
// Out      their sum, modulo 2 to all its bits; in memory a carry goes from word to word, each
//          added atomically: whichever comes first, the total is the same
// Moves    in memory an atomic a word that is not 0
#pragma once

#include <cstdint>

namespace gpujoin::kernels {

// What a row, or rows of one group together, add to a state.
template <int kWords>
struct Addend {
  uint64_t words[kWords];
};

template <int kWords>
__device__ __forceinline__ void add_to(Addend<kWords>& sum, const Addend<kWords>& value) {
  uint64_t carry = 0;
#pragma unroll
  for (int i = 0; i < kWords; ++i) {
    uint64_t const with_carry = value.words[i] + carry;
    carry = carry != 0 && with_carry == 0 ? 1 : 0;
    sum.words[i] += with_carry;
    carry |= static_cast<uint64_t>(sum.words[i] < with_carry);
  }
}

__device__ __forceinline__ unsigned long long* as_atomic(uint64_t* word) {
  return reinterpret_cast<unsigned long long*>(word);
}

template <int kWords>
__device__ __forceinline__ void add_words(uint64_t* sum, const Addend<kWords>& value) {
  uint64_t carry = 0;
#pragma unroll
  for (int i = 0; i < kWords; ++i) {
    uint64_t const with_carry = value.words[i] + carry;
    carry = carry != 0 && with_carry == 0 ? 1 : 0;
    if (with_carry == 0) continue;
    uint64_t const before = atomicAdd(as_atomic(&sum[i]), with_carry);
    carry |= static_cast<uint64_t>(before + with_carry < before);
  }
}

template <int kWords>
__device__ __forceinline__ Addend<kWords> shuffled_down(const Addend<kWords>& value, int lanes) {
  Addend<kWords> other;
#pragma unroll
  for (int i = 0; i < kWords; ++i) {
    other.words[i] = __shfl_down_sync(0xffffffffU, value.words[i], lanes);
  }
  return other;
}

}  // namespace gpujoin::kernels
