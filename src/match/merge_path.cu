// merge_path.cu: host side of the sort-merge join's match: bounds, then expansion.
#include "kernels/match/merge_bounds.cuh"
#include "src/base/device.hpp"
#include "src/base/launch.hpp"
#include "src/match/expand_ranges.hpp"
#include "src/match/match.hpp"
#include "src/match/merge_bounds.hpp"
#include "src/papers/papers.hpp"

namespace gpujoin::match {

namespace {

using base::check;
using base::grid_of;
using base::Memory;
using base::stream_of;
using kernels::kMergeThreads;

template <typename Key>
using Sides = kernels::MergeSides<Key>;

template <typename Key>
void split_lower(base::Queue& queue, const Sides<Key>& sides, const MergeBounds& bounds) {
  kernels::merge_splits_kernel<kernels::Bound::kLower, Key>
      <<<bounds.split_blocks, kMergeThreads, 0, stream_of(queue)>>>(sides, bounds.tiles,
                                                                    bounds.splits);
  check(cudaGetLastError(), "splitting the merge path");
}

template <typename Key>
void find_bounds_and_equals(base::Queue& queue, const Sides<Key>& sides,
                            const MergeBounds& bounds) {
  kernels::merge_bounds_kernel<Key><<<bounds.tiles, kMergeThreads, 0, stream_of(queue)>>>(
      sides, bounds.splits, bounds.lower, bounds.counts);
  check(cudaGetLastError(), "finding bounds by merge path");
}

}  // namespace

void merge_path(base::Queue& queue, const plan::JoinPlan& plan, int32_t key_width,
                const MatchSide& build, const MatchSide& probe, output::GrowingPairs& pairs) {
  if (build.rows == 0 || probe.rows == 0) return;
  base::Pool& pool = *queue.device_pool;
  base::Buffer const lower =
      pool.allocate_rows<uint32_t>(Memory::kDevice, probe.rows, "lower bounds");
  base::Buffer const counts =
      pool.allocate_rows<uint32_t>(Memory::kDevice, uint64_t{probe.rows} + 1, "match counts");
  {
    MergeBounds bounds;
    bounds.key_width = key_width;
    bounds.build = build;
    bounds.probe = probe;
    bounds.tiles = grid_of(uint64_t{build.rows} + probe.rows, kernels::kMergeTile);
    bounds.split_blocks = grid_of(uint64_t{bounds.tiles} + 1, kMergeThreads);
    base::Buffer const splits = pool.allocate_rows<uint32_t>(
        Memory::kDevice, uint64_t{bounds.tiles} + 1, "merge path splits");
    bounds.splits = splits.as<uint32_t>();
    bounds.lower = lower.as<uint32_t>();
    bounds.counts = counts.as<uint32_t>();
    base::with_key_type(key_width, [&](auto zero) {
      using Key = decltype(zero);
      Sides<Key> const sides{static_cast<const Key*>(build.keys),
                             static_cast<const Key*>(probe.keys), build.rows, probe.rows};
      split_lower(queue, sides, bounds);
      if (!plan::is_of_papers(plan.match)) find_bounds_and_equals(queue, sides, bounds);
    });
    if (plan::is_of_papers(plan.match)) papers::find_bounds(queue, plan.match, bounds);
  }
  expand_ranges(queue, lower.as<uint32_t>(), counts.as<uint32_t>(), probe.rows, build.row_ids,
                probe.row_ids, pairs);
}

}  // namespace gpujoin::match
