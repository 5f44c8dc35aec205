// whole_value.cuh: columns of 16 bytes a value by one access each, where their addresses allow
//
// Source   ours
// In       a column's width, and where it comes from and goes to
// Out      a function is called with a value of the type that moves: of 16 bytes uint4 where both
//          addresses are multiples of 16, as they are but of columns of callers, who promise 8;
//          else Wide
// Moves    nothing. Two accesses of 8 bytes ask for a sector twice; and values of 16 bytes that lie
//          side by side for each lane, written in halves, are four times the sectors for L2
#pragma once

#include <cstdint>
#include <type_traits>

#include "kernels/value_type.cuh"

namespace gpujoin::kernels {

// Whether a value is one access.
template <typename Value>
constexpr bool kIsWhole = !std::is_same_v<Value, Wide>;

__device__ __forceinline__ bool lie_at_16(const void* from, const void* to) {
  auto const both = reinterpret_cast<uintptr_t>(from) | reinterpret_cast<uintptr_t>(to);
  return (both & (sizeof(uint4) - 1)) == 0;
}

// kWidth: as of with_width. Values of other widths are not asked where they lie.
template <int kWidth, typename Function>
__device__ __forceinline__ void with_whole_value(int32_t width, const void* from, const void* to,
                                                 Function function) {
  with_width<kWidth>(width, [&](auto zero) {
    if constexpr (kIsWhole<decltype(zero)>) {
      function(zero);
    } else if (lie_at_16(from, to)) {
      function(uint4{});
    } else {
      function(zero);
    }
  });
}

}  // namespace gpujoin::kernels
