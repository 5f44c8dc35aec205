// left_out.cpp: what stands for the papers' techniques in a library that is built without them.
// Plans that name one are illegal there, so none of this is called.
#include "src/base/status.hpp"
#include "src/papers/papers.hpp"
#include "src/transfer/transfer.hpp"
#include "src/transform/transform.hpp"

namespace gpujoin::kernels {
struct KeyColumns;
struct WordKey;
}  // namespace gpujoin::kernels

namespace gpujoin::papers {

namespace {

[[noreturn]] void fail() {
  base::fail(GPUJOIN_ERROR_INTERNAL, "a technique that this library was built without");
}

}  // namespace

std::unique_ptr<transfer::Transport> make_transport(base::Queue&, plan::Transfer) { fail(); }

transform::Transformed order_by_key(base::Queue&, const transform::PreparedKeys&,
                                    const transform::PreparedColumn&, const transform::Order&) {
  fail();
}

void join_partitions(base::Queue&, const plan::JoinPlan&, const match::JoinedPartitions&,
                     output::GrowingPairs&) {
  fail();
}

void find_bounds(base::Queue&, plan::Match, const match::MergeBounds&) { fail(); }

template <typename Keys>
uint64_t count_matches(base::Queue&, const kernels::ProbeMultiset<Keys>&, uint32_t) {
  fail();
}
template uint64_t count_matches(base::Queue&, const kernels::ProbeMultiset<kernels::WordKey>&,
                                uint32_t);
template uint64_t count_matches(base::Queue&, const kernels::ProbeMultiset<kernels::KeyColumns>&,
                                uint32_t);

}  // namespace gpujoin::papers
