// here.cuh: numbers and addresses that the compiler works out where they are wanted, and no earlier
#pragma once

#include <cstdint>

namespace gpujoin::kernels {

// Keeps the compiler from working out addresses for every width ahead of the columns' loop, for
// which there are no registers.
__device__ __forceinline__ uint32_t here(uint32_t number) {
  asm volatile("" : "+r"(number));
  return number;
}
// The same of an address: it would add a row's place to it before it scales both, four instructions
// for one.
template <typename Value>
__device__ __forceinline__ Value* here(Value* address) {
  asm volatile("" : "+l"(address));
  return address;
}

}  // namespace gpujoin::kernels
