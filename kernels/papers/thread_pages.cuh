// thread_pages.cuh: direct output: each thread fills pages of its own and takes the next one from a
// global counter
//
// Paper    Rui & Tu 2017, section 3.2.2 with figure 4, section 4.2.5 with figure 11
// Differs  a thread takes its first page with its first pair, so that a thread without pairs leaves
//          no hole; pages partly filled are noted, for squeeze_pages.cuh; threads keep their page
//          across work units, because blocks are persistent
// In       for each thread, how many pairs it has and a function that gives the next one
// Out      build_out[], probe_out[]     full pages, and at most one page a thread that is not
//          tails[]                      first empty place of each page left partly filled
// Needs    nothing of the block: no shared memory, no barrier; finish with whole warps
// Moves    8 bytes a pair, in 4-byte writes that lie page_pairs * 4 bytes apart within a warp; one
//          atomic a page (traffic::paged_pairs)
#pragma once

#include <cstdint>

#include "kernels/output/pair_sink.hpp"
#include "kernels/output/staged_pairs.cuh"

namespace gpujoin::kernels {

template <int kThreads>
class ThreadPageEmitter {
 public:
  static constexpr bool kResumes = false;
  struct Shared {};

  __device__ ThreadPageEmitter(const PageSink& sink, Shared&) : sink_(sink) {}

  __device__ void begin(unsigned long long) {}

  template <typename Next>
  __device__ bool emit(uint32_t count, Next next) {
    for (; count != 0; --count) {
      uint32_t build;
      uint32_t probe;
      next(&build, &probe);
      if (left_ == 0) {
        place_ = atomicAdd(&sink_.counters->pages, 1ULL) * sink_.page_pairs;
        left_ = sink_.page_pairs;
      }
      if (place_ < sink_.capacity) store_pair(sink_, place_, build, probe);
      ++place_;
      --left_;
    }
    return true;
  }

  __device__ void finish() {
    unsigned const open = __ballot_sync(0xffffffffU, left_ != 0);
    if (open == 0) return;
    uint32_t const holes = __reduce_add_sync(0xffffffffU, left_);
    unsigned const lane = threadIdx.x % 32;
    unsigned long long first = 0;
    if (lane == 0) {
      first = atomicAdd(&sink_.counters->tails, static_cast<unsigned long long>(__popc(open)));
      atomicAdd(&sink_.counters->holes, static_cast<unsigned long long>(holes));
    }
    first = __shfl_sync(0xffffffffU, first, 0);
    unsigned long long const tail = first + __popc(open & ((1U << lane) - 1));
    if (left_ != 0 && tail < sink_.tail_capacity) sink_.tails[tail] = place_;
    left_ = 0;
  }

 private:
  const PageSink& sink_;
  unsigned long long place_ = 0;  // of the next pair
  uint32_t left_ = 0;             // empty places of the page, from there on
};

}  // namespace gpujoin::kernels
