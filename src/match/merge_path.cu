// merge_path.cu: host side of the sort-merge join's match: bounds, then expansion.
#include "kernels/match/merge_bounds.cuh"
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

template <typename Key>
void find_bounds(base::Context& context, const MatchSide& build, const MatchSide& probe,
                 uint32_t* lower, uint32_t* counts) {
  auto const* build_keys = static_cast<const Key*>(build.keys);
  auto const* probe_keys = static_cast<const Key*>(probe.keys);
  unsigned const tiles = grid_of(uint64_t{build.rows} + probe.rows, kernels::kMergeTile);
  base::Buffer const splits = context.device_pool->allocate_rows<uint32_t>(
      Memory::kDevice, uint64_t{tiles} + 1, "merge path splits");
  kernels::merge_splits_kernel<Key><<<grid_of(uint64_t{tiles} + 1, kernels::kMergeThreads),
                                      kernels::kMergeThreads, 0, stream_of(context)>>>(
      build_keys, build.rows, probe_keys, probe.rows, tiles, splits.as<uint32_t>());
  check(cudaGetLastError(), "splitting the merge path");
  kernels::merge_bounds_kernel<Key><<<tiles, kernels::kMergeThreads, 0, stream_of(context)>>>(
      build_keys, build.rows, probe_keys, probe.rows, splits.as<uint32_t>(), lower, counts);
  check(cudaGetLastError(), "finding bounds by merge path");
}

}  // namespace

void merge_path(base::Context& context, const plan::JoinPlan&, int32_t key_width,
                const MatchSide& build, const MatchSide& probe, output::GrowingPairs& pairs) {
  if (build.rows == 0 || probe.rows == 0) return;
  base::Pool& pool = *context.device_pool;
  base::Buffer const lower =
      pool.allocate_rows<uint32_t>(Memory::kDevice, probe.rows, "lower bounds");
  base::Buffer const counts =
      pool.allocate_rows<uint32_t>(Memory::kDevice, uint64_t{probe.rows} + 1, "match counts");
  base::with_key_type(key_width, [&](auto zero) {
    find_bounds<decltype(zero)>(context, build, probe, lower.as<uint32_t>(), counts.as<uint32_t>());
  });
  expand_ranges(context, lower.as<uint32_t>(), counts.as<uint32_t>(), probe.rows, build.row_ids,
                probe.row_ids, pairs);
}

}  // namespace gpujoin::match
