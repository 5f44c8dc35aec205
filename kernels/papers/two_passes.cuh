// two_passes.cuh: the match is made twice: the first time pairs are counted, the second time they
// are written
//
// Paper    Rui & Tu 2017, section 3.2.2 ("the traditional wisdom"); Paul et al. 2020, IV.B.2 ("an
//          additional pass"). Between the passes a scan of the counts gives each work unit its
//          first place
// Differs  a unit's places are given out by an atomic counter of the unit, so that several blocks
//          may share one
// In       for each thread, how many pairs it has; second pass: and a function that gives the next
//          one
// Out      first pass   units[]                      pairs of each work unit, added to what is
//          there
//          second pass  build_out[], probe_out[]     from units[unit] on, which is moved on
// Needs    all threads of the block call together; `next` is not called in the first pass
// Moves    first pass nothing but counts; second pass 8 bytes a pair (traffic::two_passes)
#pragma once

#include <cstdint>

#include "kernels/output/pair_sink.hpp"
#include "kernels/output/staged_pairs.cuh"

namespace gpujoin::kernels {

template <int kThreads>
class CountingEmitter {
 public:
  static constexpr bool kResumes = false;
  struct Shared {};

  __device__ CountingEmitter(const UnitSink& sink, Shared&) : sink_(sink) {}

  __device__ void begin(unsigned long long unit) {
    add();
    unit_ = unit;
  }

  template <typename Next>
  __device__ bool emit(uint32_t count, Next) {
    count_ += count;
    return true;
  }

  __device__ void finish() { add(); }

 private:
  __device__ void add() {
    for (int lanes = 16; lanes != 0; lanes /= 2) {
      count_ += __shfl_down_sync(0xffffffffU, count_, lanes);
    }
    if (threadIdx.x % 32 == 0 && count_ != 0) atomicAdd(&sink_.units[unit_], count_);
    count_ = 0;
  }

  const UnitSink& sink_;
  unsigned long long unit_ = kNoUnit;
  unsigned long long count_ = 0;  // this thread's pairs of the unit
};

template <int kThreads>
class PlacingEmitter {
 public:
  static constexpr bool kResumes = false;
  using Shared = typename StagedPairs<kThreads>::Shared;

  __device__ PlacingEmitter(const UnitSink& sink, Shared& shared)
      : sink_(sink), pairs_(sink, shared) {}

  __device__ void begin(unsigned long long unit) { unit_ = unit; }

  template <typename Next>
  __device__ bool emit(uint32_t count, Next next) {
    return pairs_.write(count, next, [this](unsigned long long total) {
      return atomicAdd(&sink_.units[unit_], total);
    });
  }

  __device__ void finish() {}

 private:
  const UnitSink& sink_;
  StagedPairs<kThreads> pairs_;
  unsigned long long unit_ = kNoUnit;
};

}  // namespace gpujoin::kernels
