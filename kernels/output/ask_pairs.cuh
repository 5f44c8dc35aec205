// ask_pairs.cuh: a match that asks a condition of its pairs before it puts them out: those that it
// is not true of are never written
//
// Source   ours
// In       for each thread, how many pairs it has and a function that gives the next one; a
//          conjunction of comparisons
// Out      build_out[], probe_out[]     uint32 row numbers or positions of pairs that are kept: 8
//          bytes a pair, nothing between them
//          marked[]                     1 for each row of a side that has one, with the pairs or
//          in their place
// Needs    all threads of the block call together; kThreads * kEmitItems * 8 bytes of shared memory
// Moves    8 bytes a pair that is kept, a byte of a row that is marked; + the values, of which
//          neighbouring pairs find most in the first cache where positions are those of a partition
//
// How many pairs of a batch are kept is known when they have been asked, and places are given then.
// So that no block needs a place that is not there, a batch first asks for room for all of them,
// and gives back what it dropped:
//
//   kept + what blocks at work were granted and did not yet drop = granted - dropped <= capacity
//
// `dropped` only grows, so one that is read too early refuses too much. Read late, it may have been
// dropped of what was granted later, which then had the sum below the capacity with this in it. A
// block that is refused has written nothing of its batch and stops, as one of BlockEmitter does;
// the host makes room, and starts with granted = kept.
//
// Marks are bytes, which all that have one write alike: 2^26 bits set by atomics took 1.8 ms of an
// H200.
#pragma once

#include <cstdint>

#include "kernels/conditions/compare_items.cuh"
#include "kernels/output/asking_sink.hpp"
#include "kernels/output/staged_pairs.cuh"

namespace gpujoin::kernels {

// Whether there is room for so many candidates beside those granted to others. One thread.
__device__ inline bool grant_pairs(AskingCounters* counters, uint64_t capacity,
                                   unsigned long long candidates) {
  unsigned long long const granted = atomicAdd(&counters->reserved, candidates) + candidates;
  unsigned long long const dropped = static_cast<volatile AskingCounters*>(counters)->dropped;
  if (granted <= capacity + dropped) return true;
  atomicAdd(&counters->reserved, 0ULL - candidates);
  atomicMin(&counters->filled, granted - candidates);
  return false;
}

template <int kThreads>
class AskingEmitter {
 public:
  static constexpr bool kResumes = true;
  static constexpr int kWarps = kThreads / 32;
  static_assert(kThreads % 32 == 0 && kWarps <= 32);
  using Staged = StagedPairs<kThreads>;
  struct Shared {
    typename Staged::Shared staged;
    uint32_t kept[kWarps];              // pairs of a round
    unsigned long long places[kWarps];  // of a warp's first
  };

  __device__ AskingEmitter(const AskingSink& sink, Shared& shared)
      : sink_(sink), shared_(shared), pairs_(sink, shared.staged) {}

  __device__ void begin(unsigned long long) {}

  template <typename Next>
  __device__ bool emit(uint32_t count, Next next) {
    return pairs_.in_rounds(
        count, next,
        [this](unsigned long long candidates) -> unsigned long long {
          bool const has_room = !sink_.question.keeps_pairs ||
                                grant_pairs(sink_.counters, sink_.capacity, candidates);
          return has_room ? 0 : Staged::kRefused;
        },
        [this](unsigned long long, uint32_t candidates) { put(candidates); });
  }

  __device__ void finish() {}

 private:
  // All threads, of the candidates that are staged.
  __device__ __forceinline__ void put(uint32_t candidates) {
    PairQuestion const& question = sink_.question;
    uint32_t build[kEmitItems];
    uint32_t probe[kEmitItems];
    uint32_t are_kept = 0;
#pragma unroll
    for (int item = 0; item < kEmitItems; ++item) {
      uint32_t const i = item * kThreads + threadIdx.x;
      build[item] = kMissingRow;
      probe[item] = kMissingRow;
      if (i >= candidates) continue;
      are_kept |= 1U << item;
      build[item] = shared_.staged.build[i];
      probe[item] = shared_.staged.probe[i];
    }
    if (!question.by_position) name_rows(are_kept, build, probe);
    are_kept &= question.build_is_left ? ~not_true_of(question.comparisons, build, probe)
                                       : ~not_true_of(question.comparisons, probe, build);
    if (question.marked != nullptr) {
#pragma unroll
      for (int item = 0; item < kEmitItems; ++item) {
        if ((are_kept >> item & 1) == 0) continue;
        question.marked[question.marks_build ? build[item] : probe[item]] = 1;
      }
    }
    if (!question.keeps_pairs) return;
    if (question.by_position) name_rows(are_kept, build, probe);
    write(candidates, are_kept, build, probe);
  }

  // Row ids in the place of positions, where the sink has them.
  __device__ __forceinline__ void name_rows(uint32_t items, uint32_t (&build)[kEmitItems],
                                            uint32_t (&probe)[kEmitItems]) const {
    if (sink_.build_row_ids != nullptr) {
#pragma unroll
      for (int item = 0; item < kEmitItems; ++item) {
        if ((items >> item & 1) != 0) build[item] = sink_.build_row_ids[build[item]];
      }
    }
    if (sink_.probe_row_ids != nullptr) {
#pragma unroll
      for (int item = 0; item < kEmitItems; ++item) {
        if ((items >> item & 1) != 0) probe[item] = sink_.probe_row_ids[probe[item]];
      }
    }
  }

  // A warp's pairs of an item lie side by side, and its items one behind the other.
  __device__ __forceinline__ void write(uint32_t candidates, uint32_t are_kept,
                                        const uint32_t (&build)[kEmitItems],
                                        const uint32_t (&probe)[kEmitItems]) {
    uint32_t const lane = threadIdx.x % 32;
    uint32_t const warp = threadIdx.x / 32;
    uint32_t words[kEmitItems];
    uint32_t of_warp = 0;
#pragma unroll
    for (int item = 0; item < kEmitItems; ++item) {
      words[item] = __ballot_sync(0xffffffffU, (are_kept >> item & 1) != 0);
      of_warp += __popc(words[item]);
    }
    if (lane == 0) shared_.kept[warp] = of_warp;
    __syncthreads();
    if (warp == 0) give_places(candidates, lane);
    __syncthreads();
    unsigned long long place = shared_.places[warp];
#pragma unroll
    for (int item = 0; item < kEmitItems; ++item) {
      if ((are_kept >> item & 1) != 0) {
        uint32_t const before = __popc(words[item] & ((1U << lane) - 1));
        sink_.build_out[place + before] = build[item];
        sink_.probe_out[place + before] = probe[item];
      }
      place += __popc(words[item]);
    }
  }

  // The first warp, for all.
  __device__ __forceinline__ void give_places(uint32_t candidates, uint32_t lane) {
    uint32_t const mine = lane < kWarps ? shared_.kept[lane] : 0;
    uint32_t end = mine;
#pragma unroll
    for (int step = 1; step < 32; step *= 2) {
      uint32_t const other = __shfl_up_sync(0xffffffffU, end, step);
      if (lane >= static_cast<uint32_t>(step)) end += other;
    }
    uint32_t const kept = __shfl_sync(0xffffffffU, end, 31);
    unsigned long long first = 0;
    if (lane == 0) {
      if (kept != 0) first = atomicAdd(&sink_.counters->kept, kept);
      if (kept != candidates) atomicAdd(&sink_.counters->dropped, candidates - kept);
    }
    first = __shfl_sync(0xffffffffU, first, 0);
    if (lane < kWarps) shared_.places[lane] = first + (end - mine);
  }

  const AskingSink& sink_;
  Shared& shared_;
  Staged pairs_;
};

}  // namespace gpujoin::kernels
