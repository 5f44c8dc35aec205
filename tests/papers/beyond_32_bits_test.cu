// beyond_32_bits_test.cu: more than 2^32 pairs through the emitters of the papers.
#include "kernels/papers/block_chunks.cuh"
#include "kernels/papers/estimated_groups.cuh"
#include "kernels/papers/thread_pages.cuh"
#include "kernels/papers/two_passes.cuh"
#include "src/papers/counted_units.hpp"
#include "src/papers/estimated_groups.hpp"
#include "src/papers/paged_pairs.hpp"
#include "tests/output/beyond_32_bits.cuh"

namespace gpujoin::tests {
namespace {

TEST_F(Beyond32Bits, PagesOfThreadsAndChunksOfBlocks) {
  plan::JoinPlan plan;
  plan.page_pairs = 63;
  for (plan::Output output : {plan::Output::kThreadPages, plan::Output::kBlockChunks}) {
    plan.output = output;
    output::GrowingPairs pairs(queue(), 1);
    papers::PagedPairs paged(queue(), plan, kGrid, kThreads, pairs);
    do {
      if (output == plan::Output::kThreadPages) {
        launch<kernels::ThreadPageEmitter>(paged.sink(), nullptr);
      } else {
        launch<kernels::BlockChunkEmitter>(paged.sink(), nullptr);
      }
    } while (!paged.collect());
    EXPECT_EQ(pairs.resumes(), 1);
    EXPECT_GT(paged.holes(), 0U);
    expect_all(pairs);
  }
}

TEST_F(Beyond32Bits, TwoPasses) {
  output::GrowingPairs pairs(queue(), 1);
  papers::CountedUnits counted(queue(), kUnits, pairs);
  launch<kernels::CountingEmitter>(counted.counting_sink(), nullptr);
  launch<kernels::PlacingEmitter>(counted.placing_sink(), nullptr);
  expect_all(pairs);
}

TEST_F(Beyond32Bits, EstimatedGroups) {
  std::vector<uint32_t> offsets(kUnits + 1);
  for (uint32_t i = 0; i <= kUnits; ++i) offsets[i] = i * 4096;
  base::Buffer const device_offsets = upload(queue(), offsets);
  papers::PartitionSizes sizes{};
  sizes.build_offsets = sizes.probe_offsets = device_offsets.as<uint32_t>();
  sizes.partitions = kUnits;
  sizes.build_rows = sizes.probe_rows = offsets.back();
  output::GrowingPairs pairs(queue(), 1);
  papers::EstimatedGroups groups(queue(), sizes, kPairs, pairs);
  kernels::ResumePoint* resume = pairs.resume_points(kGrid);
  do {
    launch<kernels::GroupEmitter>(groups.sink(), resume);
  } while (!groups.collect());
  EXPECT_GE(groups.groups(), 8);
  expect_all(pairs);
}

}  // namespace
}  // namespace gpujoin::tests
