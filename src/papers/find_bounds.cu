// find_bounds.cu: host side of bounds by two merge paths, and by one where build keys are unique.
#include <algorithm>

#include "kernels/papers/merge_one_bound.cuh"
#include "kernels/papers/merge_two_bounds.cuh"
#include "src/base/device.hpp"
#include "src/base/launch.hpp"
#include "src/match/merge_bounds.hpp"
#include "src/papers/papers.hpp"

namespace gpujoin::papers {

namespace {

using base::check;
using base::stream_of;
using kernels::kMergeThreads;

template <typename Key>
using Sides = kernels::MergeSides<Key>;

// Upper bounds, and counts by them. wanted: in device memory, null for yes.
template <typename Key>
void find_upper(base::Queue& queue, const Sides<Key>& sides, const match::MergeBounds& bounds,
                const uint32_t* wanted) {
  kernels::merge_upper_splits_kernel<Key>
      <<<bounds.split_blocks, kMergeThreads, 0, stream_of(queue)>>>(sides, bounds.tiles, wanted,
                                                                    bounds.splits);
  check(cudaGetLastError(), "splitting the second merge path");
  unsigned const resident =
      static_cast<unsigned>(queue.context.facts.sm_count) * kernels::kMergeBlocksPerSm;
  kernels::merge_upper_kernel<Key>
      <<<std::min(bounds.tiles, resident), kMergeThreads, 0, stream_of(queue)>>>(
          sides, bounds.tiles, wanted, bounds.splits, bounds.lower, bounds.counts);
  check(cudaGetLastError(), "finding upper bounds by merge path");
}

template <typename Key>
void find_two_bounds(base::Queue& queue, const Sides<Key>& sides,
                     const match::MergeBounds& bounds) {
  kernels::merge_lower_kernel<Key>
      <<<bounds.tiles, kMergeThreads, 0, stream_of(queue)>>>(sides, bounds.splits, bounds.lower);
  check(cudaGetLastError(), "finding lower bounds by merge path");
  find_upper(queue, sides, bounds, nullptr);
}

template <typename Key>
void find_one_bound(base::Queue& queue, const Sides<Key>& sides, const match::MergeBounds& bounds) {
  auto* duplicates = queue.device->counters.as<uint32_t>();
  check(cudaMemsetAsync(duplicates, 0, sizeof(*duplicates), stream_of(queue)),
        "looking for duplicates");
  kernels::merge_one_bound_kernel<Key><<<bounds.tiles, kMergeThreads, 0, stream_of(queue)>>>(
      sides, bounds.splits, bounds.lower, bounds.counts, duplicates);
  check(cudaGetLastError(), "finding one bound by merge path");
  find_upper(queue, sides, bounds, duplicates);
}

}  // namespace

void find_bounds(base::Queue& queue, plan::Match technique, const match::MergeBounds& bounds) {
  base::with_key_type(bounds.key_width, [&](auto zero) {
    using Key = decltype(zero);
    Sides<Key> const sides{static_cast<const Key*>(bounds.build.keys),
                           static_cast<const Key*>(bounds.probe.keys), bounds.build.rows,
                           bounds.probe.rows};
    auto const find =
        technique == plan::Match::kMergeOneBound ? find_one_bound<Key> : find_two_bounds<Key>;
    find(queue, sides, bounds);
  });
}

}  // namespace gpujoin::papers
