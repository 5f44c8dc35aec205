// output_limits_test.cu: growing output at the context's memory limit, and what the pool holds
// afterwards.
#include <set>

#include "tests/caller_allocator.hpp"
#include "tests/output/emit_counts.cuh"

namespace gpujoin::tests {
namespace {

using OutputLimits = GpuTest;

// So much that nothing of it fits a limit of a few pages: 1.5 million pairs, 12 MB.
std::vector<uint32_t> too_many() { return std::vector<uint32_t>(10 * 256, 600); }

TEST_F(OutputLimits, MappedPagesEndWithMemoryLimitAndReturnEverything) {
  uint64_t const page = queue().context.device->page_bytes;
  if (page == 0) GTEST_SKIP() << "this device maps no pages";
  auto const limited = limited_queue(4 * page + (1 << 20));
  base::Pool& held = *limited->device_pool;
  uint64_t const in_use = held.in_use_bytes();
  EXPECT_EQ(status_of([&] {
              output::GrowingPairs pairs(*limited, 1);
              emit_counts<256>(*limited, too_many(), pairs);
            }),
            GPUJOIN_ERROR_MEMORY_LIMIT);
  EXPECT_EQ(held.in_use_bytes(), in_use);
  EXPECT_LE(held.account().held_bytes(), held.account().limit_bytes());
  held.account().trim();
  EXPECT_EQ(held.account().held_bytes(), in_use);
  // The context is good for a join that fits.
  std::vector<uint32_t> const counts(4 * 256, 3);
  output::GrowingPairs pairs(*limited, 1);
  emit_counts<256>(*limited, counts, pairs);
  expect_pairs(*limited, pairs, expected_pairs(counts));
}

TEST_F(OutputLimits, ACallersBlocksEndWithMemoryLimitAndReturnEverything) {
  CallerAllocator allocator;
  {
    auto const limited = allocator.open_queue(4 << 20);
    base::Pool& held = *limited->device_pool;
    uint64_t const in_use = held.in_use_bytes();
    EXPECT_EQ(status_of([&] {
                output::GrowingPairs pairs(*limited, 1);
                emit_counts<256>(*limited, too_many(), pairs);
              }),
              GPUJOIN_ERROR_MEMORY_LIMIT);
    EXPECT_EQ(held.in_use_bytes(), in_use);
    held.account().trim();
    EXPECT_EQ(held.account().held_bytes(), in_use);
  }
  EXPECT_EQ(allocator.live_blocks(), 0U);
}

TEST_F(OutputLimits, AnEstimateFarTooHighStillStarts) {
  uint64_t const page = queue().context.device->page_bytes;
  if (page == 0) GTEST_SKIP() << "this device maps no pages";
  auto const limited = limited_queue(8 * page + (1 << 20));
  output::GrowingPairs pairs(*limited, 1000 * page);
  std::vector<uint32_t> const counts(4 * 256, 3);
  emit_counts<256>(*limited, counts, pairs);
  expect_pairs(*limited, pairs, expected_pairs(counts));
}

TEST_F(OutputLimits, TwoColumnsShareWhatTheLimitLeaves) {
  // The estimate wants six pages a column of the eight there are; the result needs four.
  uint64_t const page = queue().context.device->page_bytes;
  if (page == 0) GTEST_SKIP() << "this device maps no pages";
  auto const limited = limited_queue(8 * page + (1 << 20));
  EXPECT_EQ(status_of([&] {
              output::GrowingPairs pairs(*limited, 6 * page / 4);
              pairs.make_room(4 * page / 4);
            }),
            GPUJOIN_OK);
}

TEST_F(OutputLimits, ACallersAllocatorAlsoStartsWithLessThanTheEstimate) {
  CallerAllocator allocator;
  auto const limited = allocator.open_queue(4 << 20);
  EXPECT_EQ(status_of([&] { output::GrowingPairs const pairs(*limited, 10 << 20); }), GPUJOIN_OK);
}

TEST_F(OutputLimits, ParkedPagesServeTheNextJoinAndGoWhenTrimmed) {
  if (queue().context.device->page_bytes == 0) GTEST_SKIP() << "this device maps no pages";
  uint64_t const in_use = pool().in_use_bytes();
  std::set<const uint32_t*> columns;
  {
    output::GrowingPairs const pairs(queue(), 600000);
    columns = {pairs.build(), pairs.probe()};
    EXPECT_GE(pool().in_use_bytes(), in_use + 2 * 600000 * 4);
  }
  EXPECT_EQ(pool().in_use_bytes(), in_use);
  uint64_t const parked = pool().account().held_bytes();
  EXPECT_GE(parked, in_use + 2 * 600000 * 4);
  {
    output::GrowingPairs const pairs(queue(), 500000);
    EXPECT_EQ((std::set<const uint32_t*>{pairs.build(), pairs.probe()}), columns);
    EXPECT_EQ(pool().account().held_bytes(), parked);
  }
  pool().account().trim();
  EXPECT_EQ(pool().account().held_bytes(), in_use);
}

TEST_F(OutputLimits, ParkedPagesMakeWayForOtherBuffers) {
  uint64_t const page = queue().context.device->page_bytes;
  if (page == 0) GTEST_SKIP() << "this device maps no pages";
  auto const limited = limited_queue(8 * page + (1 << 20));
  { output::GrowingPairs const pairs(*limited, 3 * page / 4); }
  EXPECT_GE(limited->device_pool->account().held_bytes(), 6 * page);
  EXPECT_EQ(status_of([&] {
              base::Buffer const buffer = limited->device_pool->allocate(
                  base::Memory::kDevice, 6 * page, "as much as is parked");
            }),
            GPUJOIN_OK);
}

TEST_F(OutputLimits, UnmappingParkedPagesIsNoPeak) {
  if (queue().context.device->page_bytes == 0) GTEST_SKIP() << "this device maps no pages";
  { output::GrowingPairs const pairs(queue(), 600000); }
  pool().reset_peak();
  uint64_t const in_use = pool().in_use_bytes();
  pool().account().trim();
  EXPECT_EQ(pool().peak_bytes(), in_use);
}

}  // namespace
}  // namespace gpujoin::tests
