// carried_places.cuh: where the blocks of a join that writes columns write: chunks, a block's warps
// side by side
//
// Source   ours; chunks of blocks are Rui & Tu's (3.2.2), whose holes close_chunks.cuh fills
// In       counters, chunk and capacity of a CarriedJoin, a TableJoin or a PartsJoin
// Out      places; tails[] and the number of holes, at the end
// Moves    16 bytes a chunk of join.chunk places
#pragma once

#include <cstdint>

#include "kernels/match/carried_columns.hpp"
#include "kernels/match/work_units.cuh"
#include "kernels/tuning.hpp"

namespace gpujoin::kernels {

// A block's places: a chunk of which its warps take what they write. One atomic add in shared
// memory tells a warp both the chunk and the place in it, so warps wait for each other only while
// one of them fetches the next chunk. One global counter for every batch would be asked more often
// than an H200 answers, 0.6e9 times a second.
class CarriedPlaces {
 public:
  using Shared = unsigned long long;  // number of the chunk << 32 | places taken of it, or more

  // One thread, before the others take any.
  template <typename Join>
  __device__ static void start(const Join& join, Shared& shared) {
    shared = join.chunk;
  }

  // All lanes of a warp: the first of *count places, of which there are `rows`, or at least one and
  // the others are to be asked for. rows: 1 to join.chunk.
  template <typename Join>
  __device__ static unsigned long long take(const Join& join, Shared& shared, uint32_t rows,
                                            uint32_t* count) {
    unsigned long long before = 0;
    if (threadIdx.x % 32 == 0) {
      for (;;) {
        before = atomicAdd(&shared, static_cast<unsigned long long>(rows));
        auto const used = static_cast<uint32_t>(before);
        if (used < join.chunk) {
          // What is missing is asked for again, of the next chunk: this one is just full.
          if (used + rows > join.chunk) atomicExch(&shared, (before >> 32 << 32) | join.chunk);
          break;
        }
        if (used == join.chunk) {
          // Whoever finds the chunk just full fetches the next one, and has the first places of it.
          before = atomicAdd(&join.counters->chunks, 1ULL) << 32;
          atomicExch(&shared, before | rows);
          break;
        }
        while (static_cast<uint32_t>(*static_cast<volatile Shared*>(&shared)) > join.chunk) {
          __nanosleep(20);
        }
      }
    }
    before = __shfl_sync(0xffffffffU, before, 0);
    auto const used = static_cast<uint32_t>(before);
    *count = min(rows, join.chunk - used);
    return (before >> 32) * join.chunk + used;
  }

  // Places of a unit whose rows are counted before they are written: those that were left of the
  // block's chunk, then others, side by side.
  struct OfUnit {
    unsigned long long first;
    unsigned long long others;
    uint32_t left;
  };
  // One thread, while no other takes any.
  template <typename Join>
  __device__ static OfUnit take_all(const Join& join, Shared& shared, uint32_t rows) {
    auto const used = static_cast<uint32_t>(shared);
    OfUnit places = {(shared >> 32) * join.chunk + used, 0, join.chunk - used};
    if (rows <= places.left) {
      shared += rows;
      return places;
    }
    uint32_t const beyond = rows - places.left;
    uint32_t const chunks = parts_of(beyond, join.chunk);
    unsigned long long const chunk =
        atomicAdd(&join.counters->chunks, static_cast<unsigned long long>(chunks));
    places.others = chunk * join.chunk;
    shared = (chunk + chunks - 1) << 32 | (beyond - (chunks - 1) * join.chunk);
    return places;
  }

  // One thread, after the others took theirs.
  template <typename Join>
  __device__ static void finish(const Join& join, const Shared& shared) {
    auto const used = static_cast<uint32_t>(shared);
    if (used >= join.chunk) return;
    join.tails[atomicAdd(&join.counters->tails, 1ULL)] = (shared >> 32) * join.chunk + used;
    atomicAdd(&join.counters->holes, static_cast<unsigned long long>(join.chunk - used));
  }
};

}  // namespace gpujoin::kernels
