// hash_partitions.cuh: rows of a block in the order of partitions
//
// Source   ours; histogram, offsets and scatter are Wu et al. 2024, Algorithm 1; a row's rank is
//          found in its warp as in Adinets & Merrill 2022 (one-sweep)
// In       numbers[row], its partition; counts[partition * tiles + tile]; columns of 1, 2, 4, 8, 16
//          bytes, bits, row numbers
// Out      begin[p], the first place of partition p, a multiple of kRunAlign; count[p], its rows;
//          runs of partitions, each its columns one behind the other (RunPlace), of which bits
//          become bytes. Rows of a partition keep their order. Places behind them keep what they
//          held
// Needs    what kernels/keys/number_partitions.cuh writes
// Launch   place_runs: one block of kHashSumThreads; move: a block of kHashThreads a tile of
//          kHashTile rows
// Moves    columns once read and once written, a byte a row, 12 bytes a partition and tile: through
//          L2, which holds a block of rows
#pragma once

#include <cstdint>

#include "kernels/transform/hash_partitions.hpp"
#include "kernels/value_type.cuh"

namespace gpujoin::kernels {

// Counts become the rows of the partition in the tiles before. A warp takes a partition at a time.
__global__ void __launch_bounds__(kHashSumThreads)
    place_runs_kernel(uint32_t runs, uint32_t tiles, uint32_t* __restrict__ counts,
                      RunHeader* __restrict__ header) {
  __shared__ uint32_t totals[kMostRuns];
  constexpr uint32_t kAll = 0xffffffffU;
  uint32_t const lane = threadIdx.x % 32;
  for (uint32_t run = threadIdx.x / 32; run < runs; run += kHashSumThreads / 32) {
    uint32_t before = 0;
    for (uint32_t tile = lane; tile - lane < tiles; tile += 32) {
      uint32_t const own = tile < tiles ? counts[run * tiles + tile] : 0;
      uint32_t sum = own;
#pragma unroll
      for (uint32_t step = 1; step < 32; step *= 2) {
        uint32_t const other = __shfl_up_sync(kAll, sum, step);
        if (lane >= step) sum += other;
      }
      if (tile < tiles) counts[run * tiles + tile] = before + sum - own;
      before += __shfl_sync(kAll, sum, 31);
    }
    if (lane == 0) totals[run] = before;
  }
  __syncthreads();
  if (threadIdx.x != 0) return;
  uint32_t begin = 0;
  for (uint32_t run = 0; run < runs; ++run) {
    header->begin[run] = begin;
    header->count[run] = totals[run];
    begin += places_of_run(totals[run]);
  }
}

// A warp has neighbouring rows, and counts those of its own that come before in each partition.
__global__ void __launch_bounds__(kHashThreads)
    move_to_runs_kernel(const uint8_t* __restrict__ numbers, uint32_t rows, uint32_t runs,
                        const uint32_t* __restrict__ before, const RunHeader* __restrict__ header,
                        const __grid_constant__ RunColumns columns) {
  constexpr int kWarps = kHashThreads / 32;
  constexpr uint32_t kAll = 0xffffffffU;
  constexpr uint32_t kNone = kMostRuns;               // of a row that is not there
  __shared__ uint32_t places[kWarps][kMostRuns + 1];  // in the run
  __shared__ uint32_t run_begins[kMostRuns];
  __shared__ uint32_t run_places[kMostRuns];
  uint32_t const warp = threadIdx.x / 32;
  uint32_t const lane = threadIdx.x % 32;
  uint32_t* const own = places[warp];
  for (uint32_t run = lane; run <= kMostRuns; run += 32) own[run] = 0;
  __syncwarp();
  uint32_t const first = blockIdx.x * kHashTile + warp * (32 * kHashItems) + lane;
  uint32_t row_runs[kHashItems];
  uint32_t ranks[kHashItems];
#pragma unroll
  for (int i = 0; i < kHashItems; ++i) {
    uint32_t const row = first + 32 * i;
    row_runs[i] = row < rows ? numbers[row] : kNone;
  }
#pragma unroll
  for (int i = 0; i < kHashItems; ++i) {
    uint32_t const same = __match_any_sync(kAll, row_runs[i]);
    uint32_t const counted = own[row_runs[i]];
    __syncwarp();
    if (lane == static_cast<uint32_t>(__ffs(static_cast<int>(same)) - 1)) {
      own[row_runs[i]] = counted + __popc(same);
    }
    __syncwarp();
    ranks[i] = counted + __popc(same & ((1U << lane) - 1));
  }
  __syncthreads();
  if (threadIdx.x < runs) {
    run_begins[threadIdx.x] = header->begin[threadIdx.x];
    run_places[threadIdx.x] = places_of_run(header->count[threadIdx.x]);
    uint32_t place = before[threadIdx.x * gridDim.x + blockIdx.x];
#pragma unroll
    for (auto& of_warp : places) {
      uint32_t const count = of_warp[threadIdx.x];
      of_warp[threadIdx.x] = place;
      place += count;
    }
  }
  __syncthreads();
#pragma unroll
  for (int i = 0; i < kHashItems; ++i) ranks[i] += own[row_runs[i]];
  for (int32_t c = 0; c < columns.count; ++c) {
    RunColumn const& column = columns.columns[c];
    RunPlace const in_run = {columns.row_bytes, column.before};
    auto const each = [&](auto zero, auto value_of) {
      using Value = decltype(zero);
#pragma unroll
      for (int i = 0; i < kHashItems; ++i) {
        if (row_runs[i] == kNone) continue;
        auto* const values =
            reinterpret_cast<Value*>(static_cast<uint8_t*>(columns.out) +
                                     in_run.of(run_begins[row_runs[i]], run_places[row_runs[i]]));
        values[ranks[i]] = value_of(first + 32 * i);
      }
    };
    if (column.are_bits) {
      ValidityBits const bits = {static_cast<const uint8_t*>(column.in), column.first_bit};
      each(uint8_t{0}, [&](uint32_t row) { return is_valid(bits, row) ? uint8_t{1} : uint8_t{0}; });
    } else if (column.in == nullptr) {
      each(int64_t{0}, [&](uint32_t row) { return column.first_number + row; });
    } else {
      with_value_type(column.width, [&](auto zero) {
        auto const* const in = static_cast<const decltype(zero)*>(column.in);
        each(zero, [&](uint32_t row) { return in[row]; });
      });
    }
  }
}

}  // namespace gpujoin::kernels
