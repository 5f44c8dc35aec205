// seen_repeats.hpp: what a glance at both sides' keys tells, as host and device both see it
#pragma once

#include <cstdint>

namespace gpujoin::kernels {

constexpr uint32_t kSeeThreads = 1024;
constexpr uint32_t kSeeBlocks = 64;  // for each side

// Of all blocks together, all 0 at the start, and again at the end.
struct SeeState {
  uint32_t repeats[2];  // rows whose key another one of their block has, of build and probe
  uint32_t descends;    // not 0: a row drawn has a lower key than one before it, or none is known
  uint32_t finished;    // blocks
};

// One word, which the host sees at once or not at all, and which is never 0.
struct RepeatsAnswer {
  unsigned long long word;

#ifdef __CUDACC__
  __host__ __device__
#endif
      static constexpr RepeatsAnswer
      of(uint32_t build, uint32_t probe, bool in_order) {
    return {1ULL | static_cast<unsigned long long>(build) << 1 |
            static_cast<unsigned long long>(probe) << 32 |
            static_cast<unsigned long long>(in_order) << 63};
  }
  constexpr uint32_t build() const { return static_cast<uint32_t>(word) >> 1; }
  constexpr uint32_t probe() const { return static_cast<uint32_t>(word >> 32) & 0x7fffffffU; }
  constexpr bool in_order() const { return word >> 63 != 0; }
};
static_assert(RepeatsAnswer::of(kSeeThreads * kSeeBlocks, 7, true).build() ==
              kSeeThreads * kSeeBlocks);
static_assert(RepeatsAnswer::of(7, kSeeThreads* kSeeBlocks, true).probe() ==
              kSeeThreads * kSeeBlocks);

}  // namespace gpujoin::kernels
