// finish_runs.cuh: rows that are in order by the upper bits of their keys, put in order by the
// lower ones
//
// Paper    Stehle & Jacobsen 2017 (hybrid radix sort): where upper bits leave few rows together,
//          those are put in order in shared memory, and lower bits have no pass of their own
// Differs  a row counts the rows of its run that come before it, and only those are moved, in
//          place, that lie elsewhere: upper bits are so many that most rows are alone
// In       keys[rows]    in order by the bits from `upper` on; a run has those in common
//          values[rows]  row numbers
// Out      keys, values  in order by all of SortBits, equal ones as they were
//          unfinished    not 0: a run is longer than a block sees and not in order. Runs are whole
//                        then, in order or as they were
// Needs    unfinished is 0 before
// Launch   kRunTile rows a block of kRunThreads. A block has the runs that begin in its tile, and
//          sees kRunReach rows behind it where the last of them goes on
// Moves    |Key| a row, read; of rows that are moved key and number, read and written
//
// Blocks read rows that others move at the same time: a tile's neighbours, of which only the upper
// bits count, and those stay whatever row of the run is there.
#pragma once

#include <cstdint>

#include "kernels/tuning.hpp"

namespace gpujoin::kernels {

// Bits [begin, end) of a key are what it is sorted by, those from `upper` on already.
struct SortBits {
  int32_t begin;
  int32_t upper;
  int32_t end;

  __device__ uint64_t value(uint64_t key) const {
    return (key << (64 - end)) >> (64 - end + begin);
  }
  __device__ uint64_t run(uint64_t key) const { return value(key) >> (upper - begin); }
};

constexpr uint32_t kNoRun = 0xffffffff;

// A bit for each row that a block sees, and for the one behind them.
struct RowBits {
  static constexpr uint32_t kWords = (kRunTile + kRunReach) / 32 + 1;
  uint32_t words[kWords];

  // The last one at `row` or before it.
  __device__ uint32_t last_until(uint32_t row) const {
    uint32_t word = row / 32;
    uint32_t bits = words[word] & (0xffffffffU >> (31 - row % 32));
    while (bits == 0) {
      if (word == 0) return kNoRun;
      bits = words[--word];
    }
    return word * 32 + 31 - __clz(static_cast<int>(bits));
  }
  // The first one at `row` or behind it. expected: row < 32 * kWords
  __device__ uint32_t first_from(uint32_t row) const {
    uint32_t word = row / 32;
    uint32_t bits = words[word] & (0xffffffffU << row % 32);
    while (bits == 0) {
      if (++word == kWords) return kNoRun;
      bits = words[word];
    }
    return word * 32 + __ffs(static_cast<int>(bits)) - 1;
  }
  __device__ bool any(uint32_t begin, uint32_t end) const {
    uint32_t const first = first_from(begin);
    return first != kNoRun && first < end;
  }
};

struct RunTile {
  uint64_t keys[kRunTile + kRunReach];
  RowBits begins;    // of runs
  RowBits descents;  // rows that belong before the one before them, of the same run
};

// Where a row of the tile belongs; its own place where it stays.
__device__ inline uint32_t place_in_run(const RunTile& tile, const SortBits& bits, uint32_t row,
                                        uint32_t own, uint32_t seen, uint32_t* unfinished) {
  uint32_t const begin = tile.begins.last_until(row);
  if (begin == kNoRun || begin >= own) return row;  // another block's
  uint32_t const end = tile.begins.first_from(row + 1);
  if (end == begin + 1) return row;
  if (!tile.descents.any(begin, end == kNoRun ? seen : end)) return row;
  if (end == kNoRun) {
    *unfinished = 1;
    return row;
  }
  uint64_t const value = bits.value(tile.keys[row]);
  uint32_t place = begin;
  for (uint32_t other = begin; other < end; ++other) {
    uint64_t const other_value = bits.value(tile.keys[other]);
    place += other_value < value || (other_value == value && other < row) ? 1 : 0;
  }
  return place;
}

__global__ void __launch_bounds__(kRunThreads)
    finish_runs_kernel(uint64_t* keys, uint32_t* values, uint32_t rows, SortBits bits,
                       uint32_t* unfinished) {
  static_assert(kRunReach == kRunThreads);
  __shared__ RunTile tile;
  uint32_t const tile_begin = blockIdx.x * kRunTile;  // below rows
  uint32_t const left = rows - tile_begin;
  uint32_t const own = min(static_cast<uint32_t>(kRunTile), left);
#pragma unroll
  for (int item = 0; item < kRunItems; ++item) {
    uint32_t const row = item * kRunThreads + threadIdx.x;
    if (row < own) tile.keys[row] = keys[tile_begin + row];
  }
  __syncthreads();
  bool const goes_on =
      own < left && bits.run(keys[tile_begin + own]) == bits.run(tile.keys[own - 1]);
  uint32_t const seen = goes_on ? min(own + kRunReach, left) : own;
  if (own + threadIdx.x < seen) {
    tile.keys[own + threadIdx.x] = keys[tile_begin + own + threadIdx.x];
  }
  __syncthreads();

  // Behind what is seen another run begins, or nothing is known.
  bool const is_end = !goes_on || seen == left;
  bool descends = false;
  uint32_t const lane = threadIdx.x % 32;
  for (uint32_t word = threadIdx.x / 32; word < RowBits::kWords; word += kRunThreads / 32) {
    uint32_t const row = word * 32 + lane;
    bool is_begin = is_end;
    bool is_descent = false;
    if (row < seen) {
      uint64_t const key = tile.keys[row];
      is_begin = row == 0 && tile_begin == 0;
      if (!is_begin) {
        uint64_t const last = row == 0 ? keys[tile_begin - 1] : tile.keys[row - 1];
        is_begin = bits.run(key) != bits.run(last);
        is_descent = !is_begin && bits.value(key) < bits.value(last);
      }
    }
    uint32_t const begins = __ballot_sync(0xffffffffU, is_begin);
    uint32_t const descents = __ballot_sync(0xffffffffU, is_descent);
    if (lane == 0) {
      tile.begins.words[word] = begins;
      tile.descents.words[word] = descents;
    }
    descends |= descents != 0;
  }
  // Runs of equal keys end here, however long they are.
  if (__syncthreads_or(descends ? 1 : 0) == 0) return;

  if (threadIdx.x == 0) {
    // Of the run that goes on from the tile before: its block saw kRunReach rows of it, and has put
    // it in order where it ended among them. Nobody moves a longer one.
    uint32_t const first = min(tile.begins.first_from(0), seen);
    if (first > kRunReach && tile.descents.any(0, first)) *unfinished = 1;
  }
  uint32_t places[kRunItems + 1];
  uint32_t moved[kRunItems + 1] = {};
#pragma unroll
  for (int item = 0; item <= kRunItems; ++item) {
    uint32_t const row = item * kRunThreads + threadIdx.x;
    places[item] = row;
    if (row >= seen) continue;
    places[item] = place_in_run(tile, bits, row, own, seen, unfinished);
    if (places[item] != row) moved[item] = values[tile_begin + row];
  }
  // All numbers are read.
  __syncthreads();
#pragma unroll
  for (int item = 0; item <= kRunItems; ++item) {
    uint32_t const row = item * kRunThreads + threadIdx.x;
    if (places[item] == row) continue;
    keys[tile_begin + places[item]] = tile.keys[row];
    values[tile_begin + places[item]] = moved[item];
  }
}

}  // namespace gpujoin::kernels
