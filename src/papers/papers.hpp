// papers.hpp: techniques of the papers that the planner takes for nobody who does not name them: as
// far as is known another one is faster for every join. They are here to be measured against it.
//
// This is all that the stages know of them. Built without them (GPUJOIN_PAPERS=OFF) the functions
// are those of left_out.cpp, and no legal plan leads to one: plan::is_of_papers says which plans.
#pragma once

#include <cstdint>
#include <memory>

#include "src/base/queue.hpp"
#include "src/plan/join_plan.hpp"

namespace gpujoin::kernels {
template <typename Keys>
struct ProbeMultiset;
}  // namespace gpujoin::kernels
namespace gpujoin::match {
struct JoinedPartitions;
struct MergeBounds;
}  // namespace gpujoin::match
namespace gpujoin::output {
class GrowingPairs;
}  // namespace gpujoin::output
namespace gpujoin::transfer {
class Transport;
}  // namespace gpujoin::transfer
namespace gpujoin::transform {
struct Order;
struct PreparedColumn;
struct PreparedKeys;
struct Transformed;
}  // namespace gpujoin::transform

namespace gpujoin::papers {

// Managed memory, prefetched or not, and zero-copy.
std::unique_ptr<transfer::Transport> make_transport(base::Queue& queue, plan::Transfer technique);

// Partitions by histograms, and the merge sort.
transform::Transformed order_by_key(base::Queue& queue, const transform::PreparedKeys& keys,
                                    const transform::PreparedColumn& column,
                                    const transform::Order& order);

// Any finder, skew technique and output of partitions.
void join_partitions(base::Queue& queue, const plan::JoinPlan& plan,
                     const match::JoinedPartitions& joined, output::GrowingPairs& pairs);

// Lower bounds and counts by one or two merge paths, of which the first is split already.
void find_bounds(base::Queue& queue, plan::Match technique, const match::MergeBounds& bounds);

// The first of two passes of the row multiset, by so many blocks. Waits for the stream.
template <typename Keys>
uint64_t count_matches(base::Queue& queue, const kernels::ProbeMultiset<Keys>& matches,
                       uint32_t blocks);

}  // namespace gpujoin::papers
