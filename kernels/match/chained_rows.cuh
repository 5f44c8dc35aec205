// chained_rows.cuh: build keys that repeat, in a join of few rows: behind the row that the table
// has of a key come the others, one after the other
//
// Source   ours; chains of rows behind a table's slots are those of Blanas et al., 2011, on the
//          CPU. Where keys are unique a bit a row is all that they cost
// In       probe_keys[probe_rows]; a finder (table_columns.cuh) of one slice, which finds heads;
//          chains; columns of both sides
// Out      target[] of each column, without holes; *written, added to: the rows; *too_many: a chain
//          is longer than kMostChainedRows, or the first rows foretell more than most_rows: then
//          nothing of it has a meaning. Rows beyond the capacity are counted only
// Launch   all threads of a launch
// Moves    as table_columns.cuh, and two sectors of chains twice for each row put out
//
//   count the rows of the warp's chains, a step of all at a time; one addition gives them places
//   walk again, and write what a step finds, neighbours to neighbours, column by column
#pragma once

#include <cstdint>

#include "kernels/match/lane_rows.cuh"
#include "kernels/match/slot_steps.cuh"
#include "kernels/match/small_table.hpp"
#include "kernels/match/table_columns.cuh"

namespace gpujoin::kernels {

// All lanes of a warp, whose rows follow each other. are_first: of the lane's rows, as bits.
template <int kItems>
__device__ __forceinline__ void note_firsts(const ChainedRows& chains,
                                            const uint32_t (&rows)[kItems], uint32_t are_first,
                                            uint32_t build_rows) {
#pragma unroll
  for (int item = 0; item < kItems; ++item) {
    uint32_t const word = __ballot_sync(0xffffffffU, (are_first >> item & 1) != 0);
    if (threadIdx.x % 32 == 0 && rows[item] < build_rows) chains.firsts[rows[item] / 32] = word;
  }
}

// The row behind, or kNoRow. Both are asked for at once.
__device__ __forceinline__ uint32_t row_behind(const ChainedRows& chains, uint32_t row) {
  uint32_t const next = chains.next[row];
  uint32_t const firsts = chains.firsts[row / 32];
  return (firsts >> row % 32 & 1) != 0 ? kNoRow : next;
}

// Of all lanes' chains together.
template <int kItems>
__device__ __forceinline__ uint32_t count_chained(const uint32_t (&heads)[kItems],
                                                  const ChainedRows& chains, bool* too_many) {
  uint32_t at[kItems];
#pragma unroll
  for (int item = 0; item < kItems; ++item) at[item] = heads[item];
  uint32_t rows = 0;
  bool any = true;
#pragma unroll 1
  for (uint32_t step = 0; any && step <= kMostChainedRows; ++step) {
    any = false;
#pragma unroll
    for (int item = 0; item < kItems; ++item) {
      if (at[item] == kNoRow) continue;
      at[item] = row_behind(chains, at[item]);
      ++rows;
      any = true;
    }
  }
  *too_many = __any_sync(0xffffffffU, any);
  return __reduce_add_sync(0xffffffffU, rows);
}

// Writes the rows that the lanes are at, of which there is one, and takes each a row further.
template <int kWidth, typename Rows>
__device__ __forceinline__ void write_chain_step(const TableJoin<typename Rows::Key>& join,
                                                 const ChainedRows& chains, Rows& rows) {
  bool are_there[Rows::kItems];
  end_finding(rows.build, are_there);
  rows.slot_count = give_slots(are_there, rows);
  write_carried_rows<kWidth>(join, rows);
  rows.base += rows.slot_count;
#pragma unroll
  for (int item = 0; item < Rows::kItems; ++item) {
    if (rows.build[item] == kNoRow) continue;
    rows.build[item] = row_behind(chains, rows.build[item]);
  }
}

// Whether so many output rows of `probed` rows or fewer foretell more than so many. Once half of
// the rows are written it is too late to start again.
__device__ __forceinline__ bool foretells_more(unsigned long long rows, uint64_t probed,
                                               uint64_t probe_rows, unsigned long long most) {
  return most != kNoLimit && probed < probe_rows / 2 && rows * probe_rows > most * probed;
}

template <int kThreads, int kWidth, int kItems, typename Finder>
__device__ __forceinline__ void write_chained_columns(
    const TableJoin<typename Finder::Key>& join, const Finder& finder, const ChainedRows& chains,
    unsigned long long most_rows, unsigned long long* written, uint32_t* too_many) {
  constexpr uint32_t kBatch = 32 * kItems;
  uint64_t const warp = (uint64_t{blockIdx.x} * kThreads + threadIdx.x) / 32;
  uint64_t const stride = uint64_t{gridDim.x} * (kThreads / 32) * kBatch;
#pragma unroll 1
  for (uint64_t first = warp * kBatch; first < join.probe_rows; first += stride) {
    LaneRows<typename Finder::Key, kItems> rows;
    uint32_t found = 0;
    find_table_batch(join, finder, 0, first, rows, &found);
    if (found == 0) continue;
    bool is_too_long = false;
    uint32_t const count = count_chained(rows.build, chains, &is_too_long);
    unsigned long long base = 0;
    if (threadIdx.x % 32 == 0) base = atomicAdd(written, static_cast<unsigned long long>(count));
    base = __shfl_sync(0xffffffffU, base, 0);
    // Other warps are about as far as this one.
    uint64_t const probed = first + stride;
    if (is_too_long || foretells_more(base + count, probed, join.probe_rows, most_rows)) {
      *too_many = 1;
      return;
    }
    if (base + count > join.capacity) continue;
    rows.first_slot = 0;
    rows.base = base;
#pragma unroll 1
    while (rows.base != base + count) write_chain_step<kWidth>(join, chains, rows);
  }
}

}  // namespace gpujoin::kernels
