// stand_in.cuh: a value that stands for NULL while a column is on its way
#pragma once

#include <cstdint>

#include "kernels/value_type.cuh"

namespace gpujoin::kernels {

// What moving a column with such a value tells of it.
enum StandInSeen : uint32_t { kStandInIsTaken = 1, kHasNulls = 2 };

// The word that tells values apart from it.
__host__ __device__ __forceinline__ uint32_t low_word(uint32_t value) { return value; }
__host__ __device__ __forceinline__ uint64_t low_word(uint64_t value) { return value; }
__host__ __device__ __forceinline__ uint64_t low_word(Wide value) { return value.low; }

template <typename Value>
__device__ __forceinline__ bool is_stand_in(Value value, uint64_t stand_in) {
  return low_word(value) == static_cast<decltype(low_word(value))>(stand_in);
}

template <typename Value>
__device__ __forceinline__ Value stand_in_of(uint64_t low) {
  if constexpr (sizeof(Value) == sizeof(Wide)) {
    return {low, 0};
  } else {
    return static_cast<Value>(low);
  }
}

// Values that are loaded at once.
template <typename Value>
struct alignas(16) ValueVector {
  static constexpr int kPer = 16 / sizeof(Value);
  Value values[kPer];
};

// Calls a function of a value of the width, 4, 8 or 16, as with_value_type does.
#pragma nv_exec_check_disable
template <typename Function>
__host__ __device__ __forceinline__ void with_stand_in_type(int32_t width, Function function) {
  if (width == 4) return function(uint32_t{});
  if (width == 8) return function(uint64_t{});
  function(Wide{});
}

// All lanes of a warp. Most find what others have noted, and add nothing: one address takes one
// atomic at a time.
__device__ __forceinline__ void note_seen(uint32_t seen, uint32_t* all) {
  seen = __reduce_or_sync(0xffffffffU, seen);
  if (threadIdx.x % 32 == 0 && (__ldcg(all) & seen) != seen) atomicOr(all, seen);
}

}  // namespace gpujoin::kernels
