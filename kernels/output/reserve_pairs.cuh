// reserve_pairs.cuh: places for pairs, handed out in order and exactly
//
// Source   ours; see emit_pairs.cuh for what follows from a refusal
// Needs    one thread for all that write together
#pragma once

#include <cstdint>

#include "kernels/output/pair_sink.hpp"

namespace gpujoin::kernels {

constexpr unsigned long long kRefused = ~0ULL;

// The first of `pairs` places, or kRefused: then nothing may be written, and the host is told how far the output is good.
__device__ inline unsigned long long reserve_pairs(const PairSink& sink, unsigned long long pairs) {
  unsigned long long const base = atomicAdd(&sink.counters->reserved, pairs);
  if (base + pairs <= sink.capacity) return base;
  atomicMin(&sink.counters->filled, base);
  return kRefused;
}

}  // namespace gpujoin::kernels
