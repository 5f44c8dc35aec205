// key_range.cuh: the lowest and the highest key, and which bits differ between
//
// Source   ours; GQE's perfect join finds dense keys by the bits that vary (varying_bits.cuh), which misses ranges across a power of two
// In       keys[rows]  Key
// Out      range, of all keys; keys in the order of signed integers, their sign bit turned so that they compare unsigned
// Needs    range as KeyRange{} starts it
// Launch   a grid that fills the device, kStreamThreads each
// Moves    rows * |Key| read
#pragma once

#include <cstdint>

#include "kernels/transform/key_range.hpp"
#include "kernels/tuning.hpp"

namespace gpujoin::kernels {

template <typename Key>
__global__ void __launch_bounds__(kStreamThreads)
    key_range_kernel(const Key* __restrict__ keys, uint32_t rows, KeyRange* __restrict__ range) {
  Key any = 0;
  Key all = static_cast<Key>(~Key{0});
  Key low = static_cast<Key>(~Key{0});
  Key high = 0;
  uint64_t const stride = uint64_t{gridDim.x} * kStreamTile;
  for (uint64_t tile = uint64_t{blockIdx.x} * kStreamTile; tile < rows; tile += stride) {
#pragma unroll
    for (int item = 0; item < kStreamItems; ++item) {
      uint64_t const row = tile + item * kStreamThreads + threadIdx.x;
      if (row >= rows) continue;
      Key const turned = turn_sign(keys[row]);
      any |= turned;
      all &= turned;
      low = min(low, turned);
      high = max(high, turned);
    }
  }
  constexpr unsigned kAllLanes = 0xffffffffU;
#pragma unroll
  for (int lane = 16; lane > 0; lane /= 2) {
    any |= __shfl_xor_sync(kAllLanes, any, lane);
    all &= __shfl_xor_sync(kAllLanes, all, lane);
    low = min(low, __shfl_xor_sync(kAllLanes, low, lane));
    high = max(high, __shfl_xor_sync(kAllLanes, high, lane));
  }
  if (threadIdx.x % 32 != 0) return;
  atomicOr(&range->any, static_cast<unsigned long long>(any));
  atomicAnd(&range->all, static_cast<unsigned long long>(all));
  atomicMin(&range->low, static_cast<unsigned long long>(low));
  atomicMax(&range->high, static_cast<unsigned long long>(high));
}

}  // namespace gpujoin::kernels
