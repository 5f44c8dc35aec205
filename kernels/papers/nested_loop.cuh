// nested_loop.cuh: a chunk of a build partition in shared memory, compared with every probe row in
// registers
//
// Paper    Paul et al. 2020, section IV.A.2; Rui & Tu 2017, section 3.2.2 and Algorithm 3
// Differs  keys are compared kStep at a time with one branch, and a thread has several probe rows
//          to a key that it reads
// In       keys of one partition
// Out      which rows of the chunk match a thread's probe keys
// Needs    kCoPartitionBuildRows <= 2^15: first match and number of matches share a register
// Launch   inside join_partitions.cuh
// Moves    |Key| a build row (traffic::nested_loop); build rows * probe rows comparisons of a
//          partition
// Shared   all threads read the same 16 bytes at a time: no bank conflicts; 16 / |Key| * rows of a
//          thread comparisons a read
#pragma once

#include <cstdint>

#include "kernels/tuning.hpp"

namespace gpujoin::kernels {

template <typename KeyType>
class NestedLoop {
 public:
  using Key = KeyType;
  static constexpr uint32_t kStep =
      32 / sizeof(Key);  // keys that a thread holds to compare at once
  static_assert(kCoPartitionBuildRows % kStep == 0 && kCoPartitionBuildRows <= 1 << 15);
  // What a thread found for each of its probe rows: the number of matches in the upper half, the
  // first one in the lower.
  static constexpr uint32_t kNoRow = ~0U;
  static constexpr uint32_t kRow = 0;
  struct alignas(16) Shared {
    Key keys[kCoPartitionBuildRows];
  };
  struct Cursor {
    int item = -1;
    uint32_t left = 0;  // matches of the probe row that were not given yet
    uint32_t at = 0;
    Key key = 0;
  };

  __device__ NestedLoop(Shared& chunk, int32_t /*radix_bits*/) : chunk_(chunk) {}

  template <typename KeyOf>
  __device__ void build(uint32_t rows, KeyOf key_of) {
    rows_ = rows;
    // No key stands for "none", so what fills the last step is told from rows by its place.
    uint32_t const filled = (rows + kStep - 1) / kStep * kStep;
    for (uint32_t i = threadIdx.x; i < filled; i += kCoPartitionThreads) {
      chunk_.keys[i] = i < rows ? key_of(i) : 0;
    }
    __syncthreads();
  }

  template <int kItems>
  __device__ uint32_t find(const Key (&keys)[kItems], uint32_t (&found)[kItems]) const {
    for (uint32_t first = 0; first < rows_; first += kStep) {
      union {
        uint4 words[2];
        Key keys[kStep];
      } theirs;
      auto const* step = reinterpret_cast<const uint4*>(&chunk_.keys[first]);
      theirs.words[0] = step[0];
      theirs.words[1] = step[1];
#pragma unroll
      for (int item = 0; item < kItems; ++item) {
        bool any = false;
#pragma unroll
        for (uint32_t i = 0; i < kStep; ++i) any |= theirs.keys[i] == keys[item];
        if (any) note(first, theirs.keys, keys[item], found[item]);
      }
    }
    uint32_t count = 0;
#pragma unroll
    for (int item = 0; item < kItems; ++item) {
      if (found[item] != kNoRow) count += found[item] >> 16;
    }
    return count;
  }

  template <int kItems>
  __device__ uint32_t next(Cursor& cursor, const Key (&keys)[kItems],
                           const uint32_t (&found)[kItems]) const {
    if (cursor.left != 0) {
      do {
        ++cursor.at;
      } while (chunk_.keys[cursor.at] != cursor.key);
    }
    while (cursor.left == 0) {
      ++cursor.item;
#pragma unroll
      for (int i = 0; i < kItems; ++i) {
        if (i != cursor.item || found[i] == kNoRow) continue;
        cursor.at = found[i] & 0xffff;
        cursor.left = found[i] >> 16;
        cursor.key = keys[i];
      }
    }
    --cursor.left;
    return cursor.at;
  }

 private:
  __device__ void note(uint32_t first, const Key (&theirs)[kStep], Key key, uint32_t& found) const {
    if (found == kNoRow) return;
#pragma unroll
    for (uint32_t i = 0; i < kStep; ++i) {
      if (theirs[i] != key || first + i >= rows_) continue;
      if (found == kRow) found = first + i;
      found += 1U << 16;
    }
  }

  Shared& chunk_;
  uint32_t rows_ = 0;
};

}  // namespace gpujoin::kernels
