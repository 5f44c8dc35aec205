// close_chunks.cuh: the holes of the chunks that blocks left partly filled are filled with the last
// rows, without asking the host
//
// Source   ours. squeeze_pages.cuh does it for any number of pages, which it sorts; here are as
//          many as blocks, and their order does not matter: where the holes are is told by the sums
//          of their lengths in the order in which blocks left them, and where rows lie beyond the
//          last one is told chunk by chunk
// In       counters, and tails[counters.tails], of a join that writes chunks of `chunk` places
// Out      the answer: the counters, in page-locked host memory; columns valid from 0 to the number
//          of rows
// Needs    plan_moves: shared memory of a uint32_t for each tail there may be, and one; move_rows:
//          what plan_moves wrote
// Launch   plan_moves: one block of kCloseThreads, dependent; move_rows: any grid of kStreamThreads
// Moves    2 * the columns' widths for each hole below the last row, and two binary searches for
//          kCloseItems of them
//
// Nothing is moved where rows found no room, or partitions are left to another launch, which goes
// on with the chunks.
#pragma once

#include <cstdint>
#include <cub/block/block_scan.cuh>

#include "kernels/dependent_launch.cuh"
#include "kernels/output/close_chunks.hpp"
#include "kernels/output/move_row.cuh"
#include "kernels/transform/partition_sums.cuh"
#include "kernels/tuning.hpp"

namespace gpujoin::kernels {

// All threads: sums of lengths, tile by tile. part(i, &place): the length of the i-th part and
// where it begins.
template <typename Part>
__device__ __forceinline__ void sum_chunk_parts(const ChunkParts& parts, uint32_t count,
                                                Part part) {
  using Scan = cub::BlockScan<unsigned long long, kCloseThreads>;
  __shared__ typename Scan::TempStorage storage;
  unsigned long long before = 0;
#pragma unroll 1
  for (uint32_t tile = 0; tile < count; tile += kCloseThreads) {
    uint32_t const i = tile + threadIdx.x;
    unsigned long long place = 0;
    unsigned long long const length = i < count ? part(i, &place) : 0;
    unsigned long long sum;
    unsigned long long all;
    Scan(storage).ExclusiveSum(length, sum, all);
    if (i < count) {
      parts.before[i] = before + sum;
      parts.places[i] = place;
    }
    before += all;
    __syncthreads();  // the scan's storage is used again
  }
  if (threadIdx.x == 0) {
    parts.before[count] = before;
    *parts.count = count;
  }
}

__global__ void __launch_bounds__(kCloseThreads)
    plan_moves_kernel(const CarriedCounters* counters, const unsigned long long* tails,
                      uint32_t chunk_places, unsigned long long capacity, ChunkMoves moves,
                      ChunkAnswer* answer) {
  extern __shared__ uint32_t filled[];  // rows of each chunk from that of the last row on
  await_last_kernel();
  CarriedCounters const found = *counters;
  if (threadIdx.x == 0) {
    answer->content = found;
    give_answer(answer);
  }
  unsigned long long const places = chunk_places;
  bool const closes = found.left == 0 && found.chunks <= capacity / places && found.tails != 0;
  if (!closes) {
    if (threadIdx.x == 0) moves.holes.before[0] = *moves.holes.count = *moves.sources.count = 0;
    return;
  }
  unsigned long long const rows = found.chunks * places - found.holes;
  unsigned long long const last = rows / places;
  auto const within = static_cast<uint32_t>(rows % places);
  auto const beyond =
      static_cast<uint32_t>(found.chunks - last);  // the tails' holes: no more than they
  for (uint32_t i = threadIdx.x; i < beyond; i += kCloseThreads) filled[i] = chunk_places;
  __syncthreads();
  sum_chunk_parts(moves.holes, static_cast<uint32_t>(found.tails),
                  [&](uint32_t i, unsigned long long* place) {
                    unsigned long long const tail = tails[i];
                    unsigned long long const chunk = tail / places;
                    auto const used = static_cast<uint32_t>(tail % places);
                    *place = tail;
                    if (chunk < last) return chunk_places - used;
                    filled[chunk - last] = used;
                    return chunk == last && used < within ? within - used : 0;
                  });
  __syncthreads();
  sum_chunk_parts(moves.sources, beyond, [&](uint32_t i, unsigned long long* place) {
    uint32_t const begin = i == 0 ? within : 0;
    *place = (last + i) * places + begin;
    return filled[i] > begin ? filled[i] - begin : 0;
  });
}

// The part that has the row with so many before it: the last with no more before it. after: one
// before it, or it.
__device__ __forceinline__ uint32_t part_with(const ChunkParts& parts, uint32_t count,
                                              uint32_t after, unsigned long long row) {
  if (parts.before[after + 1] > row) return after;
  return holder_of(parts.before, after, count, row);
}

__global__ void __launch_bounds__(kStreamThreads)
    move_rows_kernel(ChunkMoves moves, const __grid_constant__ SqueezedColumns columns) {
  uint32_t const hole_count = *moves.holes.count;
  unsigned long long const rows = moves.holes.before[hole_count];
  uint32_t const source_count = *moves.sources.count;
  constexpr unsigned long long kWarpRows = 32 * kCloseItems;
  unsigned long long const warps = uint64_t{gridDim.x} * (kStreamThreads / 32);
  unsigned long long const warp = (uint64_t{blockIdx.x} * kStreamThreads + threadIdx.x) / 32;
  for (unsigned long long first = warp * kWarpRows; first < rows; first += warps * kWarpRows) {
    uint32_t hole = 0;
    uint32_t source = 0;
#pragma unroll 1
    for (int item = 0; item < kCloseItems; ++item) {
      unsigned long long const row = first + 32 * item + threadIdx.x % 32;
      if (row >= rows) break;
      hole = part_with(moves.holes, hole_count, hole, row);
      source = part_with(moves.sources, source_count, source, row);
      unsigned long long const to = moves.holes.places[hole] + (row - moves.holes.before[hole]);
      unsigned long long const from =
          moves.sources.places[source] + (row - moves.sources.before[source]);
      move_row(columns, to, from);
    }
  }
}

}  // namespace gpujoin::kernels
