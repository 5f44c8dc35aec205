// place_near.cuh: build rows that lie near others of near keys go to their places in a direct
// table, from where they lie
//
// Source   ours; as the second pass of place_slices.cuh a block has a slice of the table in shared
//          memory, but it looks for the slice's rows itself, in the tiles of rows whose lowest and
//          highest place are not both on one side of it
// In       keys[rows] Key within the table's range, and that of each tile of kNearTile rows
//          (key_range.cuh); columns of its rows; table, of which low and shift are read
// Out      present, one bit a place, all words; targets[places], of places without a row anything;
//          *has_duplicates: 0 or 1
// Needs    state all 0, which it is again afterwards; at most kMostNearSlices slices; few slices a
//          tile: visits says how many tiles blocks will read
// Launch   list: a thread for each tile, in blocks of kStreamThreads; then place: a block of
//          kNearThreads for each slice with slice_shared_bytes
// Moves    |Key| and sectors of the columns for each visit, all but the first from L2; bits and the
//          table's rows written
#pragma once

#include <cstdint>

#include "kernels/here.cuh"
#include "kernels/last_block.cuh"
#include "kernels/limits.hpp"
#include "kernels/match/direct_table.cuh"
#include "kernels/match/place_columns.cuh"
#include "kernels/match/place_slices.hpp"
#include "kernels/transform/key_range.hpp"

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
    list_tiles_kernel(const __grid_constant__ KeySteps<Key> steps,
                      const __grid_constant__ PlaceSlices slices,
                      const TileRange<Key>* __restrict__ ranges, uint32_t count, TilePlaces* tiles,
                      PlaceNearState* state) {
  uint32_t const tile = blockIdx.x * kStreamThreads + threadIdx.x;
  uint32_t own_slices = 0;
  if (tile < count) {
    TileRange<Key> const range = ranges[tile];
    auto const low = static_cast<uint32_t>(steps.place_of(turn_sign(range.low)));
    auto const high = static_cast<uint32_t>(steps.place_of(turn_sign(range.high)));
    tiles[tile] = {low, high};
    uint32_t const first = slices.slice_of(low);
    own_slices = slices.slice_of(high) - first + 1;
    uint32_t const listed = own_slices > kMostSlicesOfTile ? 0 : own_slices;
    for (uint32_t slice = first; slice < first + listed; ++slice) {
      atomicMax(&state->inverted_first[slice], ~tile);
      atomicMax(&state->end[slice], tile + 1);
    }
  }
  bool const is_wide = __any_sync(0xffffffffU, own_slices > kMostSlicesOfTile);
  uint32_t const of_warp = __reduce_add_sync(0xffffffffU, own_slices);
  if (threadIdx.x % 32 == 0) atomicAdd(&state->visits, is_wide ? kFarVisits : of_warp);
}

// The rows of a thread that have a place in the slice, column by column. first_row: of a part.
template <typename Row, int kItems>
__device__ __forceinline__ void keep_pieces(const PlacedColumns& columns,
                                            const unsigned char* first_target, uint32_t first_row,
                                            const uint32_t (&at)[kItems], uint32_t slice_places,
                                            Row* own_rows) {
  each_piece(columns, first_target, own_rows, [&](auto const& column, auto* piece, auto zero) {
    using Value = decltype(zero);
    uint32_t const row = first_row + threadIdx.x;
    if (column.source == nullptr) {
      if constexpr (sizeof(Value) == sizeof(uint32_t)) {
#pragma unroll
        for (int item = 0; item < kItems; ++item) {
          if (at[item] >= slice_places) continue;
          *reinterpret_cast<Value*>(piece + at[item] * sizeof(Row)) = row + item * kNearThreads;
        }
      }
      return;
    }
    // One address for all: those of each width would be worked out ahead, for which there are no
    // registers.
    const Value* const source = here(static_cast<const Value*>(column.source) + row);
    Value values[kItems];
#pragma unroll
    for (int item = 0; item < kItems; ++item) {
      if (at[item] < slice_places) values[item] = source[item * kNearThreads];
    }
#pragma unroll
    for (int item = 0; item < kItems; ++item) {
      if (at[item] >= slice_places) continue;
      *reinterpret_cast<Value*>(piece + at[item] * sizeof(Row)) = values[item];
    }
  });
}

// Tiles of rows that reach a slice, part by part: each thread has kItems rows of a part, every
// kNearThreads-th.
template <int kItems>
class ReachingParts {
 public:
  static constexpr uint32_t kTiles = kNearThreads;  // that are looked at together
  static constexpr uint32_t kRows = kItems * kNearThreads;
  static constexpr uint32_t kNone = 0xffffffffU;
  static_assert(kNearTile % kRows == 0);
  using Bits = uint32_t[kTiles / 32];

  // bits: of the tiles from `first_tile` on that reach the slice.
  __device__ ReachingParts(const Bits& bits, uint32_t first_tile, uint32_t rows)
      : bits_(bits), first_tile_(first_tile), rows_(rows), left_(bits[0]) {}

  // The first row of the next part; kNone: there are no more.
  __device__ __forceinline__ uint32_t next() {
    if constexpr (kNearTile != kRows) {
      if (part_ % kNearTile != 0 && part_ < rows_) {
        uint32_t const row = part_;
        part_ += kRows;
        return row;
      }
    }
    while (left_ == 0) {
      if (++word_ == kTiles / 32) return kNone;
      left_ = bits_[word_];
    }
    uint32_t const tile = first_tile_ + 32 * word_ + __ffs(static_cast<int>(left_)) - 1;
    left_ &= left_ - 1;
    part_ = tile * kNearTile + kRows;
    return tile * kNearTile;
  }

 private:
  const Bits& bits_;
  uint32_t first_tile_;
  uint32_t rows_;
  uint32_t word_ = 0;
  uint32_t left_;
  uint32_t part_ = 0;  // where the tile goes on; a multiple of tiles: nowhere
};

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
  constexpr int kItems = sizeof(Row) == 4 ? 8 : 4;
  using Parts = ReachingParts<kItems>;
  extern __shared__ __align__(16) unsigned char dynamic_shared[];
  __shared__ typename Parts::Bits reaching;
  __shared__ uint32_t repeated;  // rows that were placed and have no bit of their own
  auto* const own_rows = reinterpret_cast<Row*>(dynamic_shared);
  auto* const bits = reinterpret_cast<uint32_t*>(own_rows + slices.capacity);
  uint32_t const first_word = slices.first_word(blockIdx.x);
  uint32_t const words = slices.first_word(blockIdx.x + 1) - first_word;
  uint32_t const first = first_word * 32;
  uint32_t const slice_places = min(words * 32, places - first);
  for (uint32_t i = threadIdx.x; i < words; i += kNearThreads) bits[i] = 0;
  if (threadIdx.x == 0) repeated = 0;
  uint32_t const first_tile = ~state->inverted_first[blockIdx.x];
  uint32_t const end = state->end[blockIdx.x];

  uint32_t placed = 0;
#pragma unroll 1
  for (uint32_t tile = first_tile; tile < end; tile += Parts::kTiles) {
    bool reaches = false;
    if (tile + threadIdx.x < end) {
      TilePlaces const of_tile = tiles[tile + threadIdx.x];
      reaches = of_tile.high >= first && of_tile.low < first + slice_places;
    }
    uint32_t const lanes = __ballot_sync(0xffffffffU, reaches);
    if (threadIdx.x % 32 == 0) reaching[threadIdx.x / 32] = lanes;
    __syncthreads();
    Parts parts(reaching, tile, rows);
    // A thread waits for the keys of a part while it places another.
    Key ahead[kItems];
    auto const load = [&](uint32_t part) {
      if (part == Parts::kNone) return;
      const Key* const first_key = here(keys + part + threadIdx.x);
      bool const is_full = rows - part >= Parts::kRows;
#pragma unroll
      for (int item = 0; item < kItems; ++item) {
        if (is_full || part + threadIdx.x + item * kNearThreads < rows) {
          ahead[item] = first_key[item * kNearThreads];
        }
      }
    };
    uint32_t part = parts.next();
    load(part);
#pragma unroll 1
    while (part != Parts::kNone) {
      uint32_t const first_row = part;
      uint32_t const left = rows - part;
      uint32_t at[kItems];
#pragma unroll
      for (int item = 0; item < kItems; ++item) {
        at[item] = static_cast<uint32_t>(steps.place_of(ahead[item])) - first;
        if (threadIdx.x + item * kNearThreads >= left) at[item] = 0xffffffffU;
      }
      part = parts.next();
      load(part);
#pragma unroll
      for (int item = 0; item < kItems; ++item) {
        if (at[item] >= slice_places) continue;
        atomicOr(&bits[at[item] / 32], 1U << at[item] % 32);
        ++placed;
      }
      keep_pieces<Row>(columns, first_target, first_row, at, slice_places, own_rows);
    }
    __syncthreads();
  }
  __syncthreads();
  if (threadIdx.x == 0) state->inverted_first[blockIdx.x] = state->end[blockIdx.x] = 0;
  for (uint32_t i = threadIdx.x; i < words; i += kNearThreads) {
    placed -= __popc(bits[i]);
    present[first_word + i] = bits[i];
  }
  for (uint32_t i = threadIdx.x; i < slice_places; i += kNearThreads) {
    table_rows[first + i] = own_rows[i];
  }
  placed = __reduce_add_sync(0xffffffffU, placed);
  if (threadIdx.x % 32 == 0 && placed != 0) atomicAdd(&repeated, placed);
  __syncthreads();
  if (threadIdx.x != 0) return;
  if (repeated != 0) state->repeats = 1;
  if (!comes_last(&state->finished)) return;
  *has_duplicates = static_cast<volatile PlaceNearState*>(state)->repeats;
  state->repeats = state->finished = 0;
  state->visits = 0;
}

}  // namespace gpujoin::kernels
