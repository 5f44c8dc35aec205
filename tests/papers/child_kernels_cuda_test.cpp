// child_kernels_cuda_test.cpp: whether large partitions get child kernels, and what becomes of them
// when a launch is refused.
#include "kernels/tuning.hpp"
#include "src/papers/counted_units.hpp"
#include "src/papers/paged_pairs.hpp"
#include "src/papers/partition_launches.hpp"
#include "src/papers/skew_schedule.hpp"
#include "tests/match/partitioned_keys.hpp"

namespace gpujoin::tests {
namespace {

constexpr int32_t kRadixBits = 6;

// Each of 64 partitions has build rows of five work units, each key twice, and a few probe rows; or
// the other way round.
KeyShape large_partitions(bool of_build) {
  constexpr size_t kProbeRows = 4 * kernels::kCoPartitionProbeRows + 1;
  constexpr size_t kBuildRows = 4 * kernels::kCoPartitionBuildRows + 1;
  static_assert(kernels::kChildKernelUnits == 4);
  size_t const large = of_build ? kBuildRows : kProbeRows;
  std::vector<uint64_t> many;
  for (size_t partition = 0; partition < (size_t{1} << kRadixBits); ++partition) {
    for (size_t i = 0; i < large; ++i) many.push_back(i / 2 << kRadixBits | partition);
  }
  std::vector<uint64_t> few = random_keys(3000, large << (kRadixBits - 1), 1, 1);
  return of_build ? KeyShape{"", many, few} : KeyShape{"", few, many};
}

class ChildKernels : public GpuTest {
 protected:
  // Runs all four launches; answers what became of their children, together.
  kernels::ChildCounts expect_join_with_children(const KeyShape& shape, int32_t key_width,
                                                 plan::Match finder) {
    kernels::ChildCounts total{};
    Arranged const keys{
        partitioned(shape.build, kRadixBits), partitioned(shape.probe, kRadixBits), {}, {}};
    PlacedSide const build(queue(), lay_out(keys.build, kRadixBits, Layout::kSideBySide, 0),
                           key_width, {});
    PlacedSide const probe(queue(), lay_out(keys.probe, kRadixBits, Layout::kSideBySide, 0),
                           key_width, {});
    match::JoinedPartitions const joined{finder,       key_width,    kRadixBits,  build.keys(),
                                         probe.keys(), build.view(), probe.view()};
    for (plan::Output how :
         {plan::Output::kThreadPages, plan::Output::kBlockChunks, plan::Output::kTwoPasses}) {
      Family const family = [&](base::Queue& of_family, const match::MatchSide&,
                                const match::MatchSide&, output::GrowingPairs& pairs) {
        papers::SkewSchedule const schedule(of_family, plan::Skew::kChildKernels, joined);
        if (how == plan::Output::kTwoPasses) {
          papers::CountedUnits units(of_family, schedule.unit_bound(of_family), pairs);
          papers::launch_counting_with_children(of_family, joined, schedule)
              .run(units.counting_sink(), nullptr);
          papers::launch_placing_with_children(of_family, joined, schedule)
              .run(units.placing_sink(), nullptr);
        } else {
          auto const launch = how == plan::Output::kThreadPages
                                  ? papers::launch_thread_pages_with_children
                                  : papers::launch_block_chunks_with_children;
          auto const pages_launch = launch(of_family, joined, schedule);
          plan::JoinPlan plan;
          plan.output = how;
          papers::PagedPairs pages(of_family, plan, pages_launch.blocks,
                                   kernels::kCoPartitionThreads, pairs);
          do {
            pages_launch.run(pages.sink(), nullptr);
          } while (!pages.collect());
        }
        kernels::ChildCounts const counts = schedule.children(of_family);
        total.launched += counts.launched;
        total.refused += counts.refused;
      };
      expect_join(queue(), keys, key_width, family, 1 << 22);
    }
    return total;
  }
};

TEST_F(ChildKernels, AreLaunchedForEachLargePartition) {
  for (bool of_build : {true, false}) {
    KeyShape const shape = large_partitions(of_build);
    for (int32_t key_width : {4, 8}) {
      for (plan::Match finder : {plan::Match::kCoPartitions, plan::Match::kNestedLoop}) {
        SCOPED_TRACE(std::string(of_build ? "large build" : "large probe") +
                     " partitions, keys of " + std::to_string(key_width) + " bytes, " +
                     plan::to_text(finder));
        kernels::ChildCounts const counts = expect_join_with_children(shape, key_width, finder);
        // Two launches of two passes, one or two of the others.
        EXPECT_GE(counts.launched, 4U << kRadixBits);
        EXPECT_EQ(counts.launched % (1U << kRadixBits), 0U);
        EXPECT_EQ(counts.refused, 0U);
        if (HasFailure()) return;
      }
    }
  }
}

TEST_F(ChildKernels, AreNotLaunchedForPartitionsOfFewUnits) {
  KeyShape const shape{"", unique_keys(40000, 1, 1), random_keys(90000, 40000, 1, 2)};
  kernels::ChildCounts const counts =
      expect_join_with_children(shape, 4, plan::Match::kCoPartitions);
  EXPECT_EQ(counts.launched, 0U);
  EXPECT_EQ(counts.refused, 0U);
}

// The limit is the device's; nothing else runs here.
TEST_F(ChildKernels, LeavePartitionsToTheirParentsWhenLaunchesAreRefused) {
  size_t before = 0;
  ASSERT_EQ(cudaDeviceGetLimit(&before, cudaLimitDevRuntimePendingLaunchCount), cudaSuccess);
  ASSERT_EQ(cudaDeviceSetLimit(cudaLimitDevRuntimePendingLaunchCount, 1), cudaSuccess);
  for (bool of_build : {true, false}) {
    kernels::ChildCounts const counts =
        expect_join_with_children(large_partitions(of_build), 4, plan::Match::kCoPartitions);
    EXPECT_GT(counts.refused, 0U);
    EXPECT_GE(counts.refused + counts.launched, 4U << kRadixBits);
  }
  EXPECT_EQ(cudaDeviceSetLimit(cudaLimitDevRuntimePendingLaunchCount, before), cudaSuccess);
}

}  // namespace
}  // namespace gpujoin::tests
