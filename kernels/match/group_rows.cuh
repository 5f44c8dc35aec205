// group_rows.cuh: build rows of equal keys side by side, and the range of them that each probe row
// meets
//
// Source   ours: a compressed sparse row layout over the global table, so that a key with a million
//          rows costs a range, not a walk
// In       a built GlobalTable with duplicates
// Out      counts[r]             rows with the key of representative r, 0 for other rows; the host
//          sums them to offsets
//          grouped[offsets[r] + i]   the i-th of them
//          lower, counts         of each probe row, as merge_bounds.cuh leaves them for
//          expand_ranges.cuh
// Launch   ceil(rows / kStreamTile) blocks of kStreamThreads, each kernel
// Moves    group: |Key| + 8 bytes + a random sector and a random atomic a build row; place: 12
//          bytes + two random sectors;
//          ranges: |Key| + 8 bytes + two random sectors a probe row
//          (traffic::global_table_group)
#pragma once

#include <cstdint>

#include "kernels/match/global_table.cuh"

namespace gpujoin::kernels {

// ranks[row]: the row's number among those of its key. representatives[row]: that key's
// representative.
template <typename Key>
__global__ void __launch_bounds__(kStreamThreads)
    group_rows_kernel(GlobalTable<Key> table, uint32_t rows, uint32_t* __restrict__ counts,
                      uint32_t* __restrict__ representatives, uint32_t* __restrict__ ranks) {
  uint64_t const tile = uint64_t{blockIdx.x} * kStreamTile;
#pragma unroll
  for (int item = 0; item < kStreamItems; ++item) {
    uint64_t const position = tile + item * kStreamThreads + threadIdx.x;
    bool const active = position < rows;
    unsigned const lanes = __ballot_sync(0xffffffffU, active);
    if (!active) continue;
    auto const row = static_cast<uint32_t>(position);
    uint32_t const representative = find_representative(table, table.build_keys[row]);
    // One atomic for all lanes with the key: a heavy key would serialise on its counter.
    unsigned const peers = __match_any_sync(lanes, representative);
    int const leader = __ffs(static_cast<int>(peers)) - 1;
    int const lane = static_cast<int>(threadIdx.x % 32);
    uint32_t first = 0;
    if (lane == leader) {
      first = atomicAdd(&counts[representative], static_cast<uint32_t>(__popc(peers)));
    }
    first = __shfl_sync(peers, first, leader);
    representatives[row] = representative;
    ranks[row] = first + static_cast<uint32_t>(__popc(peers & ((1U << lane) - 1)));
  }
}

// row_ids: what to write for a row; null: the row.
__global__ void __launch_bounds__(kStreamThreads)
    place_rows_kernel(const uint32_t* __restrict__ representatives,
                      const uint32_t* __restrict__ ranks, const uint32_t* __restrict__ offsets,
                      const uint32_t* __restrict__ row_ids, uint32_t rows,
                      uint32_t* __restrict__ grouped) {
  uint64_t const tile = uint64_t{blockIdx.x} * kStreamTile;
#pragma unroll
  for (int item = 0; item < kStreamItems; ++item) {
    uint64_t const row = tile + item * kStreamThreads + threadIdx.x;
    if (row >= rows) break;
    grouped[offsets[representatives[row]] + ranks[row]] =
        row_ids != nullptr ? row_ids[row] : static_cast<uint32_t>(row);
  }
}

// offsets has build_rows + 1 entries.
template <typename Key>
__global__ void __launch_bounds__(kStreamThreads)
    find_ranges_kernel(GlobalTable<Key> table, const uint32_t* __restrict__ offsets,
                       const Key* __restrict__ probe_keys, uint32_t probe_rows,
                       uint32_t* __restrict__ lower, uint32_t* __restrict__ counts) {
  uint64_t const tile = uint64_t{blockIdx.x} * kStreamTile;
#pragma unroll
  for (int item = 0; item < kStreamItems; ++item) {
    uint64_t const row = tile + item * kStreamThreads + threadIdx.x;
    if (row >= probe_rows) break;
    uint32_t const representative = find_representative(table, probe_keys[row]);
    uint32_t begin = 0;
    uint32_t end = 0;
    if (representative != kNoRow) {
      begin = offsets[representative];
      end = offsets[representative + 1];  // mostly the same sector
    }
    lower[row] = begin;
    counts[row] = end - begin;
  }
}

}  // namespace gpujoin::kernels
