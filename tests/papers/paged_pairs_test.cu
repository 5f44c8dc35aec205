// paged_pairs_test.cu: pages of threads and chunks of blocks: every page size, missing pages, holes
// squeezed out.
#include <numeric>

#include "kernels/papers/block_chunks.cuh"
#include "kernels/papers/thread_pages.cuh"
#include "src/papers/paged_pairs.hpp"
#include "tests/caller_allocator.hpp"
#include "tests/output/emit_counts.cuh"
#include "tests/own_queue.hpp"

namespace gpujoin::tests {
namespace {

using PagedPairs = GpuTest;
using plan::Output;

constexpr int kThreads = 256;
constexpr Output kBoth[] = {Output::kThreadPages, Output::kBlockChunks};

struct Launches {
  Output output = Output::kThreadPages;
  int32_t page_pairs = 0;
  int64_t expected_rows = 0;
  uint32_t grid = 5;
  uint32_t announced_grid = 0;  // 0: as it is
  const uint32_t* build_row_ids = nullptr;
  const uint32_t* probe_row_ids = nullptr;
};

// As the match stage does. Returns the holes of the last launch.
uint64_t emit_paged(base::Queue& queue, const std::vector<uint32_t>& counts, const Launches& how,
                    output::GrowingPairs& pairs) {
  plan::JoinPlan plan;
  plan.output = how.output;
  plan.page_pairs = how.page_pairs;
  plan.expected_rows = how.expected_rows;
  base::Buffer const device_counts = upload(queue, counts);
  Counted const match = {device_counts.as<uint32_t>(), counts.size() / kThreads};
  uint32_t const announced = how.announced_grid == 0 ? how.grid : how.announced_grid;
  papers::PagedPairs paged(queue, plan, announced, kThreads, pairs);
  do {
    if (pairs.resumes() > 9) throw std::runtime_error("the output never had enough room");
    kernels::PageSink sink = paged.sink();
    sink.build_row_ids = how.build_row_ids;
    sink.probe_row_ids = how.probe_row_ids;
    auto const launch = [&](auto kernel) {
      kernel<<<how.grid, kThreads, 0, base::stream_of(queue)>>>(sink, nullptr, match);
      base::check(cudaGetLastError(), "emitting pages");
    };
    if (how.output == Output::kThreadPages) {
      launch(emit_counts_kernel<kThreads, kernels::ThreadPageEmitter, kernels::PageSink>);
    } else {
      launch(emit_counts_kernel<kThreads, kernels::BlockChunkEmitter, kernels::PageSink>);
    }
  } while (!paged.collect());
  pairs.finish();
  return paged.holes();
}

std::vector<std::vector<uint32_t>> shapes() {
  std::vector<std::vector<uint32_t>> all;
  for (uint32_t count : {0U, 1U, 7U}) all.emplace_back(12 * kThreads, count);
  std::vector<uint32_t> one(3 * kThreads, 0);
  one[kThreads + 33] = 1;
  all.push_back(one);
  one[kThreads + 33] = 70001;
  all.push_back(one);
  std::vector<uint32_t> ramp(6 * kThreads);
  std::iota(ramp.begin(), ramp.end(), 0U);
  for (uint32_t& count : ramp) count %= 41;
  all.push_back(ramp);
  std::mt19937_64 random(8);
  std::vector<uint32_t> uneven(30 * kThreads);
  for (uint32_t& count : uneven) count = random() % 5 == 0 ? random() % 60 : random() % 2;
  uneven[77] = 3000;
  all.push_back(uneven);
  return all;
}

TEST_F(PagedPairs, OfEverySizeHoldEveryPairOnce) {
  CallerAllocator allocator;
  auto const list = allocator.open_queue();
  for (std::vector<uint32_t> const& counts : shapes()) {
    Pairs const expected = expected_pairs(counts);
    for (Output output : kBoth) {
      for (int32_t page : {0, 1, 2, 3, 4, 8, 64, 1024}) {
        SCOPED_TRACE(::testing::Message() << to_text(output) << " " << page << " places, "
                                          << expected.size() << " pairs");
        Launches how;
        how.output = output;
        how.page_pairs = page;
        base::Queue& where = page % 3 == 0 ? *list : queue();
        how.expected_rows = page % 2 == 0 ? static_cast<int64_t>(expected.size()) : 0;
        output::GrowingPairs pairs(where, 1);
        emit_paged(where, counts, how, pairs);
        expect_pairs(where, pairs, expected);
        if (how.expected_rows != 0) EXPECT_EQ(pairs.resumes(), 0);
      }
    }
  }
}

TEST_F(PagedPairs, AreLaunchedOnceMoreWhenPagesAreMissing) {
  CallerAllocator allocator;
  auto const list = allocator.open_queue();
  std::vector<uint32_t> const counts(100 * kThreads, 29);
  Pairs const expected = expected_pairs(counts);
  for (base::Queue* each : {&queue(), &*list}) {
    for (Output output : kBoth) {
      for (int32_t page : {1, 8, 31}) {
        Launches how;
        how.output = output;
        how.page_pairs = page;
        how.grid = page == 8 ? 30 : 1;
        each->device_pool->account().trim();  // no range of an earlier test, with room for all
        output::GrowingPairs pairs(*each, 1);
        ASSERT_LT(pairs.room_pairs(), expected.size());
        emit_paged(*each, counts, how, pairs);
        EXPECT_EQ(pairs.resumes(), 1);
        expect_pairs(*each, pairs, expected);
      }
    }
  }
}

TEST_F(PagedPairs, HaveNoHolesInPagesOfOnePlace) {
  Launches how;
  how.page_pairs = 1;
  std::vector<uint32_t> const counts(4 * kThreads, 3);
  for (Output output : kBoth) {
    how.output = output;
    output::GrowingPairs pairs(queue(), 1 << 16);
    EXPECT_EQ(emit_paged(queue(), counts, how, pairs), 0U);
  }
}

TEST_F(PagedPairs, LeaveLessThanAPageForEachWriterEmpty) {
  Launches how;
  how.grid = 3;
  std::vector<uint32_t> const counts = shapes().back();
  for (Output output : kBoth) {
    how.output = output;
    how.page_pairs = 64;
    how.expected_rows = 1 << 20;
    output::GrowingPairs pairs(queue(), 1 << 20);
    uint64_t const holes = emit_paged(queue(), counts, how, pairs);
    uint64_t const writers = output == Output::kThreadPages ? 3 * kThreads : 3;
    EXPECT_GT(holes, 0U);
    EXPECT_LE(holes, writers * 63);
  }
}

TEST_F(PagedPairs, OfMoreBlocksThanAnnouncedAreLaunchedAgain) {
  std::vector<uint32_t> const counts(100 * kThreads, 5);
  for (Output output : kBoth) {
    Launches how;
    how.output = output;
    how.page_pairs = 48;
    how.grid = 50;
    how.announced_grid = 1;
    how.expected_rows = 1 << 20;
    output::GrowingPairs pairs(queue(), 1 << 20);
    emit_paged(queue(), counts, how, pairs);
    EXPECT_EQ(pairs.resumes(), 1);
    expect_pairs(queue(), pairs, expected_pairs(counts));
  }
}

TEST_F(PagedPairs, HoldRowIds) {
  std::vector<uint32_t> const counts(8 * kThreads, 6);
  std::vector<uint32_t> const build_ids = {70, 60, 50, 40, 30, 20};
  std::vector<uint32_t> probe_ids(counts.size());
  for (uint32_t i = 0; i < probe_ids.size(); ++i) probe_ids[i] = 0x80000000U + 3 * i;
  base::Buffer const build = upload(queue(), build_ids);
  base::Buffer const probe = upload(queue(), probe_ids);
  Pairs expected;
  for (uint64_t pair : expected_pairs(counts)) {
    expected.push_back(uint64_t{probe_ids[pair >> 32]} << 32 |
                       build_ids[static_cast<uint32_t>(pair)]);
  }
  std::sort(expected.begin(), expected.end());
  for (Output output : kBoth) {
    Launches how;
    how.output = output;
    how.build_row_ids = build.as<uint32_t>();
    how.probe_row_ids = probe.as<uint32_t>();
    output::GrowingPairs pairs(queue(), 1);
    emit_paged(queue(), counts, how, pairs);
    expect_pairs(queue(), pairs, expected);
  }
}

TEST_F(PagedPairs, EndWithMemoryLimitAndReturnEverything) {
  CallerAllocator allocator;
  auto const list = allocator.open_queue(8 << 20);
  gpujoin_context_options options = cuda_options();
  options.memory_limit_bytes = 4 * queue().context.device->page_bytes + (2 << 20);
  auto const mapped = OwnQueue(options);
  std::vector<uint32_t> const counts(10 * kThreads, 600);
  for (base::Queue* each : {&*mapped, &*list}) {
    uint64_t const in_use = each->device_pool->in_use_bytes();
    for (Output output : kBoth) {
      Launches how;
      how.output = output;
      try {
        output::GrowingPairs pairs(*each, 1);
        emit_paged(*each, counts, how, pairs);
        ADD_FAILURE() << "12 MB fitted the limit";
      } catch (const base::Error& error) {
        EXPECT_EQ(error.status(), GPUJOIN_ERROR_MEMORY_LIMIT) << error.what();
      }
      EXPECT_EQ(each->device_pool->in_use_bytes(), in_use);
      // The context is good for a join that fits.
      std::vector<uint32_t> const few(4 * kThreads, 3);
      output::GrowingPairs pairs(*each, 1);
      emit_paged(*each, few, how, pairs);
      expect_pairs(*each, pairs, expected_pairs(few));
    }
  }
}

}  // namespace
}  // namespace gpujoin::tests
