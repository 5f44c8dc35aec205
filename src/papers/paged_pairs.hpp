// paged_pairs.hpp: direct output (Rui & Tu 3.2.2): pages of threads, or chunks of blocks, squeezed
// into contiguous columns.
#pragma once

#include <cstdint>

#include "kernels/output/pair_sink.hpp"
#include "src/base/memory.hpp"
#include "src/base/queue.hpp"
#include "src/output/growing_pairs.hpp"
#include "src/plan/join_plan.hpp"

namespace gpujoin::papers {

// The pages lie in the columns of the GrowingPairs, which must be empty:
//   do { launch with sink() } while (!collect());
class PagedPairs {
 public:
  // Output::kThreadPages or kBlockChunks, pages of plan.page_pairs. The launch has `blocks` blocks
  // of `threads`; more blocks than said, as child kernels may be, cost a second launch at most.
  PagedPairs(base::Queue& queue, const plan::JoinPlan& plan, uint32_t blocks, uint32_t threads,
             output::GrowingPairs& pairs);

  // What a kernel writes through, from the first work unit on; the row ids are the caller's to set.
  // Once for each launch.
  kernels::PageSink sink();

  // Waits for the launch. True when every pair is written: the holes are squeezed out and
  // pairs.rows() is set. False when pages were missing: room for all of them was made, and
  // everything must be launched again. Throws OUT_OF_MEMORY or MEMORY_LIMIT.
  bool collect();

  uint32_t page_pairs() const { return page_pairs_; }
  uint64_t holes() const { return holes_; }  // that the last launch left

 private:
  void make_room(const kernels::PageCounters& wanted);

  base::Queue& queue_;
  output::GrowingPairs& pairs_;
  uint32_t page_pairs_;
  uint64_t writers_;  // each leaves one page partly filled at most
  base::Buffer counters_;
  base::Buffer tails_;
  uint64_t tail_capacity_ = 0;
  uint64_t holes_ = 0;
};

}  // namespace gpujoin::papers
