// varying_bits.cuh: which key bits differ anywhere, so that a sort visits no others
//
// Source   bit extraction of keys as in GQE's perfect join, reduced here to or and and
// In       keys[rows]  Key
// Out      bits[0] |= every key, bits[1] &= every key   (uint64, zero-extended; the caller starts
//          them at 0 and ~0)
// Launch   a grid that fills the device, kStreamThreads each
// Moves    rows * |Key| read
#pragma once

#include <cstdint>

#include "kernels/tuning.hpp"

namespace gpujoin::kernels {

template <typename Key>
__global__ void __launch_bounds__(kStreamThreads)
    varying_bits_kernel(const Key* __restrict__ keys, uint32_t rows, unsigned long long* bits) {
  Key any = 0;
  Key all = static_cast<Key>(~Key{0});
  uint64_t const stride = uint64_t{gridDim.x} * kStreamTile;
  for (uint64_t tile = uint64_t{blockIdx.x} * kStreamTile; tile < rows; tile += stride) {
#pragma unroll
    for (int item = 0; item < kStreamItems; ++item) {
      uint64_t const row = tile + item * kStreamThreads + threadIdx.x;
      if (row < rows) {
        Key const key = keys[row];
        any |= key;
        all &= key;
      }
    }
  }
  constexpr unsigned kAllLanes = 0xffffffffU;
#pragma unroll
  for (int lane = 16; lane > 0; lane /= 2) {
    any |= __shfl_xor_sync(kAllLanes, any, lane);
    all &= __shfl_xor_sync(kAllLanes, all, lane);
  }
  if (threadIdx.x % 32 == 0) {
    // Idempotent operations: the order of the blocks does not matter.
    atomicOr(&bits[0], static_cast<unsigned long long>(any));
    // The high half of a 4-byte key never varies: zero in both words.
    atomicAnd(&bits[1], static_cast<unsigned long long>(all));
  }
}

}  // namespace gpujoin::kernels
