// device_words.hpp: what nvcc gives to a kernel, for the host's compiler, which reads it before all
// else. Only what the kernels that are emulated use.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <type_traits>
#include <utility>

#define __device__
#define __host__
#define __global__
#define __shared__  // `extern` memory of the block: kernels::dynamic_shared
#define __forceinline__ inline
#define __noinline__
#define __launch_bounds__(...)
#define __grid_constant__
#define __align__(bytes) __attribute__((aligned(bytes)))

struct alignas(8) uint2 {
  uint32_t x, y;
};
struct alignas(16) uint4 {
  uint32_t x, y, z, w;
};

namespace gpujoin_test {

enum class Collective { kBallot, kAny, kShuffle, kShuffleUp, kMatch, kSum, kSync };

// Of the thread that runs: emulated_block.cpp.
struct EmulatedIndex {
  unsigned x = 0;
};
void wait_for_block();
// Until all lanes of the mask have come to the same.
uint64_t wait_for_lanes(Collective collective, uint32_t lanes, uint64_t value, int parameter = 0);
void let_others_run();

template <typename Value>
uint64_t bits_of(Value value) {
  uint64_t bits = 0;
  memcpy(&bits, &value, sizeof(value));
  return bits;
}
template <typename Value>
Value value_of(uint64_t bits) {
  Value value;
  memcpy(&value, &bits, sizeof(value));
  return value;
}

}  // namespace gpujoin_test

extern gpujoin_test::EmulatedIndex threadIdx;
extern gpujoin_test::EmulatedIndex blockIdx;
extern gpujoin_test::EmulatedIndex gridDim;

inline uint32_t __ballot_sync(uint32_t lanes, bool value) {
  using namespace gpujoin_test;
  return static_cast<uint32_t>(wait_for_lanes(Collective::kBallot, lanes, value ? 1 : 0));
}
inline bool __any_sync(uint32_t lanes, bool value) {
  using namespace gpujoin_test;
  return wait_for_lanes(Collective::kAny, lanes, value ? 1 : 0) != 0;
}
template <typename Value>
Value __shfl_sync(uint32_t lanes, Value value, int from) {
  using namespace gpujoin_test;
  return value_of<Value>(wait_for_lanes(Collective::kShuffle, lanes, bits_of(value), from & 31));
}
template <typename Value>
Value __shfl_up_sync(uint32_t lanes, Value value, int below) {
  using namespace gpujoin_test;
  return value_of<Value>(wait_for_lanes(Collective::kShuffleUp, lanes, bits_of(value), below));
}
template <typename Value>
uint32_t __match_any_sync(uint32_t lanes, Value value) {
  using namespace gpujoin_test;
  return static_cast<uint32_t>(wait_for_lanes(Collective::kMatch, lanes, bits_of(value)));
}
inline uint32_t __reduce_add_sync(uint32_t lanes, uint32_t value) {
  using namespace gpujoin_test;
  return static_cast<uint32_t>(wait_for_lanes(Collective::kSum, lanes, value));
}
inline void __syncwarp() {
  gpujoin_test::wait_for_lanes(gpujoin_test::Collective::kSync, 0xffffffffU, 0);
}
inline void __nanosleep(unsigned) { gpujoin_test::let_others_run(); }

inline int __popc(uint32_t value) { return std::popcount(value); }
inline int __ffs(int value) { return __builtin_ffs(value); }
inline int __clz(int value) { return std::countl_zero(static_cast<uint32_t>(value)); }
// As far from the quotient as a device may be, on either side.
inline float __fdividef(float a, float b) {
  static int turn = 0;
  turn = (turn + 1) % 3;
  return a / b * (1.0F + static_cast<float>(turn - 1) * 1.2e-7F);
}

template <typename Value>
Value __ldcs(const Value* source) {
  return *source;
}
template <typename Value>
void __stcs(Value* target, Value value) {
  *target = value;
}
// Vectors have to be aligned on a device.
template <typename Value>
void __stwb(Value* target, Value value) {
  if (reinterpret_cast<uintptr_t>(target) % sizeof(Value) != 0) std::abort();
  *target = value;
}

// One thread runs at a time, until it waits.
template <typename Value, typename Operand>
Value atomicAdd(Value* target, Operand value) {
  return std::exchange(*target, static_cast<Value>(*target + value));
}
template <typename Value, typename Operand>
Value atomicOr(Value* target, Operand value) {
  return std::exchange(*target, *target | value);
}
template <typename Value, typename Operand>
Value atomicMax(Value* target, Operand value) {
  return std::exchange(*target, std::max<Value>(*target, value));
}
template <typename Value, typename Operand>
Value atomicExch(Value* target, Operand value) {
  return std::exchange(*target, static_cast<Value>(value));
}

template <typename A, typename B>
constexpr std::common_type_t<A, B> min(A a, B b) {
  return std::min<std::common_type_t<A, B>>(a, b);
}
template <typename A, typename B>
constexpr std::common_type_t<A, B> max(A a, B b) {
  return std::max<std::common_type_t<A, B>>(a, b);
}
