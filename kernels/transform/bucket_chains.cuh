// bucket_chains.cuh: radix partition into chains of fixed-size buckets, without a histogram in
// global memory (PRBC, PHJ-UM)
//
// Paper    Sioulas et al. 2019, as described in Wu et al. 2024, section 3.2 and figure 3, and in
//          Paul et al. 2020, section IV.A.3
// Differs  a block's rows of a partition take their places by one atomic add on the partition's
//          number of rows, so chains are not advanced by one block at a time: whoever is given a
//          bucket's first place takes the bucket from the pool, and publishes it in a hash table of
//          open buckets before it waits for one itself. A bucket knows its number in its partition
//          in the place of its successor, so that chains become lists without being walked. Tiles
//          are ordered in shared memory before they are written
// In       keys[rows], values[rows]         keys mixed; null values: the number of the row
//          source                           of a second pass: the chains of the first, a tile a
//          bucket
// Out      keys_out[places], values_out[places]
//          pool                             rows of each partition, and of each bucket its
//          partition and number
// Needs    buckets of 2^kBucketTileBits places at most in a source; places < 2^32, buckets < 2^24;
//          pool.fills, taken zero, pool.open all ones; every bucket that the rows can need
// Launch   a block a tile, of kBucketThreads, dynamic shared memory sizeof(BucketStage)
// Moves    2 * (|Key| + |Value|) a row (traffic::bucket_chain_pass)
// Shared   an atomic add a row; four words a row to order the tile
// Order    of the atomics: another one each time
#pragma once

#include <cuda_pipeline_primitives.h>
#include <cub/block/block_scan.cuh>

#include <cstdint>

#include "kernels/transform/partition_sums.cuh"
#include "kernels/tuning.hpp"

namespace gpujoin::kernels {

struct BucketHeader {
  uint32_t partition;
  uint32_t number;  // of the bucket in its partition
};

// Buckets and who owns them. A bucket that is not full is open: whoever appends to its partition
// next goes on there.
struct BucketPool {
  uint32_t* fills;           // [partitions] rows so far
  uint32_t* taken;           // [1] buckets so far
  BucketHeader* headers;     // [buckets]
  unsigned long long* open;  // [2^open_bits] 40 bits of name, 24 of bucket
  int32_t open_bits;
  int32_t bucket_bits;

  static constexpr unsigned long long kNone = ~0ULL;

  __device__ unsigned long long name(uint32_t partition, uint32_t number) const {
    return static_cast<unsigned long long>(partition) << 24 | number;
  }
  __device__ uint32_t slot(unsigned long long of_name) const {
    return static_cast<uint32_t>(of_name * 0x9e3779b97f4a7c15ULL >> (64 - open_bits));
  }
  __device__ uint32_t next(uint32_t of_slot) const {
    return (of_slot + 1) & ((1U << open_bits) - 1);
  }

  __device__ void publish(uint32_t partition, uint32_t number, uint32_t bucket) const {
    unsigned long long const wanted = name(partition, number);
    uint32_t at = slot(wanted);
    while (atomicCAS(&open[at], kNone, wanted << 24 | bucket) != kNone) at = next(at);
  }

  // Waits until the bucket is published: the block that was given its first place does so before it
  // waits for anything.
  __device__ uint32_t find(uint32_t partition, uint32_t number) const {
    unsigned long long const wanted = name(partition, number);
    uint32_t at = slot(wanted);
    for (;;) {
      unsigned long long const entry = *static_cast<volatile unsigned long long*>(&open[at]);
      if (entry >> 24 == wanted) return static_cast<uint32_t>(entry) & 0xffffffU;
      at = entry == kNone ? slot(wanted) : next(at);
    }
  }
};

// Chains as a second pass reads them.
struct BucketSource {
  const BucketHeader* headers;
  const uint32_t*
      buckets;  // [*taken] in the order of partitions; null: not chains, but rows side by side
  const uint32_t* fills;
  const uint32_t* taken;
  int32_t bucket_bits;
};

template <typename Key>
struct BucketPass {
  // Inputs
  const Key* keys;
  const uint32_t* values;
  uint32_t rows;
  BucketSource source;
  int32_t shift;
  int32_t bits;
  // State
  BucketPool pool;
  // Outputs
  Key* keys_out;
  uint32_t* values_out;

  __device__ uint32_t digit_of(Key key) const {
    return static_cast<uint32_t>(key >> shift) & ((1U << bits) - 1);
  }
};

// A tile in the order of its digits, and for each digit where its rows go: row i of the tile to
// place i + first[digit] before splits[digit], to place i + second[digit] from there on. Buckets
// taken together are neighbours, so two places are enough.
template <typename Key, int kDigits>
struct BucketStage {
  static constexpr int kMostDigits = kDigits * kBucketThreads;
  // Warps scan: raking would hold a segment of the counts in registers beside the keys, which does
  // not fit.
  using Scan = cub::BlockScan<uint32_t, kBucketThreads, cub::BLOCK_SCAN_WARP_SCANS>;
  typename Scan::TempStorage scan;
  Key keys[kBucketTile];
  uint32_t values[kBucketTile];
  uint32_t begins[kMostDigits];  // first row of the digit; before the scan, its rows
  uint32_t splits[kMostDigits];
  uint32_t first[kMostDigits];
  uint32_t second[kMostDigits];
};

// The block's rows of one partition, which are neighbours there.
struct BucketRun {
  uint32_t begin;  // in the tile
  uint32_t rows;
  uint32_t at;  // in the partition

  // The first of them, which go where rows of other blocks are already.
  __device__ uint32_t to_open(uint32_t bucket_rows) const {
    uint32_t const within = at & (bucket_rows - 1);
    return within == 0 ? 0 : min(rows, bucket_rows - within);
  }
};

// Buckets for what does not fit the open one. Waits for nothing.
template <typename Stage>
__device__ void take_buckets(const BucketPool& pool, Stage& stage, uint32_t digit,
                             uint32_t partition, const BucketRun& run) {
  uint32_t const size = 1U << pool.bucket_bits;
  uint32_t const to_open = run.to_open(size);
  uint32_t const rest = run.rows - to_open;
  stage.splits[digit] = run.begin + to_open;
  if (rest == 0) return;
  uint32_t const buckets = (rest + size - 1) >> pool.bucket_bits;
  uint32_t const bucket = atomicAdd(pool.taken, buckets);
  uint32_t const number = (run.at + to_open) >> pool.bucket_bits;
  if ((rest & (size - 1)) != 0) {
    pool.publish(partition, number + buckets - 1, bucket + buckets - 1);
  }
  for (uint32_t i = 0; i < buckets; ++i) pool.headers[bucket + i] = {partition, number + i};
  stage.second[digit] = (bucket << pool.bucket_bits) - (run.begin + to_open);
}

// The bucket that another block, or an earlier tile, left open.
template <typename Stage>
__device__ void find_open_bucket(const BucketPool& pool, Stage& stage, uint32_t digit,
                                 uint32_t partition, const BucketRun& run) {
  uint32_t const size = 1U << pool.bucket_bits;
  if (run.to_open(size) == 0) return;
  uint32_t const bucket = pool.find(partition, run.at >> pool.bucket_bits);
  stage.first[digit] = (bucket << pool.bucket_bits) + (run.at & (size - 1)) - run.begin;
}

// kDigits: digits of one thread, so that kDigits * kBucketThreads are all there are.
template <typename Key, int kDigits>
__global__ void __launch_bounds__(kBucketThreads,
                                  sizeof(Key) == 4 ? kBucketBlocksPerSm : kBucketBlocksPerSmWide)
    append_to_buckets_kernel(BucketPass<Key> args) {
  using Stage = BucketStage<Key, kDigits>;
  extern __shared__ __align__(16) unsigned char bucket_stage[];
  auto& stage = *reinterpret_cast<Stage*>(bucket_stage);

  uint32_t first_row = blockIdx.x * kBucketTile;
  uint32_t rows = 0;
  uint32_t first_partition = 0;
  if (args.source.buckets == nullptr) {
    rows = min(args.rows - first_row, uint32_t{kBucketTile});
  } else {
    if (blockIdx.x >= *args.source.taken) return;
    uint32_t const bucket = args.source.buckets[blockIdx.x];
    BucketHeader const header = args.source.headers[bucket];
    uint32_t const before = header.number << args.source.bucket_bits;
    rows = min(args.source.fills[header.partition] - before, 1U << args.source.bucket_bits);
    first_row = bucket << args.source.bucket_bits;
    first_partition = header.partition << args.bits;
  }

  // Rows of the thread: every kBucketThreads-th from its first, fewer in the last tile.
  uint32_t const thread_rows = rows - min(rows, threadIdx.x);
  auto const has = [=](int item) { return item * kBucketThreads < thread_rows; };
  const Key* const source_keys = args.keys + first_row + threadIdx.x;
  Key keys[kBucketItems];
#pragma unroll
  for (int item = 0; item < kBucketItems; ++item) {
    if (has(item)) keys[item] = source_keys[item * kBucketThreads];
  }
#pragma unroll
  for (int i = 0; i < kDigits; ++i) stage.begins[i * kBucketThreads + threadIdx.x] = 0;
  __syncthreads();
  uint32_t ranks[kBucketItems / 2];  // two of 16 bits each, or the compiler spills
#pragma unroll
  for (int item = 0; item < kBucketItems; ++item) {
    uint32_t rank = 0;
    if (has(item)) {
      rank = atomicAdd(&stage.begins[args.digit_of(keys[item])], 1U);
    }
    ranks[item / 2] = item % 2 == 0 ? rank : ranks[item / 2] | rank << 16;
  }
  __syncthreads();

  // The places are asked for before the scan, and looked at after the tile is staged: the atomics
  // take that long.
  BucketRun runs[kDigits];
  uint32_t counts[kDigits];
  uint32_t begins[kDigits];
#pragma unroll
  for (int i = 0; i < kDigits; ++i) {
    uint32_t const digit = threadIdx.x * kDigits + i;
    counts[i] = stage.begins[digit];
    runs[i].rows = counts[i];
    runs[i].at =
        counts[i] != 0 ? atomicAdd(&args.pool.fills[first_partition + digit], counts[i]) : 0;
  }
  typename Stage::Scan(stage.scan).ExclusiveSum(counts, begins);
#pragma unroll
  for (int i = 0; i < kDigits; ++i) {
    uint32_t const digit = threadIdx.x * kDigits + i;
    runs[i].begin = begins[i];
    stage.begins[digit] = begins[i];
  }
  __syncthreads();
  const uint32_t* const source_values = args.values + first_row + threadIdx.x;
#pragma unroll
  for (int item = 0; item < kBucketItems; ++item) {
    if (!has(item)) break;
    uint32_t const rank = item % 2 == 0 ? ranks[item / 2] & 0xffffU : ranks[item / 2] >> 16;
    uint32_t const at = stage.begins[args.digit_of(keys[item])] + rank;
    stage.keys[at] = keys[item];
    if (args.values == nullptr) {
      stage.values[at] = first_row + item * kBucketThreads + threadIdx.x;
    } else {
      // Past the registers; awaited when the places are known.
      __pipeline_memcpy_async(&stage.values[at], &source_values[item * kBucketThreads],
                              sizeof(uint32_t));
    }
  }
  __pipeline_commit();
#pragma unroll
  for (int i = 0; i < kDigits; ++i) {
    uint32_t const digit = threadIdx.x * kDigits + i;
    if (runs[i].rows != 0) {
      take_buckets(args.pool, stage, digit, first_partition + digit, runs[i]);
    }
  }
  // No lane may wait for another block while its neighbour still owes that block a bucket.
  __syncwarp();
#pragma unroll
  for (int i = 0; i < kDigits; ++i) {
    uint32_t const digit = threadIdx.x * kDigits + i;
    if (runs[i].rows != 0) {
      find_open_bucket(args.pool, stage, digit, first_partition + digit, runs[i]);
    }
  }
  __pipeline_wait_prior(0);
  __syncthreads();
#pragma unroll 4
  for (uint32_t row = threadIdx.x; row < rows; row += kBucketThreads) {
    Key const key = stage.keys[row];
    uint32_t const digit = args.digit_of(key);
    uint32_t const place =
        row + (row < stage.splits[digit] ? stage.first[digit] : stage.second[digit]);
    args.keys_out[place] = key;
    args.values_out[place] = stage.values[row];
  }
}

// Of each partition, the rows and the buckets before it. One block of kPartitionSumThreads.
__global__ void __launch_bounds__(kPartitionSumThreads)
    sum_partitions_kernel(BucketPool pool, uint32_t partitions, uint32_t* __restrict__ offsets,
                          uint32_t* __restrict__ bucket_offsets) {
  // Rows below, buckets above: neither sum reaches 2^32.
  unsigned long long const all = partition_sums(
      partitions,
      [=](uint32_t i) {
        uint32_t const rows = pool.fills[i];
        uint32_t const size = 1U << pool.bucket_bits;
        unsigned long long const buckets = rows / size + (rows % size != 0 ? 1 : 0);
        return buckets << 32 | rows;
      },
      [=](uint32_t i, unsigned long long before) {
        offsets[i] = static_cast<uint32_t>(before);
        bucket_offsets[i] = static_cast<uint32_t>(before >> 32);
      });
  if (threadIdx.x == 0) {
    offsets[partitions] = static_cast<uint32_t>(all);
    bucket_offsets[partitions] = static_cast<uint32_t>(all >> 32);
  }
}

// The buckets of each partition in their order. A thread a bucket of the pool, in blocks of
// kStreamThreads.
__global__ void __launch_bounds__(kStreamThreads)
    list_buckets_kernel(BucketPool pool, const uint32_t* __restrict__ bucket_offsets,
                        uint32_t* __restrict__ buckets) {
  uint32_t const bucket = blockIdx.x * kStreamThreads + threadIdx.x;
  if (bucket >= *pool.taken) return;
  BucketHeader const header = pool.headers[bucket];
  buckets[bucket_offsets[header.partition] + header.number] = bucket;
}

}  // namespace gpujoin::kernels
