// range_levels.cuh: the levels of a wavelet tree over rows that have two places, p and q, and the
// rows p < first and q < second of each of many corners, level by level
//
// Source   the problem of IEJoin (Khayyat et al. 2015); levels as in a wavelet tree (Grossi et al.
//          2003). On level b rows lie in blocks of 2^b of p, in the order of q in each.
// In       places[rows]   p of each row of the level above
//          within[n]      of each corner: rows of its block of the level above that have q < second
// Out      the level's places and row numbers; of each corner the rows of the left half of its
//          block that it has, which are neighbours, or its count in the half that it goes on in
// Launch   one thread a row, or a corner; kStreamThreads a block. A warp writes one word of halves
// Moves    a level: 20 bytes a row, 20 bytes a corner and two reads of 8 bytes in L2
//                                                                       (traffic::range_levels)
#pragma once

#include <cstdint>

#include "kernels/tuning.hpp"

namespace gpujoin::kernels {

// A bit a row: whether it goes to the right half of its block; one word more than hold the rows.
struct Halves {
  uint32_t* words;
  uint32_t* ones_before;  // of each word; before the sum its own ones
};

__device__ inline uint32_t ones_among(const Halves& halves, uint32_t position) {
  uint32_t const below = (1U << position % 32) - 1;
  return halves.ones_before[position / 32] + __popc(halves.words[position / 32] & below);
}

// What the first level is made of.
__global__ void __launch_bounds__(kStreamThreads)
    number_places_kernel(const uint32_t* __restrict__ rows, uint32_t count,
                         uint32_t* __restrict__ place_of_row) {
  uint32_t const i = blockIdx.x * kStreamThreads + threadIdx.x;
  if (i < count) place_of_row[rows[i]] = i;
}
// seconds null: nobody asks for q by p.
__global__ void __launch_bounds__(kStreamThreads)
    first_level_kernel(const uint32_t* __restrict__ rows, uint32_t count,
                       const uint32_t* __restrict__ place_of_row, uint32_t* __restrict__ places,
                       uint32_t* __restrict__ seconds) {
  uint32_t const i = blockIdx.x * kStreamThreads + threadIdx.x;
  if (i >= count) return;
  uint32_t const place = place_of_row[rows[i]];
  if (places != nullptr) places[i] = place;
  if (seconds != nullptr) seconds[place] = i;
}

// expected: a thread for each bit of the words.
__global__ void __launch_bounds__(kStreamThreads)
    halves_kernel(const uint32_t* __restrict__ places, uint32_t count, uint32_t bit,
                  Halves halves) {
  uint32_t const i = blockIdx.x * kStreamThreads + threadIdx.x;
  bool const goes_right = i < count && (places[i] >> bit & 1) != 0;
  uint32_t const word = __ballot_sync(~0U, goes_right);
  if (threadIdx.x % 32 != 0 || i / 32 > count / 32) return;
  halves.words[i / 32] = word;
  halves.ones_before[i / 32] = __popc(word);
}

struct LevelRows {
  uint32_t* places;
  uint32_t* rows;
};

__global__ void __launch_bounds__(kStreamThreads)
    split_kernel(LevelRows from, LevelRows to, uint32_t count, uint32_t bit, Halves halves) {
  uint32_t const i = blockIdx.x * kStreamThreads + threadIdx.x;
  if (i >= count) return;
  uint32_t const place = from.places[i];
  uint32_t const half = 1U << bit;
  uint32_t const block = place >> bit >> 1 << bit << 1;
  // Blocks before this one are whole, and half of each goes to the right.
  uint32_t const right = ones_among(halves, i) - block / 2;
  uint32_t const target = (place & half) != 0 ? block + half + right : i - right;
  to.places[target] = place;
  to.rows[target] = from.rows[i];
}

__global__ void __launch_bounds__(kStreamThreads)
    walk_level_kernel(const uint32_t* __restrict__ first, uint32_t corners, uint32_t bit,
                      Halves halves, uint32_t* __restrict__ within, uint32_t* __restrict__ lower,
                      uint32_t* __restrict__ counts) {
  uint32_t const i = blockIdx.x * kStreamThreads + threadIdx.x;
  if (i >= corners) return;
  uint32_t const corner = first[i];
  uint32_t const here = within[i];
  uint32_t const block = corner >> bit >> 1 << bit << 1;
  uint32_t left = 0;
  if (here != 0) {
    uint32_t const right = ones_among(halves, block + here) - block / 2;
    left = here - right;
    bool const has_left_half = (corner >> bit & 1) != 0;
    within[i] = has_left_half ? right : left;
    if (!has_left_half) left = 0;
  }
  lower[i] = block;
  counts[i] = left;
}

// Whether any row that a corner has the places of is in it. lowest[p]: the lowest q of the places
// up to p.
__global__ void __launch_bounds__(kStreamThreads)
    has_row_kernel(const uint32_t* __restrict__ first, const uint32_t* __restrict__ second,
                   uint32_t corners, const uint32_t* __restrict__ lowest,
                   uint32_t* __restrict__ counts) {
  uint32_t const i = blockIdx.x * kStreamThreads + threadIdx.x;
  if (i >= corners) return;
  counts[i] = first[i] != 0 && lowest[first[i] - 1] < second[i] ? 1 : 0;
}

}  // namespace gpujoin::kernels
