// sample_keys.cuh: the keys at the sample's rows, and how often each sampled probe key occurs among all build keys
//
// Source   ours; the rule and the reason for it are in src/plan/key_sample.hpp
// In       keys[rows] Key with validity bits; the table of sampled keys (filter, slots)
// Out      read: sample_keys[positions], sample_valid[positions]; count: counts[distinct] += matches, bits as in varying_bits
// Needs    Rule: sample_row(i, rows), sample_slot(key), sample_filter_bit(key) and the sizes kPositions, kSlots, kFilterBits
// Launch   read: ceil(positions / kStreamThreads) blocks; count: a grid that fills the device, kStreamThreads each
// Moves    |Key| a build row read, + a bit of validity
// Shared   the filter and one counter a distinct key: a key that fills the build side would queue up on a global counter
#pragma once

#include <cstdint>

#include "kernels/tuning.hpp"

namespace gpujoin::kernels {

template <typename Key>
struct SampledColumn {
  const Key* keys;
  const uint8_t* validity;  // or null
  int64_t validity_bit_offset;
  int64_t rows;

  __device__ bool is_valid(int64_t row) const {
    if (validity == nullptr) return true;
    int64_t const bit = validity_bit_offset + row;
    return (validity[bit / 8] >> (bit % 8) & 1) != 0;
  }
};

template <typename Rule, typename Key>
__global__ void __launch_bounds__(kStreamThreads)
    read_sample_kernel(SampledColumn<Key> column, int32_t positions,
                       unsigned long long* __restrict__ sample_keys,
                       uint32_t* __restrict__ sample_valid) {
  auto const i = static_cast<int32_t>(blockIdx.x * kStreamThreads + threadIdx.x);
  if (i >= positions) return;
  int64_t const row = Rule::sample_row(i, column.rows);
  sample_keys[i] = column.keys[row];
  sample_valid[i] = column.is_valid(row) ? 1 : 0;
}

struct SampleTableView {
  const uint32_t* filter;
  const unsigned long long* slot_keys;
  const int32_t* slot_ids;
  int32_t distinct_keys;
};

template <typename Rule, typename Key>
__global__ void __launch_bounds__(kStreamThreads)
    count_sample_kernel(SampledColumn<Key> column, SampleTableView table,
                        unsigned long long* __restrict__ counts,
                        unsigned long long* __restrict__ bits) {
  __shared__ uint32_t filter[Rule::kFilterBits / 32];
  __shared__ uint32_t found[Rule::kPositions];  // a block sees fewer than 2^32 rows
  for (int i = threadIdx.x; i < Rule::kFilterBits / 32; i += kStreamThreads) {
    filter[i] = table.filter[i];
  }
  for (int i = threadIdx.x; i < table.distinct_keys; i += kStreamThreads) found[i] = 0;
  __syncthreads();

  Key any = 0;
  Key all = static_cast<Key>(~Key{0});
  int64_t const stride = int64_t{gridDim.x} * kStreamTile;
  for (int64_t tile = int64_t{blockIdx.x} * kStreamTile; tile < column.rows; tile += stride) {
    Key keys[kStreamItems];
    bool valid[kStreamItems];
#pragma unroll
    for (int item = 0; item < kStreamItems; ++item) {
      int64_t const row = tile + item * kStreamThreads + threadIdx.x;
      valid[item] = row < column.rows && column.is_valid(row);
      if (valid[item]) keys[item] = column.keys[row];
    }
#pragma unroll
    for (int item = 0; item < kStreamItems; ++item) {
      if (!valid[item]) continue;
      any |= keys[item];
      all &= keys[item];
      uint32_t const bit = Rule::sample_filter_bit(keys[item]);
      if ((filter[bit / 32] >> (bit % 32) & 1) == 0) continue;
      uint32_t slot = Rule::sample_slot(keys[item]);
      int32_t id = table.slot_ids[slot];
      while (id >= 0 && table.slot_keys[slot] != keys[item]) {
        slot = (slot + 1) & static_cast<uint32_t>(Rule::kSlots - 1);
        id = table.slot_ids[slot];
      }
      if (id >= 0) atomicAdd(&found[id], 1U);
    }
  }
#pragma unroll
  for (int lane = 16; lane > 0; lane /= 2) {
    any |= __shfl_xor_sync(0xffffffffU, any, lane);
    all &= __shfl_xor_sync(0xffffffffU, all, lane);
  }
  if (threadIdx.x % 32 == 0) {
    // Lanes that saw no row contribute the neutral elements; the high half of 4-byte keys is cut off by the reader.
    atomicOr(&bits[0], static_cast<unsigned long long>(any));
    atomicAnd(&bits[1], static_cast<unsigned long long>(all));
  }
  __syncthreads();
  for (int i = threadIdx.x; i < table.distinct_keys; i += kStreamThreads) {
    if (found[i] != 0) atomicAdd(&counts[i], static_cast<unsigned long long>(found[i]));
  }
}

}  // namespace gpujoin::kernels
