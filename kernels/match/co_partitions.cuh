// co_partitions.cuh: joins pairs of partitions, each build partition a hash table in shared memory (PHJ)
//
// Paper    Sioulas et al. as described in Wu et al. 2024, sections 3.2 and 4.3
// Differs  work units are (build chunk, probe chunk) of a partition, so that skew on either side spreads over blocks; blocks are
//          persistent and take units in order
// In       keys of both sides, mixed and ordered by partition = mixed & (2^bits - 1); offsets of the partitions
// Out      pairs of positions (or row ids, by the sink)
// Needs    kCoPartitionBuildRows < 2^16, for the 16-bit links
// Launch   kCoPartitionBlocksPerSm blocks a multiprocessor, kCoPartitionThreads each, dynamic shared memory sizeof(Shared)
// Moves    |Key| a row of both sides (the build side once more for each further probe chunk) + 8 bytes a pair
//          (traffic::co_partitions)
// Shared   one atomic exchange a build row; a probe row walks a chain of 2 on average
//
//   table:  heads[2^bucket_bits] -> position in the chunk, or kNoLink     links[i] -> next position with the same bucket
#pragma once

#include <cstdint>

#include "kernels/output/emit_pairs.cuh"
#include "kernels/tuning.hpp"

namespace gpujoin::kernels {

constexpr uint16_t kNoLink = 0xffffU;
static_assert(kCoPartitionBuildRows < kNoLink, "positions and the end mark fit 16 bits");

template <typename Key>
struct CoPartitions {
  // Inputs
  const Key* build_keys;
  const Key* probe_keys;
  const uint32_t* build_offsets;        // [partitions + 1]
  const uint32_t* probe_offsets;        // [partitions + 1]
  const unsigned long long* unit_ends;  // [partitions] inclusive sum of the units of each partition
  uint32_t partitions;
  int32_t radix_bits;
  // State
  ResumePoint* resume;  // [gridDim.x]
  // Outputs
  PairSink sink;
};

// Work units of each partition: chunks of the build side times chunks of the probe side.
// Launch ceil(partitions / kStreamThreads) blocks of kStreamThreads.
__global__ void __launch_bounds__(kStreamThreads)
    count_units_kernel(const uint32_t* __restrict__ build_offsets,
                       const uint32_t* __restrict__ probe_offsets, uint32_t partitions,
                       unsigned long long* __restrict__ units) {
  uint32_t const partition = blockIdx.x * kStreamThreads + threadIdx.x;
  if (partition >= partitions) return;
  uint64_t const build_rows = build_offsets[partition + 1] - build_offsets[partition];
  uint64_t const probe_rows = probe_offsets[partition + 1] - probe_offsets[partition];
  units[partition] = (build_rows + kCoPartitionBuildRows - 1) / kCoPartitionBuildRows *
                     ((probe_rows + kCoPartitionProbeRows - 1) / kCoPartitionProbeRows);
}

template <typename Key>
struct CoPartitionTable {
  static constexpr uint32_t kBuckets = 1U << kCoPartitionBucketBits;
  Key keys[kCoPartitionBuildRows];
  uint32_t heads[kBuckets];
  uint16_t links[kCoPartitionBuildRows];
};

template <typename Key>
struct CoPartitionShared {
  CoPartitionTable<Key> table;
  typename BlockEmitter<kCoPartitionThreads>::Shared emitter;
  unsigned long long unit;
  unsigned long long first_unit;  // of the unit's partition
  uint32_t partition;
};

// First partition whose unit_ends exceeds the unit; 32 candidates a step, by one warp.
__device__ inline uint32_t find_partition(const unsigned long long* unit_ends, uint32_t partitions,
                                          unsigned long long unit) {
  uint32_t low = 0;
  uint32_t count = partitions;  // the answer lies in [low, low + count)
  while (count > 1) {
    uint32_t const step = (count + 31) / 32;
    uint32_t const last = min(low + (threadIdx.x + 1) * step, low + count) - 1;
    bool const beyond = threadIdx.x * step >= count || unit_ends[last] > unit;
    uint32_t const first = __ffs(static_cast<int>(__ballot_sync(0xffffffffU, beyond))) - 1;
    uint32_t const next_low = low + first * step;
    count = min(step, low + count - next_low);
    low = next_low;
  }
  return low;
}

template <typename Key>
__device__ void build_table(CoPartitionTable<Key>& table, const Key* keys, uint32_t rows,
                            int32_t radix_bits) {
  using Table = CoPartitionTable<Key>;
  for (uint32_t i = threadIdx.x; i < Table::kBuckets; i += kCoPartitionThreads) {
    table.heads[i] = kNoLink;
  }
  __syncthreads();
  for (uint32_t i = threadIdx.x; i < rows; i += kCoPartitionThreads) {
    Key const key = keys[i];
    table.keys[i] = key;
    uint32_t const bucket = static_cast<uint32_t>(key >> radix_bits) & (Table::kBuckets - 1);
    table.links[i] = static_cast<uint16_t>(atomicExch(&table.heads[bucket], i));
  }
  __syncthreads();
}

template <typename Key>
__global__ void __launch_bounds__(kCoPartitionThreads, kCoPartitionBlocksPerSm)
    match_co_partitions_kernel(CoPartitions<Key> args) {
  constexpr int kItems = kEmitItems;
  constexpr uint32_t kBatch = kCoPartitionThreads * kItems;
  using Table = CoPartitionTable<Key>;
  extern __shared__ unsigned char dynamic_shared[];
  auto& shared = *reinterpret_cast<CoPartitionShared<Key>*>(dynamic_shared);
  BlockEmitter<kCoPartitionThreads> emitter(args.sink, shared.emitter);
  Table& table = shared.table;

  unsigned long long const units = args.unit_ends[args.partitions - 1];
  unsigned long long resumed = args.resume[blockIdx.x].unit;
  uint32_t batch = args.resume[blockIdx.x].batch;
  for (;;) {
    if (threadIdx.x < 32) {
      unsigned long long unit = resumed;
      if (threadIdx.x == 0 && resumed == kNoUnit) {
        unit = atomicAdd(&args.sink.counters->taken, 1ULL);
      }
      unit = __shfl_sync(0xffffffffU, unit, 0);
      if (unit < units) {
        uint32_t const partition = find_partition(args.unit_ends, args.partitions, unit);
        if (threadIdx.x == 0) {
          shared.partition = partition;
          shared.first_unit = partition == 0 ? 0 : args.unit_ends[partition - 1];
        }
      }
      if (threadIdx.x == 0) shared.unit = unit;
    }
    __syncthreads();
    unsigned long long const unit = shared.unit;
    if (unit >= units) break;
    if (resumed == kNoUnit) batch = 0;
    resumed = kNoUnit;

    uint32_t const partition = shared.partition;
    uint32_t const build_begin = args.build_offsets[partition];
    uint32_t const build_rows = args.build_offsets[partition + 1] - build_begin;
    uint32_t const probe_begin = args.probe_offsets[partition];
    uint32_t const probe_rows = args.probe_offsets[partition + 1] - probe_begin;
    uint32_t const build_chunks = (build_rows + kCoPartitionBuildRows - 1) / kCoPartitionBuildRows;
    auto const within = unit - shared.first_unit;
    auto const build_first = static_cast<uint32_t>(within % build_chunks) * kCoPartitionBuildRows;
    auto const probe_first = static_cast<uint32_t>(within / build_chunks) * kCoPartitionProbeRows;
    uint32_t const chunk_rows = min(build_rows - build_first, uint32_t{kCoPartitionBuildRows});
    uint32_t const probe_end = min(
        probe_rows, probe_first + min(probe_rows - probe_first, uint32_t{kCoPartitionProbeRows}));
    uint32_t const build_base = build_begin + build_first;

    build_table(table, args.build_keys + build_base, chunk_rows, args.radix_bits);

    for (uint32_t row = probe_first + batch * kBatch; row < probe_end; row += kBatch, ++batch) {
      Key keys[kItems];
      uint32_t first[kItems];  // first match of each probe row in the chunk
      uint32_t count = 0;
#pragma unroll
      for (int item = 0; item < kItems; ++item) {
        uint32_t const at = row + item * kCoPartitionThreads + threadIdx.x;
        first[item] = at < probe_end ? 0 : kNoLink;
        if (at < probe_end) keys[item] = args.probe_keys[probe_begin + at];
      }
#pragma unroll
      for (int item = 0; item < kItems; ++item) {
        if (first[item] == kNoLink) continue;
        first[item] = kNoLink;
        uint32_t const bucket =
            static_cast<uint32_t>(keys[item] >> args.radix_bits) & (Table::kBuckets - 1);
        for (uint32_t at = table.heads[bucket]; at != kNoLink; at = table.links[at]) {
          if (table.keys[at] == keys[item]) {
            if (first[item] == kNoLink) first[item] = at;
            ++count;
          }
        }
      }
      int item = -1;
      uint32_t at = kNoLink;
      Key key = 0;
      bool const written = emitter.emit(count, [&](uint32_t* build, uint32_t* probe) {
        while (at == kNoLink) {
          ++item;
#pragma unroll
          for (int i = 0; i < kItems; ++i) {
            if (i == item) at = first[i], key = keys[i];
          }
        }
        *build = build_base + at;
        *probe = probe_begin + row + item * kCoPartitionThreads + threadIdx.x;
        do {
          at = table.links[at];
        } while (at != kNoLink && table.keys[at] != key);
      });
      if (!written) {
        if (threadIdx.x == 0) args.resume[blockIdx.x] = {unit, batch, 0};
        return;
      }
    }
    __syncthreads();  // the table is read to the end before the next unit builds another
  }
  if (threadIdx.x == 0) args.resume[blockIdx.x] = {units, 0, 0};
}

}  // namespace gpujoin::kernels
