// estimated_groups.cuh: the output of a group of partitions in a buffer of bounded size; blocks
// stop when they foresee an overflow
//
// Paper    Paul et al. 2020, section IV.B.2, and V.D with figure 7
// Differs  a block that stops notes its batch and takes it up again in the next launch, so nothing
//          that was written is lost or done twice
// In       for each thread, how many pairs it has and a function that gives the next one; work
//          units of a group, by estimate_pairs.cuh
// Out      build_out[], probe_out[]     uint32 row numbers or positions: 8 bytes a pair, nothing
//          between them
// Needs    all threads of the block call together; kThreads * kEmitItems * 8 bytes of shared memory
//
// Blocks know the space that is left (the reservation's base) and the rate at which it fills (pairs
// reserved and work units done in this launch). When a quarter of the launch's units is done and
// the rate leads beyond the buffer's end, or when a reservation does, `stopped` is raised, and
// every block stops at its next batch.
#pragma once

#include <cstdint>

#include "kernels/output/emit_pairs.cuh"
#include "kernels/output/pair_sink.hpp"
#include "kernels/output/staged_pairs.cuh"
#include "kernels/tuning.hpp"

namespace gpujoin::kernels {

template <int kThreads>
class GroupEmitter {
 public:
  static constexpr bool kResumes = true;
  using Shared = typename StagedPairs<kThreads>::Shared;

  __device__ GroupEmitter(const GroupSink& sink, Shared& shared)
      : sink_(sink), pairs_(sink, shared) {}

  __device__ void begin(unsigned long long unit) {
    unit_done();
    unit_ = unit;
  }

  template <typename Next>
  __device__ bool emit(uint32_t count, Next next) {
    bool const written =
        pairs_.write(count, next, [this](unsigned long long total) { return reserve(total); });
    if (!written) unit_ = kNoUnit;
    return written;
  }

  __device__ void finish() { unit_done(); }

 private:
  __device__ void unit_done() {
    if (unit_ != kNoUnit && threadIdx.x == 0) atomicAdd(&sink_.counters->done, 1ULL);
    unit_ = kNoUnit;
  }

  __device__ unsigned long long reserve(unsigned long long total) {
    auto const* counters = static_cast<const volatile GroupCounters*>(sink_.counters);
    if (counters->stopped != 0) return StagedPairs<kThreads>::kRefused;
    unsigned long long const done = counters->done - sink_.done_before;
    unsigned long long const base = reserve_pairs(&sink_.counters->pairs, sink_.capacity, total);
    if (base == StagedPairs<kThreads>::kRefused || overflows(base + total, done)) {
      atomicExch(&sink_.counters->stopped, 1ULL);
    }
    return base;
  }

  // Whether the launch, going on as it did so far, will pass the buffer's end. Units that other
  // blocks are in the middle of count as done: their pairs are counted too.
  __device__ bool overflows(unsigned long long reserved, unsigned long long done) const {
    unsigned long long const units = sink_.end_unit - sink_.done_before;
    unsigned long long const begun = done + gridDim.x;
    if (begun >= units || done < units / kGroupWatchedShare) return false;
    return static_cast<double>(reserved) * static_cast<double>(units) >
           static_cast<double>(sink_.capacity) * static_cast<double>(begun);
  }

  const GroupSink& sink_;
  StagedPairs<kThreads> pairs_;
  unsigned long long unit_ = kNoUnit;
};

}  // namespace gpujoin::kernels
