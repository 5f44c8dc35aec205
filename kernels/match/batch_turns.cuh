// batch_turns.cuh: batches of rows that all blocks work on nearly in their order
//
// Source   ours
// In       counter, 0 before: turns that were given out beyond the first two of each block
// Out      numbers of batches, 0, 1, ..., each once, without an end
// Needs    2^7 warps in a block at most, of which one thread draws
// Moves    an atomic add to memory a turn
// Shared   24 bytes; a compare-and-swap a batch
//
// Blocks that go through rows by a stride drift apart: what rows near each other read again has
// left L2 by then, and slices of a table compete for it. A block that takes its next batches when
// it has begun the last of those before is never far from the others.
#pragma once

#include <cstdint>

namespace gpujoin::kernels {

// H200, 10^8 x 10^8 rows shuffled in blocks of 16384: 2.73 ms by a stride, 2.26 in turns of 32 and
// of 16. Turns of one batch are an atomic add of every warp to one address: 1.4 times as long.
// Fewer than 32 where a block would have few turns, and some of them would be left with none.
constexpr uint32_t kMostTurnBatches = 32;
constexpr uint32_t kFewestTurns = 8;  // of a block

class BatchTurns {
 public:
  // By one thread, before a barrier. batches: that all blocks together want.
  __device__ void start(uint64_t batches) {
    drawn_ = uint64_t{blockIdx.x} << kBatchBits;
    next_ = gridDim.x + blockIdx.x;
    uint64_t const wanted = batches / (uint64_t{kFewestTurns} * gridDim.x);
    size_ = static_cast<uint32_t>(min(max(wanted, uint64_t{1}), uint64_t{kMostTurnBatches}));
  }

  __device__ __forceinline__ uint64_t draw(unsigned long long* counter) {
    while (true) {
      uint64_t const number = atomicAdd(&drawn_, 1ULL);
      uint64_t const batch = number & kBatch;
      if (batch < size_) return (number >> kBatchBits) * size_ + batch;
      if (batch == size_) return begin_next(counter);
      // Whoever asked for the first one beyond the turn's batches begins the next turn.
      while ((atomicOr(&drawn_, 0ULL) & kBatch) > size_) __nanosleep(20);
    }
  }

 private:
  static constexpr unsigned long long kNone = ~0ULL;
  static constexpr uint32_t kBatchBits = 8;
  static constexpr uint64_t kBatch = (1U << kBatchBits) - 1;
  static_assert(kMostTurnBatches + 128 <= kBatch);  // all warps ask in vain

  __device__ uint64_t begin_next(unsigned long long* counter) {
    uint64_t turn;
    do {
      turn = atomicExch(&next_, kNone);
    } while (turn == kNone);
    __threadfence_block();
    atomicExch(&drawn_, turn << kBatchBits | 1);
    atomicExch(&next_, 2 * gridDim.x + atomicAdd(counter, 1ULL));
    return turn * size_;
  }

  // The block's turn, and how many of its batches were drawn, or asked for in vain.
  unsigned long long drawn_;
  // Turn, fetched ahead of time; kNone: it was taken, and another one is on its way.
  unsigned long long next_;
  uint32_t size_;
};

}  // namespace gpujoin::kernels
