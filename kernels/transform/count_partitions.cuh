// count_partitions.cuh: rows of each partition of an unordered partitioning
//
// Source   ours: Wu et al.'s histogram before the passes (4.3), by shared atomics
// In       keys, or the columns that they are encoded from
// Out      counts[2^radix_bits] of mixed keys; encoded keys, not mixed
// Needs    counts zeroed
// Launch   as many blocks as are resident, of kUnorderedCountThreads, dependent
// Moves    |key| a row (traffic::read_keys); + |code| where keys are encoded
// Shared   2 bytes a partition; one atomic add a row
#pragma once

#include <cstdint>

#include "kernels/bytes_column.hpp"
#include "kernels/dependent_launch.cuh"
#include "kernels/keys/encoded_keys.cuh"
#include "kernels/transform/mix_key.cuh"
#include "kernels/tuning.hpp"

namespace gpujoin::kernels {

// Keys of a thread at a time, which it loads as vectors of 16 bytes.
constexpr int kCountItems = 8;
template <typename Key>
struct alignas(16) KeyVector {
  Key keys[16 / sizeof(Key)];
};

// Rows of partitions. Counters of 16 bits lie two in a word, so that 2^16 fit shared memory: the
// upper half of the partitions in the upper halves. Whoever finds a counter's highest bit set hands
// what it stands for to the global counter. A thread looks before it counts its next keys, so that
// no counter reaches its neighbour.
class PartitionCounts {
 public:
  __device__ PartitionCounts(uint32_t* words, int32_t radix_bits, uint32_t* counts)
      : words_(words), upper_(1U << (radix_bits - 1)), counts_(counts) {}

  // are_rows: a bit for each key that counts.
  template <bool kAll, typename Key, int kKeys>
  __device__ __forceinline__ void add(const Key (&keys)[kKeys], uint32_t are_rows) {
    static_assert(kSpilledRows + kKeys * kUnorderedCountThreads < 0x10000);
    uint32_t words[kKeys];
    uint32_t spilled[kKeys];
    uint32_t any = 0;
#pragma unroll
    for (int i = 0; i < kKeys; ++i) {
      uint32_t const mixed = static_cast<uint32_t>(mix_key(keys[i]));
      bool const is_upper = (mixed & upper_) != 0;
      words[i] = mixed & (upper_ - 1);
      spilled[i] = 0;
      if (!kAll && (are_rows >> i & 1) == 0) continue;
      uint32_t const before = atomicAdd(&words_[words[i]], is_upper ? 0x10000U : 1U);
      spilled[i] = before & (is_upper ? kSpilledRows << 16 : kSpilledRows);
      any |= spilled[i];
    }
    if (any == 0) return;
#pragma unroll
    for (int i = 0; i < kKeys; ++i) {
      if (spilled[i] == 0) continue;
      if ((atomicAnd(&words_[words[i]], ~spilled[i]) & spilled[i]) == 0) continue;  // another did
      atomicAdd(&counts_[words[i] + (spilled[i] > kSpilledRows ? upper_ : 0)], kSpilledRows);
    }
  }

 private:
  static constexpr uint32_t kSpilledRows = 0x8000;
  uint32_t* words_;
  uint32_t upper_;
  uint32_t* counts_;
};

// Keys as they lie. At an address that vectors cannot be loaded from they are counted one by one.
template <typename KeyType>
struct PlainKeys {
  using Key = KeyType;
  static constexpr bool kAll = true;  // every row counts
  static constexpr bool kEncodes = false;
  static constexpr int kItems = kCountItems;  // of a thread's tile
  static constexpr uint32_t kTile = kUnorderedCountThreads * kItems;
  using Vector = KeyVector<Key>;
  const Key* keys;

  __device__ __forceinline__ uint32_t tiles(uint32_t rows) const {
    return reinterpret_cast<uintptr_t>(keys) % sizeof(Vector) == 0 ? rows / kTile : 0;
  }
  __device__ __forceinline__ void load_tile(uint32_t tile, Key (&loaded)[kItems]) const {
    constexpr int kPerVector = sizeof(Vector) / sizeof(Key);
    auto const* const vectors = reinterpret_cast<const Vector*>(keys + tile * kTile) + threadIdx.x;
#pragma unroll
    for (int i = 0; i < kItems / kPerVector; ++i) {
      Vector const vector = vectors[i * kUnorderedCountThreads];
#pragma unroll
      for (int j = 0; j < kPerVector; ++j) loaded[i * kPerVector + j] = vector.keys[j];
    }
  }
  __device__ __forceinline__ Key load(uint64_t row) const { return keys[row]; }
  // A bit for each key that load_tile loads: those of a vector follow each other.
  __device__ __forceinline__ uint32_t rows_of_tile(uint32_t tile,
                                                   const ValidityBits& present) const {
    constexpr int kPerVector = sizeof(Vector) / sizeof(Key);
    uint32_t are_rows = 0;
#pragma unroll
    for (int i = 0; i < kItems / kPerVector; ++i) {
      uint64_t const vector = threadIdx.x + i * kUnorderedCountThreads;
      uint64_t const row = uint64_t{tile} * kTile + vector * kPerVector;
      are_rows |= are_valid<kPerVector>(present, row) << (i * kPerVector);
    }
    return are_rows;
  }
};

// Keys that are still columns: their codes are written as they are counted, by whoever reads them
// first.
template <typename Code, bool kHashed>
struct EncodedKeys {
  using Key = Code;
  static constexpr bool kAll = true;
  static constexpr bool kEncodes = true;
  static constexpr int kItems = kEncodeItems<kHashed>;
  static constexpr uint32_t kTile = kUnorderedCountThreads * kItems;
  EncodedColumns from;
  Code* codes;

  __device__ __forceinline__ uint32_t tiles(uint32_t rows) const { return rows / kTile; }
  __device__ __forceinline__ void load_tile(uint32_t tile, Code (&loaded)[kItems],
                                            uint32_t are_rows = ~0U) const {
    uint64_t const first = uint64_t{tile} * kTile + threadIdx.x;
    encode_at<kHashed, kUnorderedCountThreads>(from, first, are_rows, loaded);
#pragma unroll
    for (int i = 0; i < kItems; ++i) codes[first + i * kUnorderedCountThreads] = loaded[i];
  }
  __device__ __forceinline__ Code load(uint64_t row) const {
    Code loaded[1];
    encode_at<kHashed, 1>(from, row, 1, loaded);
    return codes[row] = loaded[0];
  }
  __device__ __forceinline__ uint32_t rows_of_tile(uint32_t tile,
                                                   const ValidityBits& present) const {
    uint64_t const first = uint64_t{tile} * kTile + threadIdx.x;
    uint32_t are_rows = 0;
#pragma unroll
    for (int i = 0; i < kItems; ++i) {
      are_rows |= is_valid(present, first + i * kUnorderedCountThreads) ? 1U << i : 0;
    }
    return are_rows;
  }
};

// Keys of which those with a bit alone count; the values of the others are asked for, or are not.
template <typename Source>
struct PresentKeys {
  using Key = typename Source::Key;
  static constexpr int kItems = Source::kItems;
  static constexpr uint32_t kTile = Source::kTile;
  static constexpr bool kAll = false;
  Source source;
  ValidityBits present;

  __device__ __forceinline__ uint32_t tiles(uint32_t rows) const { return source.tiles(rows); }
  __device__ __forceinline__ uint32_t rows_of_tile(uint32_t tile) const {
    return source.rows_of_tile(tile, present);
  }
  __device__ __forceinline__ void load_tile(uint32_t tile, Key (&loaded)[kItems],
                                            uint32_t are_rows) const {
    if constexpr (Source::kEncodes) {
      source.load_tile(tile, loaded, are_rows);
    } else {
      source.load_tile(tile, loaded);
    }
  }
  __device__ __forceinline__ bool is_row(uint64_t row) const { return is_valid(present, row); }
  __device__ __forceinline__ Key load(uint64_t row) const { return source.load(row); }
};

// Rows of each of 2^radix_bits partitions.
template <typename Source>
__global__ void __launch_bounds__(kUnorderedCountThreads)
    count_partitions_kernel(const __grid_constant__ Source source, uint32_t rows,
                            int32_t radix_bits, uint32_t* __restrict__ counts) {
  using Key = typename Source::Key;
  extern __shared__ uint32_t pairs_of_counts[];
  uint32_t const words = 1U << (radix_bits - 1);
  let_next_kernel_start();
  for (uint32_t i = threadIdx.x; i < words; i += kUnorderedCountThreads) pairs_of_counts[i] = 0;
  await_last_kernel();
  __syncthreads();
  PartitionCounts partition_counts(pairs_of_counts, radix_bits, counts);
  uint32_t const tiles = source.tiles(rows);
  for (uint32_t tile = blockIdx.x; tile < tiles; tile += gridDim.x) {
    Key loaded[Source::kItems];
    uint32_t are_rows = ~0U;
    if constexpr (Source::kAll) {
      source.load_tile(tile, loaded);
    } else {
      are_rows = source.rows_of_tile(tile);
      source.load_tile(tile, loaded, are_rows);
    }
    partition_counts.template add<Source::kAll>(loaded, are_rows);
  }
  uint64_t const first = blockIdx.x * uint32_t{kUnorderedCountThreads} + threadIdx.x;
#pragma unroll 4
  for (uint64_t row = uint64_t{tiles} * Source::kTile + first; row < rows;
       row += gridDim.x * uint32_t{kUnorderedCountThreads}) {
    if constexpr (!Source::kAll) {
      if (!source.is_row(row)) continue;
    }
    Key const loaded[1] = {source.load(row)};
    partition_counts.template add<true>(loaded, 1);
  }
  __syncthreads();
  for (uint32_t i = threadIdx.x; i < words; i += kUnorderedCountThreads) {
    uint32_t const both = pairs_of_counts[i];
    if ((both & 0xffffU) != 0) atomicAdd(&counts[i], both & 0xffffU);
    if (both >> 16 != 0) atomicAdd(&counts[words + i], both >> 16);
  }
}

}  // namespace gpujoin::kernels
