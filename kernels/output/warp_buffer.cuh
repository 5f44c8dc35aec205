// warp_buffer.cuh: pairs of a warp, gathered in shared memory and spilled when the buffer is full
//
// Paper    Lin & Liao 2025, section 3.1, optimizations 1 and 2 of cuCollections' retrieve: results
//          go to a buffer in shared memory, which is written out when it is full; lanes find their
//          places by ballot and count
// Differs  places are reserved exactly and may be refused, as in emit_pairs.cuh, so that the output
//          may grow. A warp spills by itself: no lane waits for another warp's walk
// In       from each lane at most one pair a call, row numbers as they are to be written
// Out      build_out[], probe_out[] of the sink      uint32, nothing between them
// Needs    whole warps; kWarpBufferPairs * 8 bytes of shared memory a warp
// Moves    8 bytes a pair; one atomic a spill
#pragma once

#include <cstdint>

#include "kernels/output/emit_pairs.cuh"
#include "kernels/tuning.hpp"

namespace gpujoin::kernels {

class WarpBuffer {
 public:
  struct Shared {
    uint32_t build[kWarpBufferPairs];
    uint32_t probe[kWarpBufferPairs];
  };

  __device__ WarpBuffer(const PairSink& sink, Shared& shared) : sink_(sink), shared_(shared) {}

  // Takes a pair from each lane that has one. Expected: has_room().
  __device__ void push(bool has_pair, uint32_t build, uint32_t probe) {
    unsigned const lanes = __ballot_sync(0xffffffffU, has_pair);
    if (has_pair) {
      uint32_t const at = pairs_ + __popc(lanes & ((1U << lane()) - 1));
      shared_.build[at] = build;
      shared_.probe[at] = probe;
    }
    pairs_ += __popc(lanes);
  }

  __device__ bool has_room() const { return pairs_ + 32 <= kWarpBufferPairs; }

  // Writes what was pushed since the last spill. False: there was no room, and nothing of it was
  // written.
  __device__ bool spill() {
    if (pairs_ == 0) return true;
    unsigned long long base = 0;
    if (lane() == 0) base = reserve_pairs(sink_.counters, sink_.capacity, pairs_);
    base = __shfl_sync(0xffffffffU, base, 0);
    if (base == StagedPairs<32>::kRefused) return false;
    __syncwarp();  // all lanes' pairs lie in shared memory
    for (uint32_t i = lane(); i < pairs_; i += 32) {
      sink_.build_out[base + i] = shared_.build[i];
      sink_.probe_out[base + i] = shared_.probe[i];
    }
    __syncwarp();  // read before the next push overwrites them
    pairs_ = 0;
    return true;
  }

 private:
  __device__ static uint32_t lane() { return threadIdx.x % 32; }

  const PairSink& sink_;
  Shared& shared_;
  uint32_t pairs_ = 0;  // the same in every lane
};

}  // namespace gpujoin::kernels
