// emit_pairs.cuh: where a match puts its pairs: blocks reserve exactly what they write, then write
// it coalesced
//
// Source   ours; replaces the two passes and the page holes of Rui & Tu 3.2.2
// In       for each thread, how many pairs it has and a function that gives the next one
// Out      build_out[], probe_out[]     uint32 row numbers or positions: 8 bytes a pair, nothing
//          between them
// Needs    all threads of the block call together; kThreads * kEmitItems * 8 bytes of shared memory
//
//   reserved:  0 ......... base .......... capacity .........
//              |  written  | this block's pairs |  a reservation that ends beyond capacity is
//              refused
//
// Reservations are given out in order and never taken back, so everything below the lowest refused
// base is written and nothing above it is. The block that was refused writes nothing of its batch
// and says so; the host makes room, sets `reserved` back to that base, and the block does the batch
// again.
#pragma once

#include <cstdint>

#include "kernels/output/pair_sink.hpp"
#include "kernels/output/staged_pairs.cuh"

namespace gpujoin::kernels {

// Places for `total` pairs, or StagedPairs::kRefused.
__device__ inline unsigned long long reserve_pairs(PairCounters* counters, uint64_t capacity,
                                                   unsigned long long total) {
  unsigned long long const base = atomicAdd(&counters->reserved, total);
  if (base + total <= capacity) return base;
  atomicMin(&counters->filled, base);
  return ~0ULL;
}

template <int kThreads>
class BlockEmitter {
 public:
  static constexpr bool kResumes = true;
  using Shared = typename StagedPairs<kThreads>::Shared;

  __device__ BlockEmitter(const PairSink& sink, Shared& shared)
      : sink_(sink), pairs_(sink, shared) {}

  __device__ void begin(unsigned long long) {}

  template <typename Next>
  __device__ bool emit(uint32_t count, Next next) {
    return pairs_.write(count, next, [this](unsigned long long total) {
      return reserve_pairs(sink_.counters, sink_.capacity, total);
    });
  }

  __device__ void finish() {}

 private:
  const PairSink& sink_;
  StagedPairs<kThreads> pairs_;
};

}  // namespace gpujoin::kernels
