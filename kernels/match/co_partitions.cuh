// co_partitions.cuh: a chunk of a build partition as a hash table in shared memory (PHJ)
//
// Paper    Sioulas et al. as described in Wu et al. 2024, sections 3.2 and 4.3
// Differs  16-bit links; rows are found by position, so nothing but keys is loaded
// In       mixed keys of one partition, whose low radix_bits bits are equal
// Out      which rows of the chunk match a thread's probe keys
// Needs    kCoPartitionBuildRows < 2^16, for the 16-bit links
// Launch   inside join_partitions.cuh
// Moves    |Key| a build row; probing stays in shared memory (traffic::co_partitions)
// Shared   one atomic exchange a build row; a probe row walks a chain of 2 on average
//
//   table:  heads[2^bucket_bits] -> position in the chunk, or kNoLink     links[i] -> next position
//   with the same bucket
#pragma once

#include <cstdint>

#include "kernels/tuning.hpp"

namespace gpujoin::kernels {

constexpr uint16_t kNoLink = 0xffffU;
static_assert(kCoPartitionBuildRows < kNoLink, "positions and the end mark fit 16 bits");

template <typename KeyType>
class HashTable {
 public:
  using Key = KeyType;
  static constexpr uint32_t kBuckets = 1U << kCoPartitionBucketBits;
  // What a thread found for each of its probe rows: the first match, for next to go on from.
  static constexpr uint32_t kNoRow = kNoLink;  // there is no probe row; also: no match
  static constexpr uint32_t kRow = 0;
  struct Shared {
    Key keys[kCoPartitionBuildRows];
    uint32_t heads[kBuckets];
    uint16_t links[kCoPartitionBuildRows];
  };
  // Where next stands: the probe row of the match given last, and the match after it.
  struct Cursor {
    int item = -1;
    uint32_t at = kNoLink;
    Key key = 0;
  };

  __device__ HashTable(Shared& table, int32_t radix_bits)
      : table_(table), radix_bits_(radix_bits) {}

  // All threads; key_of(i) is the key of row i of the chunk.
  template <typename KeyOf>
  __device__ void build(uint32_t rows, KeyOf key_of) {
    for (uint32_t i = threadIdx.x; i < kBuckets; i += kCoPartitionThreads) {
      table_.heads[i] = kNoLink;
    }
    __syncthreads();
    for (uint32_t i = threadIdx.x; i < rows; i += kCoPartitionThreads) {
      Key const key = key_of(i);
      table_.keys[i] = key;
      table_.links[i] = static_cast<uint16_t>(atomicExch(&table_.heads[bucket_of(key)], i));
    }
    __syncthreads();
  }

  // How many matches the thread's probe rows have. found[] says which of them there are.
  template <int kItems>
  __device__ uint32_t find(const Key (&keys)[kItems], uint32_t (&found)[kItems]) const {
    uint32_t count = 0;
#pragma unroll
    for (int item = 0; item < kItems; ++item) {
      if (found[item] == kNoRow) continue;
      found[item] = kNoRow;
      for (uint32_t at = table_.heads[bucket_of(keys[item])]; at != kNoLink;
           at = table_.links[at]) {
        if (table_.keys[at] == keys[item]) {
          if (found[item] == kNoRow) found[item] = at;
          ++count;
        }
      }
    }
    return count;
  }

  // The next match: its row in the chunk. Its probe row is cursor.item.
  template <int kItems>
  __device__ uint32_t next(Cursor& cursor, const Key (&keys)[kItems],
                           const uint32_t (&found)[kItems]) const {
    while (cursor.at == kNoLink) {
      ++cursor.item;
#pragma unroll
      for (int i = 0; i < kItems; ++i) {
        if (i == cursor.item) cursor.at = found[i], cursor.key = keys[i];
      }
    }
    uint32_t const match = cursor.at;
    do {
      cursor.at = table_.links[cursor.at];
    } while (cursor.at != kNoLink && table_.keys[cursor.at] != cursor.key);
    return match;
  }

 private:
  __device__ uint32_t bucket_of(Key key) const {
    return static_cast<uint32_t>(key >> radix_bits_) & (kBuckets - 1);
  }

  Shared& table_;
  int32_t radix_bits_;
};

}  // namespace gpujoin::kernels
