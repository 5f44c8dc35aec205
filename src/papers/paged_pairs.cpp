#include "src/papers/paged_pairs.hpp"

#include <algorithm>

#include "kernels/tuning.hpp"
#include "src/base/device.hpp"
#include "src/base/status.hpp"
#include "src/papers/squeeze_pages.hpp"

namespace gpujoin::papers {

using base::check;
using base::Memory;
using base::stream_of;

PagedPairs::PagedPairs(base::Queue& queue, const plan::JoinPlan& plan, uint32_t blocks,
                       uint32_t threads, output::GrowingPairs& pairs)
    : queue_(queue), pairs_(pairs) {
  bool const of_threads = plan.output == plan::Output::kThreadPages;
  int32_t const likely = of_threads ? kernels::kThreadPagePairs : kernels::kBlockChunkPairs;
  page_pairs_ = static_cast<uint32_t>(plan.page_pairs != 0 ? plan.page_pairs : likely);
  writers_ = of_threads ? uint64_t{blocks} * threads : blocks;
  counters_ = queue.device_pool->allocate_rows<kernels::PageCounters>(Memory::kDevice, 1,
                                                                      "counters of pages");
  // What is expected, and what the writers leave empty. Less is a start as well: then pages are
  // counted and made.
  auto const expected = static_cast<uint64_t>(std::max<int64_t>(plan.expected_rows, 0));
  uint64_t const most = std::max<uint64_t>(queue.context.facts.memory_bytes, 1);
  uint64_t room = std::min(expected, most) + std::min(writers_ * page_pairs_, most);
  while (!pairs_.try_room(room)) {
    if (room <= page_pairs_) pairs_.fail_for_room(room);
    room = std::max<uint64_t>(room / 2, page_pairs_);
  }
}

kernels::PageSink PagedPairs::sink() {
  // A page of one place is never left partly filled.
  uint64_t const wanted_tails = page_pairs_ == 1 ? 0 : writers_;
  if (wanted_tails > tail_capacity_) {
    tails_ = queue_.device_pool->allocate_rows<unsigned long long>(Memory::kDevice, wanted_tails,
                                                                   "tails of pages");
    tail_capacity_ = wanted_tails;
  }
  check(cudaMemsetAsync(counters_.data(), 0, sizeof(kernels::PageCounters), stream_of(queue_)),
        "starting the counters of pages");
  kernels::PageSink sink{};
  static_cast<kernels::PairTarget&>(sink) = pairs_.room();
  sink.counters = counters_.as<kernels::PageCounters>();
  sink.taken = &sink.counters->taken;
  sink.page_pairs = page_pairs_;
  sink.capacity = pairs_.room_pairs() / page_pairs_ * page_pairs_;
  sink.tails = tails_.as<unsigned long long>();
  sink.tail_capacity = tail_capacity_;
  return sink;
}

bool PagedPairs::collect() {
  kernels::PageCounters const found = base::read_back(
      queue_, static_cast<const kernels::PageCounters*>(counters_.as<kernels::PageCounters>()));
  holes_ = found.holes;
  bool const complete =
      found.pages <= pairs_.room_pairs() / page_pairs_ && found.tails <= tail_capacity_;
  if (!complete) {
    pairs_.note_resume();
    make_room(found);
    return false;
  }
  uint64_t const pairs = found.pages * page_pairs_ - found.holes;
  if (found.tails != 0) {
    kernels::PairTarget const target = pairs_.room();
    kernels::SqueezedColumn const columns[] = {{target.build_out, sizeof(uint32_t)},
                                               {target.probe_out, sizeof(uint32_t)}};
    squeeze_pages(queue_, {tails_.as<unsigned long long>(), found.tails, found.holes, page_pairs_},
                  pairs, columns);
  }
  pairs_.keep(pairs);
  return true;
}

void PagedPairs::make_room(const kernels::PageCounters& wanted) {
  // Threads that nobody announced may be as many again next time.
  if (wanted.tails > writers_) writers_ = 2 * wanted.tails;
  // Work units go to other blocks in another launch. However they go, each writer leaves no more
  // than one page partly filled.
  uint64_t const used = base::checked_bytes(wanted.pages, page_pairs_);
  uint64_t const full = (used - wanted.holes) / page_pairs_;
  uint64_t const any_launch = base::checked_bytes(full + writers_, page_pairs_);
  if (!pairs_.try_room(any_launch) && !pairs_.try_room(used)) pairs_.fail_for_room(used);
}

}  // namespace gpujoin::papers
