// block_chunks.cuh: direct output: a chunk of the output for each block, its next place in shared
// memory
//
// Paper    Rui & Tu 2017, section 3.2.2, last paragraph, and section 4.2.5 with figure 12
// Differs  a full chunk is followed by another one, which one thread takes from a global counter;
//          the last one, partly filled, is noted, for squeeze_pages.cuh
// In       for each thread, how many pairs it has and a function that gives the next one
// Out      build_out[], probe_out[]     full chunks, and at most one chunk a block that is not
//          tails[]                      first empty place of each chunk left partly filled
// Needs    all threads of the block call together
// Moves    8 bytes a pair, neighbours mostly side by side; one shared atomic a pair, one global
//          atomic a chunk (traffic::paged_pairs)
#pragma once

#include <cstdint>

#include "kernels/output/pair_sink.hpp"
#include "kernels/output/staged_pairs.cuh"

namespace gpujoin::kernels {

template <int kThreads>
class BlockChunkEmitter {
 public:
  static constexpr bool kResumes = false;
  struct Shared {
    unsigned long long base;  // of the block's chunk
    uint32_t next;            // its next place; page_pairs: it is full
  };

  __device__ BlockChunkEmitter(const PageSink& sink, Shared& shared)
      : sink_(sink), shared_(shared) {
    if (threadIdx.x == 0) shared_.next = sink_.page_pairs;
    __syncthreads();
  }

  __device__ void begin(unsigned long long) {}

  template <typename Next>
  __device__ bool emit(uint32_t count, Next next) {
    for (;;) {
      while (count != 0) {
        uint32_t const place = atomicAdd(&shared_.next, 1U);
        // Not this place: `next` was not asked yet, so the pair waits for the next chunk.
        if (place >= sink_.page_pairs) break;
        uint32_t build;
        uint32_t probe;
        next(&build, &probe);
        unsigned long long const base = shared_.base;
        if (base < sink_.capacity) store_pair(sink_, base + place, build, probe);
        --count;
      }
      if (__syncthreads_or(count != 0) == 0) return true;
      // Some thread found the chunk full, so every place of it was given out and written.
      if (threadIdx.x == 0) {
        shared_.base = atomicAdd(&sink_.counters->pages, 1ULL) * sink_.page_pairs;
        shared_.next = 0;
      }
      __syncthreads();
    }
  }

  __device__ void finish() {
    __syncthreads();
    if (threadIdx.x != 0 || shared_.next >= sink_.page_pairs) return;
    unsigned long long const tail = atomicAdd(&sink_.counters->tails, 1ULL);
    atomicAdd(&sink_.counters->holes,
              static_cast<unsigned long long>(sink_.page_pairs - shared_.next));
    if (tail < sink_.tail_capacity) sink_.tails[tail] = shared_.base + shared_.next;
  }

 private:
  const PageSink& sink_;
  Shared& shared_;
};

}  // namespace gpujoin::kernels
