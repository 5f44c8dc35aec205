// staged_pairs.cuh: a block's pairs, written coalesced whatever the counts of its threads
//
// Source   ours
// In       for each thread, how many pairs it has and a function that gives the next one; a
//          function that reserves places for them
// Out      build_out[], probe_out[]     uint32 row numbers or positions: 8 bytes a pair
// Needs    all threads of the block call together; kThreads * kEmitItems * 8 bytes of shared memory
//
// Rounds of kEmitItems pairs a thread keep all threads busy however unequal the counts.
#pragma once

#include <cub/block/block_scan.cuh>

#include <cstdint>

#include "kernels/output/pair_sink.hpp"
#include "kernels/tuning.hpp"

namespace gpujoin::kernels {

// One pair to its place, as row ids where the sink has them.
__device__ inline void store_pair(const PairTarget& target, unsigned long long place,
                                  uint32_t build, uint32_t probe) {
  if (target.build_row_ids != nullptr) build = target.build_row_ids[build];
  if (target.probe_row_ids != nullptr) probe = target.probe_row_ids[probe];
  target.build_out[place] = build;
  target.probe_out[place] = probe;
}

template <int kThreads>
class StagedPairs {
 public:
  static constexpr int kStage = kThreads * kEmitItems;
  static constexpr unsigned long long kRefused = ~0ULL;
  using Scan = cub::BlockScan<unsigned long long, kThreads>;
  struct Shared {
    typename Scan::TempStorage scan;
    unsigned long long base;
    uint32_t build[kStage];
    uint32_t probe[kStage];
  };

  __device__ StagedPairs(const PairTarget& target, Shared& shared)
      : target_(target), shared_(shared) {}

  // Writes the next `count` pairs of each thread to the places from reserve(total) on, which one
  // thread calls unless the total is
  // 0. False: it answered kRefused, and nothing was written.
  template <typename Next, typename Reserve>
  __device__ bool write(uint32_t count, Next next, Reserve reserve) {
    return in_rounds(count, next, reserve, [this](unsigned long long base, uint32_t round_total) {
      for (uint32_t i = threadIdx.x; i < round_total; i += kThreads) {
        store_pair(target_, base + i, shared_.build[i], shared_.probe[i]);
      }
    });
  }

  // The same with what is done to a round's pairs: put(base, round_total), by all threads, once the
  // pairs are staged. base: what was reserved, and the pairs of earlier rounds.
  template <typename Next, typename Reserve, typename Put>
  __device__ bool in_rounds(uint32_t count, Next next, Reserve reserve, Put put) {
    // Two sums in one scan: pairs of the first round (below 2^12) and pairs in total.
    unsigned long long const mine = round_of(count) | static_cast<unsigned long long>(count) << 16;
    unsigned long long offset = 0;
    unsigned long long sums = 0;
    Scan(shared_.scan).ExclusiveSum(mine, offset, sums);
    unsigned long long const total = sums >> 16;
    if (threadIdx.x == 0 && total != 0) shared_.base = reserve(total);
    __syncthreads();  // also: the scan's storage may be used again
    if (total == 0) return true;
    unsigned long long base = shared_.base;
    if (base == kRefused) return false;

    auto round_total = static_cast<uint32_t>(sums & 0xffff);
    auto position = static_cast<uint32_t>(offset & 0xffff);
    for (;;) {
      for (uint32_t end = position + round_of(count); position < end; ++position, --count) {
        next(&shared_.build[position], &shared_.probe[position]);
      }
      __syncthreads();
      put(base, round_total);
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

  const PairTarget& target_;
  Shared& shared_;
};

}  // namespace gpujoin::kernels
