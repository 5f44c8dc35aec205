// memory_classes_test.cpp: how much larger than what was asked for the pool's blocks are, and which
// of them serve what.
#include <gtest/gtest.h>

#include <vector>

#include "tests/base/test_source.hpp"

namespace gpujoin::base {
namespace {

TEST(PoolClasses, LargeBlocksWasteAtMostASixtyFourth) {
  for (uint64_t bytes = kMiB + 1; bytes < 64 * kMiB; bytes += bytes / 7 + 12345) {
    Ledger ledger;
    auto const pool = make_pool(&ledger);
    Buffer const buffer = pool->allocate(Memory::kHost, bytes, "a buffer");
    constexpr uint64_t kGuards = 1024;
    EXPECT_LE(pool->in_use_bytes(), bytes + bytes / 64 + kGuards) << bytes;
    EXPECT_GE(pool->in_use_bytes(), bytes);
  }
}

TEST(PoolClasses, AFreedBlockServesABufferThatIsLittleSmaller) {
  Ledger ledger;
  auto const pool = make_pool(&ledger);
  void* large = nullptr;
  {
    Buffer const buffer = pool->allocate(Memory::kHost, 64 * kMiB, "a buffer");
    large = buffer.data();
  }
  uint64_t const held = pool->account().held_bytes();
  { Buffer const small = pool->allocate(Memory::kHost, 56 * kMiB, "an eighth less than it"); }
  EXPECT_EQ(ledger.allocations, 2);
  {
    Buffer const small = pool->allocate(Memory::kHost, 60 * kMiB, "a sixteenth less");
    EXPECT_EQ(small.data(), large);
    EXPECT_EQ(small.bytes(), 60 * kMiB);
    EXPECT_EQ(pool->in_use_bytes(), held) << "the whole block is in use";
    Buffer const other = pool->allocate(Memory::kHost, 55 * kMiB, "what the smaller one holds");
    EXPECT_EQ(ledger.allocations, 2);
  }
  EXPECT_EQ(pool->in_use_bytes(), 0U);
  EXPECT_EQ(pool->account().held_bytes(), ledger.live_bytes);
  pool->account().trim();
  EXPECT_EQ(ledger.live_bytes, 0U);
  EXPECT_EQ(pool->account().guard_violations(), 0U);
}

// What fits the limit once fits it again, whatever the first time left behind.
TEST(PoolClasses, WithALimitABlockIsOfItsClass) {
  constexpr uint64_t kLimit = 100 * kMiB;
  Ledger ledger;
  auto const pool = make_pool(&ledger, kLimit);
  auto const sizes_fit = [&](std::vector<uint64_t> const& sizes) {
    std::vector<Buffer> buffers;
    for (uint64_t const size : sizes) {
      buffers.push_back(pool->try_allocate(Memory::kHost, size * kMiB));
      if (!buffers.back()) return false;
    }
    EXPECT_LE(pool->account().held_bytes(), kLimit);
    return true;
  };
  EXPECT_TRUE(sizes_fit({30, 30, 30}));
  EXPECT_TRUE(sizes_fit({28, 28, 28, 8})) << "blocks of 30 would leave no room for the last";
  EXPECT_FALSE(sizes_fit({50, 49}) && sizes_fit({60, 60}));
}

// Each output a little larger than the last one: what it has outgrown goes back.
TEST(PoolClasses, GrowingBuffersLeaveFewBlocksBehind) {
  Ledger ledger;
  auto const pool = make_pool(&ledger);
  for (uint64_t bytes = 32 * kMiB; bytes < 128 * kMiB; bytes += bytes / 50) {
    Buffer const buffer = pool->allocate(Memory::kHost, bytes, "an output");
    EXPECT_EQ(pool->account().held_bytes(), ledger.live_bytes);
    EXPECT_LE(pool->account().held_bytes(), 2 * bytes) << bytes;
  }
}

}  // namespace
}  // namespace gpujoin::base
