// emit_pairs.cuh: where a match puts its pairs: blocks reserve exactly what they write, then write it coalesced
//
// Source   ours; replaces the two passes and the page holes of Rui & Tu 3.2.2
// In       for each thread, how many pairs it has and a function that gives the next one
// Out      build_out[], probe_out[]     uint32 row numbers or positions: 8 bytes a pair, nothing between them
// Needs    all threads of the block call together; kThreads * kEmitItems * 8 bytes of shared memory
//
//   reserved:  0 ......... base .......... capacity .........
//              |  written  | this block's pairs |  a reservation that ends beyond capacity is refused
//
// Reservations are given out in order and never taken back, so everything below the lowest refused base is written and
// nothing above it is. The block that was refused writes nothing of its batch and says so; the host makes room, sets
// `reserved` back to that base, and the block does the batch again.
#pragma once

#include <cub/block/block_scan.cuh>

#include <cstdint>

#include "kernels/output/pair_sink.hpp"
#include "kernels/output/reserve_pairs.cuh"
#include "kernels/tuning.hpp"

namespace gpujoin::kernels {

template <int kThreads>
class BlockEmitter {
 public:
  static constexpr int kStage = kThreads * kEmitItems;
  using Scan = cub::BlockScan<unsigned long long, kThreads>;
  struct Shared {
    typename Scan::TempStorage scan;
    unsigned long long base;
    uint32_t build[kStage];
    uint32_t probe[kStage];
  };

  __device__ BlockEmitter(const PairSink& sink, Shared& shared) : sink_(sink), shared_(shared) {}

  // Writes the next `count` pairs of each thread; next(&build, &probe) is called exactly count times. Rounds of kEmitItems
  // pairs a thread keep all threads busy however unequal the counts. False: there was no room and nothing was written.
  template <typename Next>
  __device__ bool emit(uint32_t count, Next next) {
    // Two sums in one scan: pairs of the first round (below 2^12) and pairs in total.
    unsigned long long const mine = round_of(count) | static_cast<unsigned long long>(count) << 16;
    unsigned long long offset = 0;
    unsigned long long sums = 0;
    Scan(shared_.scan).ExclusiveSum(mine, offset, sums);
    unsigned long long const total = sums >> 16;
    if (threadIdx.x == 0 && total != 0) shared_.base = reserve_pairs(sink_, total);
    __syncthreads();  // also: the scan's storage may be used again
    if (total == 0) return true;
    unsigned long long base = shared_.base;
    if (base == kRefused) return false;

    uint32_t round_total = static_cast<uint32_t>(sums & 0xffff);
    uint32_t position = static_cast<uint32_t>(offset & 0xffff);
    for (;;) {
      for (uint32_t end = position + round_of(count); position < end; ++position, --count) {
        next(&shared_.build[position], &shared_.probe[position]);
      }
      __syncthreads();
      write_round(base, round_total);
      base += round_total;
      if (base == shared_.base + total) break;
      __syncthreads();  // the stage is read before the next round overwrites it
      unsigned long long const again = round_of(count);
      Scan(shared_.scan).ExclusiveSum(again, offset, sums);
      position = static_cast<uint32_t>(offset);
      round_total = static_cast<uint32_t>(sums);
      __syncthreads();
    }
    __syncthreads();  // the caller may use the block's shared memory again
    return true;
  }

 private:
  __device__ static uint32_t round_of(uint32_t count) {
    return count < kEmitItems ? count : static_cast<uint32_t>(kEmitItems);
  }

  __device__ void write_round(unsigned long long base, uint32_t pairs) {
    for (uint32_t i = threadIdx.x; i < pairs; i += kThreads) {
      uint32_t build = shared_.build[i];
      uint32_t probe = shared_.probe[i];
      if (sink_.build_row_ids != nullptr) build = sink_.build_row_ids[build];
      if (sink_.probe_row_ids != nullptr) probe = sink_.probe_row_ids[probe];
      sink_.build_out[base + i] = build;
      sink_.probe_out[base + i] = probe;
    }
  }

  const PairSink& sink_;
  Shared& shared_;
};

}  // namespace gpujoin::kernels
