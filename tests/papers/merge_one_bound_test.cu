// merge_one_bound_test.cu: whether the kernel with one bound sees that build keys are unique, and
// what it counts when they are.
#include <algorithm>
#include <numeric>

#include "kernels/papers/merge_one_bound.cuh"
#include "kernels/papers/merge_two_bounds.cuh"
#include "src/base/launch.hpp"
#include "tests/gpu_fixture.hpp"

namespace gpujoin::tests {
namespace {

using MergeOneBound = GpuTest;

struct Found {
  uint32_t duplicates = 0;
  std::vector<uint32_t> lower;
  std::vector<uint32_t> counts;
};

// corrected: with the second merge path, which runs where the first found duplicates.
Found find(base::Queue& queue, const std::vector<uint32_t>& build,
           const std::vector<uint32_t>& probe, bool corrected) {
  base::Buffer const build_keys = upload(queue, build);
  base::Buffer const probe_keys = upload(queue, probe);
  base::Buffer const lower = upload(queue, std::vector<uint32_t>(probe.size()));
  base::Buffer const counts = upload(queue, std::vector<uint32_t>(probe.size()));
  base::Buffer const duplicates = upload(queue, std::vector<uint32_t>(1));
  unsigned const tiles = base::grid_of(build.size() + probe.size(), kernels::kMergeTile);
  base::Buffer const splits = upload(queue, std::vector<uint32_t>(tiles + 1));
  kernels::MergeSides<uint32_t> const sides{build_keys.as<uint32_t>(), probe_keys.as<uint32_t>(),
                                            static_cast<uint32_t>(build.size()),
                                            static_cast<uint32_t>(probe.size())};
  unsigned const split_blocks = base::grid_of(tiles + 1, kernels::kMergeThreads);
  cudaStream_t const stream = base::stream_of(queue);
  kernels::merge_splits_kernel<kernels::Bound::kLower, uint32_t>
      <<<split_blocks, kernels::kMergeThreads, 0, stream>>>(sides, tiles, splits.as<uint32_t>());
  kernels::merge_one_bound_kernel<uint32_t><<<tiles, kernels::kMergeThreads, 0, stream>>>(
      sides, splits.as<uint32_t>(), lower.as<uint32_t>(), counts.as<uint32_t>(),
      duplicates.as<uint32_t>());
  if (corrected) {
    kernels::merge_upper_splits_kernel<uint32_t>
        <<<split_blocks, kernels::kMergeThreads, 0, stream>>>(
            sides, tiles, duplicates.as<uint32_t>(), splits.as<uint32_t>());
    // Fewer blocks than tiles.
    kernels::merge_upper_kernel<uint32_t><<<2, kernels::kMergeThreads, 0, stream>>>(
        sides, tiles, duplicates.as<uint32_t>(), splits.as<uint32_t>(), lower.as<uint32_t>(),
        counts.as<uint32_t>());
  }
  base::check(cudaGetLastError(), "finding one bound");
  Found found;
  found.duplicates = download<uint32_t>(queue, duplicates.data(), 1)[0];
  found.lower = download<uint32_t>(queue, lower.data(), probe.size());
  found.counts = download<uint32_t>(queue, counts.data(), probe.size());
  return found;
}

void expect_bounds(const Found& found, const std::vector<uint32_t>& build,
                   const std::vector<uint32_t>& probe) {
  for (size_t i = 0; i < probe.size(); ++i) {
    auto const [begin, end] = std::equal_range(build.begin(), build.end(), probe[i]);
    ASSERT_EQ(found.lower[i], begin - build.begin()) << "probe row " << i;
    ASSERT_EQ(found.counts[i], end - begin) << "probe row " << i;
  }
}

std::vector<uint32_t> every_third(size_t rows) {
  std::vector<uint32_t> keys(rows);
  for (size_t i = 0; i < rows; ++i) keys[i] = static_cast<uint32_t>(3 * i);
  return keys;
}

TEST_F(MergeOneBound, IsEnoughForUniqueKeys) {
  for (size_t rows : {1, 2, 31, 1023, 1024, 1025, 2047, 2048, 2049, 9999}) {
    std::vector<uint32_t> const build = every_third(rows);
    std::vector<uint32_t> probe(4 * rows);
    std::iota(probe.begin(), probe.end(), 0U);
    for (bool corrected : {false, true}) {
      Found const found = find(queue(), build, probe, corrected);
      EXPECT_EQ(found.duplicates, 0U) << rows << " unique keys";
      expect_bounds(found, build, probe);
      if (HasFatalFailure()) return;
    }
  }
}

TEST_F(MergeOneBound, SeesTwoEqualKeysAnywhere) {
  for (size_t rows : {2, 1025, 2049, 6000}) {
    for (size_t place : {size_t{0}, size_t{1023}, size_t{2046}, size_t{2047}, rows - 2}) {
      if (place + 1 >= rows) continue;
      std::vector<uint32_t> build = every_third(rows);
      build[place + 1] = build[place];
      for (std::vector<uint32_t> const& probe :
           {std::vector<uint32_t>{7}, every_third(2 * rows), std::vector<uint32_t>(3000, 0)}) {
        Found const found = find(queue(), build, probe, true);
        EXPECT_EQ(found.duplicates, 1U) << place << " of " << rows;
        expect_bounds(found, build, probe);
        if (HasFatalFailure()) return;
      }
    }
  }
}

}  // namespace
}  // namespace gpujoin::tests
