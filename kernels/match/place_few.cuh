// place_few.cuh: few build rows go to their places in a direct table, of which nothing is cleared
// before
//
// Source   ours; of few rows a call that clears bits takes the host as long as all rows the device
// In       as place_columns.cuh; a table of one slice whose `present` are bits that are 0
// Out      as place_columns.cuh; present[vectors], which gets those bits, 128 places each, and
//          *has_duplicates: 0 or 1
// Needs    state and the table's bits all 0, which they are again afterwards
// Launch   ceil(rows / kFewTile) blocks of kStreamThreads
// Moves    as place_columns.cuh, and the bits once more
#pragma once

#include <cstdint>

#include "kernels/last_block.cuh"
#include "kernels/match/direct_table.cuh"
#include "kernels/match/place_columns.cuh"

namespace gpujoin::kernels {

// Rows of a thread: of few rows each multiprocessor has some.
constexpr int kFewItems = 1;
constexpr int kFewTile = kStreamThreads * kFewItems;

struct PlaceFewState {
  uint32_t finished;  // blocks
  uint32_t repeats;
  uint32_t unused[2];  // bits that follow are aligned
};

template <typename Key>
__global__ void __launch_bounds__(kStreamThreads)
    place_few_kernel(const __grid_constant__ DirectTable<Key> table, const Key* __restrict__ keys,
                     uint32_t rows, const __grid_constant__ PlacedColumns columns,
                     PlaceFewState* state, uint4* present, uint32_t vectors,
                     uint32_t* has_duplicates) {
  uint64_t const tile = uint64_t{blockIdx.x} * kFewTile;
  Key own[kFewItems];
  uint32_t places[kFewItems];
  bool is_placed[kFewItems];
#pragma unroll
  for (int item = 0; item < kFewItems; ++item) {
    uint64_t const row = tile + item * kStreamThreads + threadIdx.x;
    is_placed[item] = row < rows;
    if (is_placed[item]) own[item] = keys[row];
  }
  bool const repeats = table.take(own, 0, places, is_placed);
  write_columns(columns, tile, places, is_placed);
  if (__syncthreads_or(repeats) != 0 && threadIdx.x == 0) atomicOr(&state->repeats, 1U);
  bool const is_last = threadIdx.x == 0 && comes_last(&state->finished);
  if (__syncthreads_or(is_last) == 0) return;
  auto* const taken = reinterpret_cast<uint4*>(table.present);
#pragma unroll 4
  for (uint32_t i = threadIdx.x; i < vectors; i += kStreamThreads) {
    present[i] = __ldcg(&taken[i]);
    taken[i] = {};
  }
  if (threadIdx.x != 0) return;
  *has_duplicates = static_cast<volatile PlaceFewState*>(state)->repeats;
  *state = {};
}

}  // namespace gpujoin::kernels
