// key_distances.cuh: how many bits the distances between keys of neighbouring rows have
//
// Source   ours; the rule is in src/plan/sample_rule.hpp
// In       pairs of keys, a thread one at a time
// Out      bits that most distances do not need more than
// Needs    Rule: kDistances, distance_bits(one, other), usual_bits(counts)
// Shared   a counter for each number of bits, an atomic add a warp and number
#pragma once

#include <cstdint>
#include <type_traits>

namespace gpujoin::kernels {

// Of a block.
template <typename Rule>
struct KeyDistances {
  uint32_t counts[Rule::kDistances];

  // All threads, and a barrier before the first pair.
  __device__ void start() {
    if (threadIdx.x < Rule::kDistances) counts[threadIdx.x] = 0;
  }
  // All lanes of a warp: those of sorted keys have one counter, and add to it once.
  template <typename Key>
  __device__ __forceinline__ void add(Key one, Key other, bool is_there) {
    using Signed = std::make_signed_t<Key>;
    int32_t const bits =
        is_there ? Rule::distance_bits(static_cast<Signed>(one), static_cast<Signed>(other)) : -1;
    uint32_t const same = __match_any_sync(0xffffffffU, bits);
    bool const is_first = __ffs(static_cast<int>(same)) - 1 == static_cast<int>(threadIdx.x % 32);
    if (is_there && is_first) atomicAdd(&counts[bits], static_cast<uint32_t>(__popc(same)));
  }
  // After a barrier behind the last pair.
  __device__ int32_t usual_bits() const { return Rule::usual_bits(counts); }
};

}  // namespace gpujoin::kernels
