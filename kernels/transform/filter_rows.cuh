// filter_rows.cuh: rows whose key the other side cannot have, or has not, are left out before they
// are moved
//
// Source   ours: an exact semi-join filter, one bit a key, where keys lie close together; else one
//          bit a hash, a Bloom filter (1970) of one function, as CPU joins have before their
//          partitioning
// In       keys[rows] Key; source_rows[rows], or null for the identity; which rows are present; the
//          bits, and where a key's is; columns that go along, of rows that are their own source
// Out      kept keys, their source rows and values of the columns, in their order but for whole
//          tiles, values of no more than along.room; count += kept. Of the marking side the bit of
//          each key that has one. Whether a key lies outside of what was expected, or between its
//          steps: then what was kept is worth nothing
// Needs    bits 0 before the first side; count 0; *expected.outside 0
// Launch   ceil(rows / kFilterTile) blocks of kFilterThreads
// Moves    |Key| a row read, 4 more of source_rows; |Key| + 4 + |columns| a kept row written, and
//          the sectors of the columns in which they are; a sector of the bits for each key in the
//          range
//                                                                            (traffic::filter_rows)
#pragma once

#include <cstdint>

#include "kernels/bytes_column.hpp"
#include "kernels/marked_bit.cuh"
#include "kernels/transform/filter_rows.hpp"
#include "kernels/tuning.hpp"
#include "kernels/warp_sum.cuh"

namespace gpujoin::kernels {

constexpr int kFilterTile = kFilterThreads * kFilterItems;

// kMark, kMarkOnce: this side's keys make the bits, and rows that have one are kept; once: a key
// may come very often, and its bit is looked at before it is set, since one address takes 0.6e9
// atomics a second. kTest: rows are kept whose bit is there.
enum class FilterMode { kMark, kMarkOnce, kTest };

// Half of a thread's items at a time: with values of all of them in registers fewer blocks would be
// there, and bits asked for at once. to_of(item): where a kept row's value goes.
template <typename Value, typename ToOf>
__device__ __forceinline__ void copy_along(const AlongColumn& column, uint64_t room, uint64_t row,
                                           uint32_t kept, const ToOf& to_of) {
  constexpr int kAtOnce = kFilterItems * sizeof(uint32_t) / sizeof(Value);
  auto const* const from = static_cast<const Value*>(column.from) + row;
  auto* const to = static_cast<Value*>(column.to);
#pragma unroll
  for (int first = 0; first < kFilterItems; first += kAtOnce) {
    Value values[kAtOnce];
#pragma unroll
    for (int i = 0; i < kAtOnce; ++i) {
      if ((kept >> (first + i) & 1) != 0) values[i] = __ldcs(&from[(first + i) * kFilterThreads]);
    }
#pragma unroll
    for (int i = 0; i < kAtOnce; ++i) {
      if ((kept >> (first + i) & 1) == 0) continue;
      uint64_t const place = to_of(first + i);
      if (place < room) to[place] = values[i];
    }
  }
}

// kept_keys null: rows are not kept, only marked. kAlong: some columns go along, which takes
// registers; without any that costs 4 % of a filter.
template <typename Filter, FilterMode kMode, bool kAlong>
__global__ void __launch_bounds__(kFilterThreads)
    filter_rows_kernel(Filter filter, ExpectedKeys<typename Filter::Key> expected,
                       const typename Filter::Key* __restrict__ keys,
                       const uint32_t* __restrict__ source_rows, ValidityBits present,
                       uint32_t rows, const __grid_constant__ AlongColumns along,
                       typename Filter::Key* __restrict__ kept_keys,
                       uint32_t* __restrict__ kept_rows, unsigned long long* __restrict__ count) {
  using Key = typename Filter::Key;
  constexpr int kWarps = kFilterThreads / 32;
  __shared__ uint32_t counts[kFilterItems][kWarps];
  __shared__ unsigned long long base;
  uint32_t const lane = threadIdx.x % 32;
  uint32_t const warp = threadIdx.x / 32;
  uint64_t const tile = uint64_t{blockIdx.x} * kFilterTile;
  Key own[kFilterItems];
  bool kept[kFilterItems];
#pragma unroll
  for (int item = 0; item < kFilterItems; ++item) {
    uint64_t const row = tile + item * kFilterThreads + threadIdx.x;
    kept[item] = row < rows && is_valid(present, row);
    own[item] = kept[item] ? __ldcs(&keys[row]) : 0;
  }
  if (expected.outside != nullptr) {
    bool outside = false;
#pragma unroll
    for (int item = 0; item < kFilterItems; ++item) {
      Key const distance = own[item] - expected.low;
      outside |=
          kept[item] && (distance > expected.span || (distance & expected.between_steps) != 0);
    }
    if (__any_sync(0xffffffffU, outside) && lane == 0) *expected.outside = 1;
  }
#pragma unroll
  for (int item = 0; item < kFilterItems; ++item) {
    Key const place = filter.place_of(own[item]);
    kept[item] = kept[item] && place < filter.places;
    if (!kept[item]) continue;
    uint32_t* const word = &filter.bits[place / 32];
    uint32_t const bit = 1U << place % 32;
    if constexpr (kMode == FilterMode::kTest) {
      kept[item] = (*word & bit) != 0;
    } else if (kMode == FilterMode::kMark || !is_marked(word, bit)) {
      atomicOr(word, bit);
    }
  }
  if (kept_keys == nullptr) return;
  uint32_t within[kFilterItems];
#pragma unroll
  for (int item = 0; item < kFilterItems; ++item) {
    uint32_t const lanes = __ballot_sync(0xffffffffU, kept[item]);
    within[item] = __popc(lanes & ((1U << lane) - 1));
    if (lane == 0) counts[item][warp] = __popc(lanes);
  }
  __syncthreads();
  if (warp == 0) {
    constexpr int kCounts = kFilterItems * kWarps;
    constexpr int kEach = kCounts / 32;
    auto* const all = &counts[0][0];
    uint32_t sums[kEach];
    uint32_t sum = 0;
#pragma unroll
    for (int i = 0; i < kEach; ++i) {
      sums[i] = sum;
      sum += all[lane * kEach + i];
    }
    uint32_t const end = warp_inclusive_sum(sum);
#pragma unroll
    for (int i = 0; i < kEach; ++i) all[lane * kEach + i] = end - sum + sums[i];
    if (lane == 31) base = atomicAdd(count, static_cast<unsigned long long>(end));
  }
  __syncthreads();
  auto const place_of = [&](int item) { return base + counts[item][warp] + within[item]; };
  [[maybe_unused]] uint32_t are_kept = 0;
#pragma unroll
  for (int item = 0; item < kFilterItems; ++item) {
    if (!kept[item]) continue;
    uint64_t const row = tile + item * kFilterThreads + threadIdx.x;
    uint64_t const place = place_of(item);
    kept_keys[place] = own[item];
    kept_rows[place] = source_rows != nullptr ? source_rows[row] : static_cast<uint32_t>(row);
    are_kept |= 1U << item;
  }
  if constexpr (kAlong) {
    for (int column = 0; column < along.count; ++column) {
      uint64_t const row = tile + threadIdx.x;
      if (along.each[column].width == sizeof(uint32_t)) {
        copy_along<uint32_t>(along.each[column], along.room, row, are_kept, place_of);
      } else {
        copy_along<unsigned long long>(along.each[column], along.room, row, are_kept, place_of);
      }
    }
  }
}

}  // namespace gpujoin::kernels
