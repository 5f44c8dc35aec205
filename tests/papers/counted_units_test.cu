// counted_units_test.cu: the match made twice: counts of work units, and pairs placed by them.
#include "kernels/papers/two_passes.cuh"
#include "src/papers/counted_units.hpp"
#include "tests/caller_allocator.hpp"
#include "tests/output/emit_counts.cuh"
#include "tests/own_queue.hpp"

namespace gpujoin::tests {
namespace {

using CountedUnits = GpuTest;

constexpr int kThreads = 256;

struct Shape {
  uint32_t grid = 5;
  uint32_t batches = 1;
  uint32_t sharers = 1;
  const uint32_t* build_row_ids = nullptr;
};

void emit_counted(base::Queue& queue, const std::vector<uint32_t>& counts, Shape shape,
                  output::GrowingPairs& pairs) {
  base::Buffer const device_counts = upload(queue, counts);
  Counted match = {device_counts.as<uint32_t>(), counts.size() / kThreads / shape.batches};
  match.batches = shape.batches;
  match.sharers = shape.sharers;
  papers::CountedUnits counted(queue, match.units, pairs);
  emit_counts_kernel<kThreads, kernels::CountingEmitter>
      <<<shape.grid, kThreads, 0, base::stream_of(queue)>>>(counted.counting_sink(), nullptr,
                                                            match);
  base::check(cudaGetLastError(), "counting pairs");
  kernels::UnitSink sink = counted.placing_sink();
  sink.build_row_ids = shape.build_row_ids;
  emit_counts_kernel<kThreads, kernels::PlacingEmitter>
      <<<shape.grid, kThreads, 0, base::stream_of(queue)>>>(sink, nullptr, match);
  base::check(cudaGetLastError(), "placing pairs");
  pairs.finish();
}

std::vector<uint32_t> uneven_counts(size_t batches, uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<uint32_t> counts(batches * kThreads);
  for (uint32_t& count : counts) count = random() % 4 == 0 ? random() % 50 : 0;
  counts[counts.size() / 2] = 20000;
  return counts;
}

TEST_F(CountedUnits, PlaceEveryPairOnce) {
  CallerAllocator allocator;
  auto const list = allocator.open_queue();
  std::vector<std::vector<uint32_t>> shapes = {uneven_counts(24, 1)};
  for (uint32_t count : {0U, 1U, 5U}) shapes.emplace_back(12 * kThreads, count);
  shapes.emplace_back(12 * kThreads, 0U)[700] = 1;
  for (base::Queue* each : {&queue(), &*list}) {
    for (std::vector<uint32_t> const& counts : shapes) {
      for (uint32_t grid : {1U, 7U, 64U}) {
        for (uint32_t batches : {1U, 3U}) {
          output::GrowingPairs pairs(*each, 1);
          emit_counted(*each, counts, {grid, batches}, pairs);
          expect_pairs(*each, pairs, expected_pairs(counts));
          EXPECT_EQ(pairs.resumes(), 0);
        }
      }
    }
  }
}

TEST_F(CountedUnits, KeepAUnitsPairsTogetherInTheOrderOfUnits) {
  std::vector<uint32_t> const counts = uneven_counts(20, 2);
  output::GrowingPairs pairs(queue(), 1);
  emit_counted(queue(), counts, {9, 1}, pairs);
  std::vector<uint32_t> const probe = download<uint32_t>(queue(), pairs.probe(), pairs.rows());
  for (size_t i = 1; i < probe.size(); ++i) {
    ASSERT_LE(probe[i - 1] / kThreads, probe[i] / kThreads) << i;
  }
}

TEST_F(CountedUnits, MayBeSharedByBlocks) {
  std::vector<uint32_t> const counts = uneven_counts(40, 3);
  output::GrowingPairs pairs(queue(), 1);
  emit_counted(queue(), counts, {16, 1, 8}, pairs);
  expect_pairs(queue(), pairs, expected_pairs(counts));
}

TEST_F(CountedUnits, HoldRowIds) {
  std::vector<uint32_t> const counts(8 * kThreads, 3);
  base::Buffer const ids = upload(queue(), std::vector<uint32_t>{1007, 1008, 1009});
  output::GrowingPairs pairs(queue(), 1);
  emit_counted(queue(), counts, {5, 1, 1, ids.as<uint32_t>()}, pairs);
  Pairs expected = expected_pairs(counts);
  for (uint64_t& pair : expected) pair += 1007;
  expect_pairs(queue(), pairs, expected);
}

TEST_F(CountedUnits, EndWithMemoryLimitAndReturnEverything) {
  CallerAllocator allocator;
  auto const list = allocator.open_queue(4 << 20);
  gpujoin_context_options options = cuda_options();
  options.memory_limit_bytes = 4 * queue().context.device->page_bytes + (2 << 20);
  auto const mapped = OwnQueue(options);
  for (base::Queue* each : {&*mapped, &*list}) {
    uint64_t const in_use = each->device_pool->in_use_bytes();
    // 12 MB, and then more than 2^32 pairs.
    for (uint32_t count : {600U, 4000000U}) {
      try {
        output::GrowingPairs pairs(*each, 1);
        emit_counted(*each, std::vector<uint32_t>(10 * kThreads, count), {}, pairs);
        ADD_FAILURE() << "the pairs fitted the limit";
      } catch (const base::Error& error) {
        EXPECT_EQ(error.status(), GPUJOIN_ERROR_MEMORY_LIMIT) << error.what();
        std::string const total = std::to_string(uint64_t{10 * kThreads} * count);
        EXPECT_NE(std::string(error.what()).find(total), std::string::npos) << error.what();
      }
      EXPECT_EQ(each->device_pool->in_use_bytes(), in_use);
    }
  }
}

}  // namespace
}  // namespace gpujoin::tests
