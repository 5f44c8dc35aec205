// place_near.cuh: build rows that lie near others of near keys go to their places in a direct
// table, from where they lie
//
// Source   ours; as the second pass of place_slices.cuh a block has a slice of the table in shared
//          memory, but it looks for the slice's rows itself, in the tiles of rows whose lowest and
//          highest place are not both on one side of it
// In       keys[rows] Key within the table's range; columns of its rows; table, of which low and
//          shift are read
// Out      present, one bit a place, all words; targets[places], of places without a row anything;
//          *has_duplicates: 0 or 1
// Needs    state all 0, which it is again afterwards; at most kMostNearSlices slices; few slices a
//          tile: visits says how many tiles blocks will read
// Launch   tiles: ceil(rows / kNearTile) blocks of kStreamThreads; then place: a block of
//          kNearThreads for each slice with slice_shared_bytes
// Moves    |Key| read for the tiles; |Key| and sectors of the columns for each visit, all but the
//          first from L2; bits and the table's rows written
#pragma once

#include <cstdint>

#include "kernels/last_block.cuh"
#include "kernels/limits.hpp"
#include "kernels/match/direct_table.cuh"
#include "kernels/match/place_columns.cuh"
#include "kernels/match/place_slices.hpp"

namespace gpujoin::kernels {

constexpr int kNearThreads = 1024;
// A tile of more slices counts as kFarVisits: its rows are not near each other.
constexpr uint32_t kMostSlicesOfTile = 64;
constexpr unsigned long long kFarVisits = 1ULL << 40;

// The lowest and the highest place of a tile's rows.
struct TilePlaces {
  uint32_t low;
  uint32_t high;
};

struct PlaceNearState {
  unsigned long long visits;  // tiles, once for each slice of theirs
  uint32_t finished;          // blocks that placed
  uint32_t repeats;           // not 0: a key comes twice
  // Tiles in which a slice has rows: from ~inverted_first to the one before end; 0, 0: none.
  uint32_t inverted_first[kMostNearSlices];
  uint32_t end[kMostNearSlices];
};

template <typename Key>
__global__ void __launch_bounds__(kStreamThreads)
    tile_places_kernel(const __grid_constant__ KeySteps<Key> steps,
                       const __grid_constant__ PlaceSlices slices, const Key* __restrict__ keys,
                       uint32_t rows, TilePlaces* tiles, PlaceNearState* state) {
  constexpr int kItems = 8;
  constexpr int kWarps = kStreamThreads / 32;
  __shared__ TilePlaces warps[kWarps];
  uint64_t const first = uint64_t{blockIdx.x} * kNearTile;
  uint32_t low = 0xffffffffU;
  uint32_t high = 0;
#pragma unroll 1
  for (uint64_t part = first; part < first + kNearTile; part += kItems * kStreamThreads) {
    Key own[kItems];
#pragma unroll
    for (int item = 0; item < kItems; ++item) {
      uint64_t const row = part + item * kStreamThreads + threadIdx.x;
      own[item] = row < rows ? keys[row] : keys[first];
    }
#pragma unroll
    for (int item = 0; item < kItems; ++item) {
      auto const place = static_cast<uint32_t>(steps.place_of(own[item]));
      low = min(low, place);
      high = max(high, place);
    }
  }
  low = __reduce_min_sync(0xffffffffU, low);
  high = __reduce_max_sync(0xffffffffU, high);
  if (threadIdx.x % 32 == 0) warps[threadIdx.x / 32] = {low, high};
  __syncthreads();
  if (threadIdx.x >= 32) return;
  TilePlaces const of_warp = warps[threadIdx.x % kWarps];
  low = __reduce_min_sync(0xffffffffU, of_warp.low);
  high = __reduce_max_sync(0xffffffffU, of_warp.high);
  uint32_t const first_slice = slices.slice_of(low);
  uint32_t const count = slices.slice_of(high) - first_slice + 1;
  bool const is_wide = count > kMostSlicesOfTile;
  if (threadIdx.x == 0) {
    tiles[blockIdx.x] = {low, high};
    atomicAdd(&state->visits, is_wide ? kFarVisits : count);
  }
  if (is_wide) return;
  for (uint32_t slice = first_slice + threadIdx.x; slice < first_slice + count; slice += 32) {
    atomicMax(&state->inverted_first[slice], ~blockIdx.x);
    atomicMax(&state->end[slice], blockIdx.x + 1);
  }
}

// The rows of a thread that have a place in the slice, column by column.
template <typename Row, int kItems>
__device__ __forceinline__ void keep_pieces(const PlacedColumns& columns,
                                            const unsigned char* first_target, uint64_t first_row,
                                            const uint32_t (&at)[kItems], uint32_t slice_places,
                                            Row* own_rows) {
  each_piece(columns, first_target, own_rows, [&](auto const& column, auto* piece, auto zero) {
    using Value = decltype(zero);
    Value values[kItems];
#pragma unroll
    for (int item = 0; item < kItems; ++item) {
      if (at[item] >= slice_places) continue;
      uint64_t const row = first_row + item * kNearThreads;
      if (column.source != nullptr) {
        values[item] = static_cast<const Value*>(column.source)[row];
      } else if constexpr (sizeof(Value) == sizeof(uint32_t)) {
        values[item] = static_cast<uint32_t>(row);
      }
    }
#pragma unroll
    for (int item = 0; item < kItems; ++item) {
      if (at[item] >= slice_places) continue;
      *reinterpret_cast<Value*>(piece + at[item] * sizeof(Row)) = values[item];
    }
  });
}

// first_target: see each_piece.
template <typename Key, typename Row>
__global__ void __launch_bounds__(kNearThreads)
    place_near_kernel(const __grid_constant__ KeySteps<Key> steps,
                      const __grid_constant__ PlaceSlices slices, uint32_t places,
                      const Key* __restrict__ keys, uint32_t rows,
                      const __grid_constant__ PlacedColumns columns,
                      const unsigned char* first_target, const TilePlaces* __restrict__ tiles,
                      PlaceNearState* state, uint32_t* present, Row* table_rows,
                      uint32_t* has_duplicates) {
  constexpr int kItems = sizeof(Row) == 16 ? 4 : 8;
  static_assert(kNearTile % (kItems * kNearThreads) == 0);
  constexpr uint32_t kNoPlace = 0xffffffffU;
  extern __shared__ __align__(16) unsigned char dynamic_shared[];
  auto* const own_rows = reinterpret_cast<Row*>(dynamic_shared);
  auto* const bits = reinterpret_cast<uint32_t*>(own_rows + slices.capacity);
  uint32_t const first_word = slices.first_word(blockIdx.x);
  uint32_t const words = slices.first_word(blockIdx.x + 1) - first_word;
  uint32_t const first = first_word * 32;
  uint32_t const slice_places = min(words * 32, places - first);
  for (uint32_t i = threadIdx.x; i < words; i += kNearThreads) bits[i] = 0;
  uint32_t const first_tile = ~state->inverted_first[blockIdx.x];
  uint32_t const end = state->end[blockIdx.x];
  __syncthreads();
  if (threadIdx.x == 0) state->inverted_first[blockIdx.x] = state->end[blockIdx.x] = 0;

  bool repeats = false;
#pragma unroll 1
  for (uint32_t tile = first_tile; tile < end; ++tile) {
    TilePlaces const of_tile = tiles[tile];
    if (of_tile.high < first || of_tile.low >= first + slice_places) continue;
    uint64_t const tile_row = uint64_t{tile} * kNearTile;
#pragma unroll 1
    for (uint32_t part = 0; part < kNearTile; part += kItems * kNearThreads) {
      uint64_t const first_row = tile_row + part + threadIdx.x;
      uint32_t at[kItems];
#pragma unroll
      for (int item = 0; item < kItems; ++item) {
        uint64_t const row = first_row + item * kNearThreads;
        at[item] = row < rows ? static_cast<uint32_t>(steps.place_of(keys[row])) - first : kNoPlace;
      }
#pragma unroll
      for (int item = 0; item < kItems; ++item) {
        if (at[item] >= slice_places) continue;
        uint32_t const bit = 1U << at[item] % 32;
        repeats |= (atomicOr(&bits[at[item] / 32], bit) & bit) != 0;
      }
      keep_pieces<Row>(columns, first_target, first_row, at, slice_places, own_rows);
    }
  }
  if (repeats) state->repeats = 1;
  __syncthreads();
  for (uint32_t i = threadIdx.x; i < words; i += kNearThreads) present[first_word + i] = bits[i];
  for (uint32_t i = threadIdx.x; i < slice_places; i += kNearThreads) {
    table_rows[first + i] = own_rows[i];
  }
  if (threadIdx.x != 0 || !comes_last(&state->finished)) return;
  *has_duplicates = static_cast<volatile PlaceNearState*>(state)->repeats;
  state->repeats = state->finished = 0;
  state->visits = 0;
}

}  // namespace gpujoin::kernels
