// batch_turns.cuh: batches of rows that all blocks work on nearly in their order
//
// Source   ours
// In       counter, 0 before: turns that were given out beyond the first two of each block
// Out      numbers of batches, 0, 1, ..., each once, without an end
// Needs    2^7 warps in a block at most, of which one thread draws
// Moves    an atomic add to memory for each kTurnBatches batches
// Shared   16 bytes; a compare-and-swap a batch
//
// Blocks that go through rows by a stride drift apart: what rows near each other read again has
// left L2 by then, and slices of a table compete for it. A block that takes its next batches when
// it has begun the last of those before is never far from the others.
#pragma once

#include <cstdint>

namespace gpujoin::kernels {

// H200, 10^8 x 10^8 rows shuffled in blocks of 16384: 2.73 ms by a stride, 2.26 in turns of 32 and
// of 16. Turns of one batch are an atomic add of every warp to one address: 1.4 times as long.
constexpr uint32_t kTurnBatches = 32;

class BatchTurns {
 public:
  // By one thread, before a barrier.
  __device__ void start() {
    drawn_ = uint64_t{blockIdx.x} << kBatchBits;
    next_ = gridDim.x + blockIdx.x;
  }

  __device__ __forceinline__ uint64_t draw(unsigned long long* counter) {
    while (true) {
      uint64_t const number = atomicAdd(&drawn_, 1ULL);
      uint64_t const batch = number & kBatch;
      if (batch < kTurnBatches) return (number >> kBatchBits) * kTurnBatches + batch;
      if (batch == kTurnBatches) return begin_next(counter);
      // Whoever asked for the first one beyond the turn's batches begins the next turn.
      while ((atomicOr(&drawn_, 0ULL) & kBatch) > kTurnBatches) {
      }
    }
  }

 private:
  static constexpr unsigned long long kNone = ~0ULL;
  static constexpr uint32_t kBatchBits = 8;
  static constexpr uint64_t kBatch = (1U << kBatchBits) - 1;
  static_assert(kTurnBatches + 128 <= kBatch);  // all warps ask in vain

  __device__ uint64_t begin_next(unsigned long long* counter) {
    uint64_t turn;
    do {
      turn = atomicExch(&next_, kNone);
    } while (turn == kNone);
    __threadfence_block();
    atomicExch(&drawn_, turn << kBatchBits | 1);
    atomicExch(&next_, 2 * gridDim.x + atomicAdd(counter, 1ULL));
    return turn * kTurnBatches;
  }

  // The block's turn, and how many of its batches were drawn, or asked for in vain.
  unsigned long long drawn_;
  // Turn, fetched ahead of time; kNone: it was taken, and another one is on its way.
  unsigned long long next_;
};

}  // namespace gpujoin::kernels
