// merge_path.cu: host side of the sort-merge join's match: bounds, then expansion.
#include <algorithm>

#include "kernels/match/merge_bounds.cuh"
#include "kernels/match/merge_one_bound.cuh"
#include "kernels/match/merge_two_bounds.cuh"
#include "src/base/device.hpp"
#include "src/base/launch.hpp"
#include "src/match/expand_ranges.hpp"
#include "src/match/match.hpp"

namespace gpujoin::match {

namespace {

using base::check;
using base::grid_of;
using base::Memory;
using base::stream_of;
using kernels::kMergeThreads;

// Where the ranges of the probe rows go, and what the kernels of every kind of bounds need.
struct Bounds {
  unsigned tiles = 0;
  unsigned split_blocks = 0;
  uint32_t* splits = nullptr;
  uint32_t* lower = nullptr;
  uint32_t* counts = nullptr;
};

template <typename Key>
using Sides = kernels::MergeSides<Key>;

template <typename Key>
void split_lower(base::Context& context, const Sides<Key>& sides, const Bounds& bounds) {
  kernels::merge_splits_kernel<kernels::Bound::kLower, Key>
      <<<bounds.split_blocks, kMergeThreads, 0, stream_of(context)>>>(sides, bounds.tiles,
                                                                      bounds.splits);
  check(cudaGetLastError(), "splitting the merge path");
}

// Upper bounds, and counts by them. wanted: in device memory, null for yes.
template <typename Key>
void find_upper(base::Context& context, const Sides<Key>& sides, const Bounds& bounds,
                const uint32_t* wanted) {
  kernels::merge_upper_splits_kernel<Key>
      <<<bounds.split_blocks, kMergeThreads, 0, stream_of(context)>>>(sides, bounds.tiles, wanted,
                                                                      bounds.splits);
  check(cudaGetLastError(), "splitting the second merge path");
  unsigned const resident =
      static_cast<unsigned>(context.facts.sm_count) * kernels::kMergeBlocksPerSm;
  kernels::merge_upper_kernel<Key>
      <<<std::min(bounds.tiles, resident), kMergeThreads, 0, stream_of(context)>>>(
          sides, bounds.tiles, wanted, bounds.splits, bounds.lower, bounds.counts);
  check(cudaGetLastError(), "finding upper bounds by merge path");
}

template <typename Key>
void find_two_bounds(base::Context& context, const Sides<Key>& sides, const Bounds& bounds) {
  kernels::merge_lower_kernel<Key>
      <<<bounds.tiles, kMergeThreads, 0, stream_of(context)>>>(sides, bounds.splits, bounds.lower);
  check(cudaGetLastError(), "finding lower bounds by merge path");
  find_upper(context, sides, bounds, nullptr);
}

template <typename Key>
void find_one_bound(base::Context& context, const Sides<Key>& sides, const Bounds& bounds) {
  auto* duplicates = context.device->counters.as<uint32_t>();
  check(cudaMemsetAsync(duplicates, 0, sizeof(*duplicates), stream_of(context)),
        "looking for duplicates");
  kernels::merge_one_bound_kernel<Key><<<bounds.tiles, kMergeThreads, 0, stream_of(context)>>>(
      sides, bounds.splits, bounds.lower, bounds.counts, duplicates);
  check(cudaGetLastError(), "finding one bound by merge path");
  find_upper(context, sides, bounds, duplicates);
}

template <typename Key>
void find_bounds_and_equals(base::Context& context, const Sides<Key>& sides, const Bounds& bounds) {
  kernels::merge_bounds_kernel<Key><<<bounds.tiles, kMergeThreads, 0, stream_of(context)>>>(
      sides, bounds.splits, bounds.lower, bounds.counts);
  check(cudaGetLastError(), "finding bounds by merge path");
}

}  // namespace

void merge_path(base::Context& context, const plan::JoinPlan& plan, int32_t key_width,
                const MatchSide& build, const MatchSide& probe, output::GrowingPairs& pairs) {
  if (build.rows == 0 || probe.rows == 0) return;
  base::Pool& pool = *context.device_pool;
  base::Buffer const lower =
      pool.allocate_rows<uint32_t>(Memory::kDevice, probe.rows, "lower bounds");
  base::Buffer const counts =
      pool.allocate_rows<uint32_t>(Memory::kDevice, uint64_t{probe.rows} + 1, "match counts");
  {
    Bounds bounds;
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
      split_lower(context, sides, bounds);
      switch (plan.match) {
        case plan::Match::kMergeTwoBounds:
          return find_two_bounds(context, sides, bounds);
        case plan::Match::kMergeOneBound:
          return find_one_bound(context, sides, bounds);
        default:
          return find_bounds_and_equals(context, sides, bounds);
      }
    });
  }
  expand_ranges(context, lower.as<uint32_t>(), counts.as<uint32_t>(), probe.rows, build.row_ids,
                probe.row_ids, pairs);
}

}  // namespace gpujoin::match
