// key_distances.cuh: how many bits the distances between keys of neighbouring rows have
//
// Source   ours; the rule is in src/plan/sample_rule.hpp
// In       pairs of keys, a thread one at a time
// Out      bits that most distances do not need more than
// Needs    Rule: kDistances, distance_bits(one, other)
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
  // Rule::usual_bits(counts), by all lanes of a warp, after a barrier behind the last pair: one
  // thread would walk the counters for 2 us.
  __device__ int32_t usual_bits() const {
    constexpr uint32_t kAll = 0xffffffffU;
    static_assert(Rule::kDistances == 65);
    uint32_t const lane = threadIdx.x % 32;
    uint32_t const low = counts_until(counts[lane]);
    uint32_t const of_low = __shfl_sync(kAll, low, 31);
    uint32_t const high = of_low + counts_until(counts[32 + lane]);
    uint32_t const all = __shfl_sync(kAll, high, 31) + counts[64];
    uint32_t const most = all - (all + 15) / 16;
    uint32_t const in_low = __ballot_sync(kAll, low > most);
    uint32_t const in_high = __ballot_sync(kAll, high > most);
    if (in_low != 0) return __ffs(static_cast<int>(in_low)) - 1;
    return in_high != 0 ? 31 + __ffs(static_cast<int>(in_high)) : 64;
  }

 private:
  // The sum of this lane's and all before it.
  __device__ static uint32_t counts_until(uint32_t count) {
#pragma unroll
    for (uint32_t step = 1; step < 32; step *= 2) {
      uint32_t const before = __shfl_up_sync(0xffffffffU, count, step);
      if (threadIdx.x % 32 >= step) count += before;
    }
    return count;
  }
};

}  // namespace gpujoin::kernels
