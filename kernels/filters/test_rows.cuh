// test_rows.cuh: which rows a filter of a build lets pass, and how many
//
// Source   ours; split block Bloom filters as in Apache Parquet: kernels/filters/split_block.hpp
// In       values[rows], signed, of 4 or 8 bytes; the filter's range, and its bits, if it has any
// Out      words[ceil(rows / 32)], bits behind the last row 0; passing += the bits set
// Needs    passing = 0
// Launch   ceil(rows / kStreamTile) blocks of kStreamThreads
// Moves    |Value| a row, read, and a bit, written; of a bitmap a sector of 32 bytes a row within
//          the range, of a Bloom filter a block of 32 bytes a row: from L2 where the filter fits
#pragma once

#include <cstdint>

#include "kernels/filters/split_block.hpp"
#include "kernels/filters/xxh64.hpp"
#include "kernels/tuning.hpp"

namespace gpujoin::kernels {

// Of positions: those that are within, and have a bit where there are bits.
struct PositionTest {
  int64_t first;
  uint64_t last;         // less `first`
  const uint32_t* bits;  // null: a range

  __device__ bool operator()(int64_t value) const {
    uint64_t const place = static_cast<uint64_t>(value) - static_cast<uint64_t>(first);
    if (place > last) return false;
    return bits == nullptr || (__ldg(bits + place / 32) >> (place % 32) & 1) != 0;
  }
};

struct BlockTest {
  const uint4* bits;
  uint64_t blocks;

  __device__ bool operator()(int64_t value) const {
    uint64_t const hash = xxh64(static_cast<uint64_t>(value));
    auto const lower = static_cast<uint32_t>(hash);
    const uint4* const block = bits + 2 * block_of(hash, blocks);
    uint4 const one = __ldg(block);
    uint4 const other = __ldg(block + 1);
    uint32_t missing = bit_of(lower, kSalt0) & ~one.x;
    missing |= bit_of(lower, kSalt1) & ~one.y;
    missing |= bit_of(lower, kSalt2) & ~one.z;
    missing |= bit_of(lower, kSalt3) & ~one.w;
    missing |= bit_of(lower, kSalt4) & ~other.x;
    missing |= bit_of(lower, kSalt5) & ~other.y;
    missing |= bit_of(lower, kSalt6) & ~other.z;
    missing |= bit_of(lower, kSalt7) & ~other.w;
    return missing == 0;
  }
};

template <typename Value, typename Test>
__global__ void __launch_bounds__(kStreamThreads)
    test_rows_kernel(const Value* __restrict__ values, const __grid_constant__ Test test,
                     uint32_t rows, uint32_t* __restrict__ words,
                     unsigned long long* __restrict__ passing) {
  uint64_t const tile = uint64_t{blockIdx.x} * kStreamTile;
  uint32_t count = 0;  // of the warp
#pragma unroll
  for (int item = 0; item < kStreamItems; ++item) {
    uint64_t const row = tile + item * kStreamThreads + threadIdx.x;
    bool const passes = row < rows && test(int64_t{__ldg(values + (row < rows ? row : 0))});
    uint32_t const word = __ballot_sync(0xffffffffU, passes);
    count += __popc(word);
    if (threadIdx.x % 32 == 0 && row < rows) words[row / 32] = word;
  }
  if (threadIdx.x % 32 == 0 && count != 0) {
    atomicAdd(passing, static_cast<unsigned long long>(count));
  }
}

}  // namespace gpujoin::kernels
