// marked_bit.cuh: whether a bit is set already that many threads would set
//
// Source   ours
// In       a word that bits of are set, and none is cleared, while it is asked
// Out      true: it is set; false: it may have been set since
// Moves    a sector of L2, or none where L1 has it: one address takes 0.6e9 atomics a second
#pragma once

#include <cstdint>

namespace gpujoin::kernels {

// What L1 holds of the bits may be old, but only bits that were set since are missing from it.
__device__ __forceinline__ bool is_marked(const uint32_t* word, uint32_t bit) {
  return (*word & bit) != 0 || (__ldcg(word) & bit) != 0;
}

}  // namespace gpujoin::kernels
