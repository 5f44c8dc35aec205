// place_slices.cuh: many build rows go to their places in a direct table, slice by slice
//
// Source   ours; a pass that partitions by place, as radix_unordered.cuh stages and writes, and a
//          pass whose blocks have a slice of the table each in shared memory. Unique keys are no
//          more than their slice has places, so buckets need no counting before
// In       keys[rows] Key within the table's range; columns of its rows; table, of which low and
//          shift are read
// Out      present, one bit a place, all words; targets[places], of places without a row anything;
//          *has_duplicates: 0 or 1
// Needs    state all 0, which it is again afterwards; at most kMostNearSlices slices, of which a
//          tile's rows are written kMostPlaceSlices at a time; bucket_places and bucket_rows
//          [count * capacity]
// Launch   partition: ceil(rows / tile) blocks of kPlaceThreads with partition_shared_bytes;
//          then place: a block of kSliceThreads for each slice with slice_shared_bytes, dependent
// Moves    |Key| and the row read, a place of 4 bytes and the row written and read; bits and the
//          table's rows written
#pragma once

#include <cstdint>

#include "kernels/block_flag.cuh"
#include "kernels/dependent_launch.cuh"
#include "kernels/last_block.cuh"
#include "kernels/limits.hpp"
#include "kernels/match/direct_table.cuh"
#include "kernels/match/place_columns.cuh"
#include "kernels/match/place_slices.hpp"

namespace gpujoin::kernels {

constexpr int kPlaceThreads = 512;
// By which the compiler limits registers, of which tiles of wide rows would take so many that one
// block ran at a time. H200, 10^8 rows of 8 bytes, shuffled in blocks of 65536: 1.14 ms, 2.5 then.
template <typename Row>
constexpr int kPlaceBlocksPerSm = sizeof(Row) == 16 ? 2 : 3;
constexpr int kSliceThreads = 1024;

// Rows of a thread. H200, 10^7 rows of 4 bytes, 10^6: with 16 and two blocks a multiprocessor 111
// us and 18.5, with 8 and two 123 and 16.6, with 8 and three 109 and 16.1.
constexpr int kPlaceItems = 8;
constexpr int kPlaceTile = kPlaceThreads * kPlaceItems;
template <typename Row>
constexpr uint64_t partition_shared_bytes() {
  return kPlaceTile * (sizeof(Row) + sizeof(uint32_t));
}

struct PlaceSlicesState {
  uint32_t finished;                 // blocks that placed
  uint32_t repeats;                  // not 0: a key comes twice
  uint32_t filled[kMostNearSlices];  // rows of each bucket
};

// All threads: the place in the tile of the first row of each of a round's slices, for its count;
// ahead: what leads from there to its place in the bucket. Rows of the round.
__device__ __forceinline__ uint32_t reserve_in_buckets(uint32_t* filled, uint32_t round_slices,
                                                       uint32_t* counts, uint32_t* ahead) {
  constexpr int kEach = kMostPlaceSlices / kPlaceThreads;
  constexpr int kWarps = kPlaceThreads / 32;
  __shared__ uint32_t warp_sums[kWarps];
  uint32_t own[kEach];
  uint32_t sum = 0;
#pragma unroll
  for (int i = 0; i < kEach; ++i) {
    uint32_t const slice = threadIdx.x * kEach + i;
    own[i] = slice < round_slices ? counts[slice] : 0;
    sum += own[i];
  }
  uint32_t up_to = sum;
#pragma unroll
  for (int lanes = 1; lanes < 32; lanes *= 2) {
    uint32_t const before = __shfl_up_sync(0xffffffffU, up_to, lanes);
    if (threadIdx.x % 32 >= lanes) up_to += before;
  }
  if (threadIdx.x % 32 == 31) warp_sums[threadIdx.x / 32] = up_to;
  __syncthreads();
  uint32_t first = up_to - sum;
  uint32_t all = 0;
  for (uint32_t warp = 0; warp < kWarps; ++warp) {
    if (warp < threadIdx.x / 32) first += warp_sums[warp];
    all += warp_sums[warp];
  }
#pragma unroll
  for (int i = 0; i < kEach; ++i) {
    uint32_t const slice = threadIdx.x * kEach + i;
    if (slice >= round_slices) break;
    counts[slice] = first;
    if (own[i] != 0) ahead[slice] = atomicAdd(&filled[slice], own[i]) - first;
    first += own[i];
  }
  return all;
}

// All threads: the lowest and the highest slice of the block's rows.
struct SliceSpan {
  uint32_t first;
  uint32_t last;
};
template <int kItems>
__device__ __forceinline__ SliceSpan slices_of_tile(const PlaceSlices& slices,
                                                    const uint32_t (&places)[kItems],
                                                    uint32_t none) {
  __shared__ SliceSpan span;
  if (threadIdx.x == 0) span = {none, 0};
  uint32_t lowest = none;
  uint32_t highest = 0;
#pragma unroll
  for (int item = 0; item < kItems; ++item) {
    if (places[item] == none) continue;
    lowest = min(lowest, places[item]);
    highest = max(highest, places[item]);
  }
  lowest = __reduce_min_sync(0xffffffffU, lowest);
  highest = __reduce_max_sync(0xffffffffU, highest);
  __syncthreads();
  if (threadIdx.x % 32 == 0 && lowest != none) {
    atomicMin(&span.first, slices.slice_of(lowest));
    atomicMax(&span.last, slices.slice_of(highest));
  }
  __syncthreads();
  return span;
}

// The rows of a thread that have a place there, column by column, to where each is staged.
template <typename Row, int kItems>
__device__ __forceinline__ void stage_pieces(const PlacedColumns& columns,
                                             const unsigned char* first_target, uint64_t tile,
                                             const uint32_t (&at)[kItems], uint32_t none,
                                             Row* staged_rows) {
  each_piece(columns, first_target, staged_rows, [&](auto const& column, auto* piece, auto zero) {
    using Value = decltype(zero);
#pragma unroll
    for (int item = 0; item < kItems; ++item) {
      if (at[item] == none) continue;
      uint64_t const row = tile + item * kPlaceThreads + threadIdx.x;
      auto* const target = piece + at[item] * sizeof(Row);
      if (column.source == nullptr) {
        *reinterpret_cast<uint32_t*>(target) = static_cast<uint32_t>(row);
      } else {
        *reinterpret_cast<Value*>(target) = static_cast<const Value*>(column.source)[row];
      }
    }
  });
}

// first_target: see each_piece.
template <typename Key, typename Row>
__global__ void __launch_bounds__(kPlaceThreads, kPlaceBlocksPerSm<Row>)
    partition_places_kernel(const __grid_constant__ KeySteps<Key> steps,
                            const __grid_constant__ PlaceSlices slices,
                            const Key* __restrict__ keys, uint32_t rows,
                            const __grid_constant__ PlacedColumns columns,
                            const unsigned char* first_target, PlaceSlicesState* state,
                            uint32_t* bucket_places, Row* bucket_rows) {
  constexpr int kItems = kPlaceItems;
  constexpr uint32_t kNone = 0xffffffffU;  // no place: there are fewer
  extern __shared__ __align__(16) unsigned char dynamic_shared[];
  auto* const staged_rows = reinterpret_cast<Row*>(dynamic_shared);
  auto* const staged_places = reinterpret_cast<uint32_t*>(staged_rows + kPlaceTile);
  __shared__ uint32_t counts[kMostPlaceSlices];
  __shared__ uint32_t ahead[kMostPlaceSlices];
  let_next_kernel_start();
  if (is_set_by_now(&state->repeats)) return;

  uint64_t const tile = uint64_t{blockIdx.x} * kPlaceTile;
  uint32_t places[kItems];
  uint32_t at[kItems];  // in its slice, then in the tile
#pragma unroll
  for (int item = 0; item < kItems; ++item) {
    uint64_t const row = tile + item * kPlaceThreads + threadIdx.x;
    places[item] = row < rows ? static_cast<uint32_t>(steps.place_of(__ldcs(&keys[row]))) : kNone;
  }
  SliceSpan span = {0, slices.count - 1};
  if (slices.count > kMostPlaceSlices) span = slices_of_tile(slices, places, kNone);
#pragma unroll 1
  for (uint32_t first = span.first; first <= span.last; first += kMostPlaceSlices) {
    uint32_t const round_slices = min(span.last - first + 1, kMostPlaceSlices);
    for (uint32_t i = threadIdx.x; i < round_slices; i += kPlaceThreads) counts[i] = 0;
    __syncthreads();
#pragma unroll
    for (int item = 0; item < kItems; ++item) {
      at[item] = kNone;
      uint32_t const slice = slices.slice_of(places[item]) - first;
      if (places[item] == kNone || slice >= round_slices) continue;
      at[item] = atomicAdd(&counts[slice], 1U);
    }
    __syncthreads();
    uint32_t const staged = reserve_in_buckets(state->filled + first, round_slices, counts, ahead);
    __syncthreads();
#pragma unroll
    for (int item = 0; item < kItems; ++item) {
      if (at[item] == kNone) continue;
      at[item] += counts[slices.slice_of(places[item]) - first];
      staged_places[at[item]] = places[item];
    }
    stage_pieces(columns, first_target, tile, at, kNone, staged_rows);
    __syncthreads();
    for (uint32_t i = threadIdx.x; i < staged; i += kPlaceThreads) {
      uint32_t const place = staged_places[i];
      uint32_t const slice = slices.slice_of(place);
      uint32_t const in_bucket = ahead[slice - first] + i;
      if (in_bucket < slices.capacity) {
        uint64_t const to = uint64_t{slice} * slices.capacity + in_bucket;
        bucket_places[to] = place;
        bucket_rows[to] = staged_rows[i];
      } else {
        state->repeats = 1;
      }
    }
    __syncthreads();
  }
}

template <typename Row>
__global__ void __launch_bounds__(kSliceThreads)
    place_slices_kernel(const __grid_constant__ PlaceSlices slices, uint32_t places,
                        PlaceSlicesState* state, const uint32_t* __restrict__ bucket_places,
                        const Row* __restrict__ bucket_rows, uint32_t* present, Row* table_rows,
                        uint32_t* has_duplicates) {
  constexpr int kItems = 4;
  extern __shared__ __align__(16) unsigned char dynamic_shared[];
  auto* const own_rows = reinterpret_cast<Row*>(dynamic_shared);
  auto* const bits = reinterpret_cast<uint32_t*>(own_rows + slices.capacity);
  uint32_t const first_word = slices.first_word(blockIdx.x);
  uint32_t const words = slices.first_word(blockIdx.x + 1) - first_word;
  uint32_t const first = first_word * 32;
  for (uint32_t i = threadIdx.x; i < words; i += kSliceThreads) bits[i] = 0;
  await_last_kernel();
  uint32_t rows = min(state->filled[blockIdx.x], slices.capacity);
  // Not all of them may be in their buckets.
  if (is_set_by_now(&state->repeats)) rows = 0;
  if (threadIdx.x == 0) state->filled[blockIdx.x] = 0;

  uint64_t const bucket = uint64_t{blockIdx.x} * slices.capacity;
  bool repeats = false;
  for (uint32_t tile = 0; tile < rows; tile += kSliceThreads * kItems) {
    uint32_t place[kItems];
    Row row[kItems];
#pragma unroll
    for (int item = 0; item < kItems; ++item) {
      uint32_t const i = tile + item * kSliceThreads + threadIdx.x;
      if (i >= rows) continue;
      place[item] = __ldcs(&bucket_places[bucket + i]) - first;
      row[item] = __ldcs(&bucket_rows[bucket + i]);
    }
#pragma unroll
    for (int item = 0; item < kItems; ++item) {
      if (tile + item * kSliceThreads + threadIdx.x >= rows) continue;
      uint32_t const bit = 1U << place[item] % 32;
      repeats |= (atomicOr(&bits[place[item] / 32], bit) & bit) != 0;
      own_rows[place[item]] = row[item];
    }
  }
  if (repeats) state->repeats = 1;
  __syncthreads();
  for (uint32_t i = threadIdx.x; i < words; i += kSliceThreads) present[first_word + i] = bits[i];
  uint32_t const own_places = min(words * 32, places - first);
  for (uint32_t i = threadIdx.x; i < own_places; i += kSliceThreads) {
    table_rows[first + i] = own_rows[i];
  }
  if (threadIdx.x != 0 || !comes_last(&state->finished)) return;
  *has_duplicates = static_cast<volatile PlaceSlicesState*>(state)->repeats;
  state->repeats = state->finished = 0;
}

}  // namespace gpujoin::kernels
