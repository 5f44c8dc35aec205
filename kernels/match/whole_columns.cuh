// whole_columns.cuh: probe rows look their keys up and write the output columns without holes
//
// Source   ours; few rows of a tile at a time are counted and given their places by one addition a
//          block, which is cheaper than chunks of places that a later launch closes
// In       probe_keys[probe_rows]; a finder (table_columns.cuh) of one slice; columns of both sides
// Out      target[] of each column; *written, added to: the rows
// Needs    a finder of one row a key; room for as many output rows as there are probe rows
// Launch   all threads of blocks of kThreads
// Moves    as table_columns.cuh
#pragma once

#include <cstdint>

#include "kernels/block_sync.cuh"
#include "kernels/match/lane_rows.cuh"
#include "kernels/match/table_columns.cuh"

namespace gpujoin::kernels {

template <int kThreads, int kWidth, int kItems, typename Row, typename Finder>
__device__ __forceinline__ void write_whole_columns(const TableJoin<typename Finder::Key>& join,
                                                    const Finder& finder,
                                                    unsigned long long* written) {
  constexpr uint64_t kTile = uint64_t{kItems} * kThreads;
  constexpr uint32_t kWarps = kThreads / 32;
  __shared__ uint32_t counts[kWarps];
  __shared__ unsigned long long block_base;
  uint32_t const warp = threadIdx.x / 32;
  uint64_t const stride = gridDim.x * kTile;
  for (uint64_t tile = blockIdx.x * kTile; tile < join.probe_rows; tile += stride) {
    LaneRows<typename Finder::Key, kItems> rows;
    uint32_t count = 0;
    find_table_batch(join, finder, 0, tile + uint64_t{warp} * 32 * kItems, rows, &count);
    if (threadIdx.x % 32 == 0) counts[warp] = count;
    block_sync();
    uint32_t before = 0;
    uint32_t total = 0;
#pragma unroll
    for (uint32_t i = 0; i < kWarps; ++i) {
      before += i < warp ? counts[i] : 0;
      total += counts[i];
    }
    if (threadIdx.x == 0) {
      block_base = atomicAdd(written, static_cast<unsigned long long>(total));
    }
    block_sync();
    rows.first_slot = 0;
    rows.slot_count = count;
    rows.base = block_base + before;
    write_table_columns<kWidth, Row>(join, rows);
    block_sync();  // counts and base are read
  }
}

}  // namespace gpujoin::kernels
