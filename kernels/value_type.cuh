// value_type.cuh: from a column's width to the type that kernels move.
#pragma once

#include <cstdint>

namespace gpujoin::kernels {

// A value of 16 bytes, of which the caller promises alignment to 8 only.
struct Wide {
  uint64_t low;
  uint64_t high;
};

// Calls a function of a value of the type: 1, 2, 4, 8 or 16 bytes. The function says whether that
// is on the host or on the device.
#pragma nv_exec_check_disable
template <typename Function>
__host__ __device__ __forceinline__ auto with_value_type(int32_t width, Function function) {
  switch (width) {
    case 1:
      return function(uint8_t{});
    case 2:
      return function(uint16_t{});
    case 4:
      return function(uint32_t{});
    case 8:
      return function(uint64_t{});
    default:
      return function(Wide{});
  }
}

// The same where the width may be known when the kernel is compiled: kWidth is 4, 8, or 0 for any.
template <int kWidth, typename Function>
__device__ __forceinline__ void with_width(int32_t width, Function function) {
  if constexpr (kWidth == 4) {
    function(uint32_t{});
  } else if constexpr (kWidth == 8) {
    function(uint64_t{});
  } else {
    with_value_type(width, function);
  }
}

}  // namespace gpujoin::kernels
