// here.cuh: numbers and addresses that the compiler works out where they are wanted, and no earlier
#pragma once

#include <cstdint>

namespace gpujoin::kernels {

// Keeps the compiler from working out addresses for every width ahead of the columns' loop, for
// which there are no registers.
__device__ __forceinline__ uint32_t here(uint32_t number) {
#ifdef __CUDACC__
  asm volatile("" : "+r"(number));
#endif
  return number;
}
// The same of an address: it would add a row's place to it before it scales both, four instructions
// for one.
template <typename Value>
__device__ __forceinline__ Value* here(Value* address) {
#ifdef __CUDACC__
  asm volatile("" : "+l"(address));
#endif
  return address;
}

}  // namespace gpujoin::kernels
