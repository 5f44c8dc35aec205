// memory_test.cpp: what the pool reuses, counts, refuses and gives back, over a source that the
// test can see into.
#include "src/base/memory.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "src/base/status.hpp"
#include "tests/base/test_source.hpp"

namespace gpujoin::base {
namespace {

gpujoin_status status_of_allocation(Pool& pool, uint64_t bytes, std::string* message = nullptr) {
  try {
    Buffer const buffer = pool.allocate(Memory::kHost, bytes, "the test's buffer");
    return GPUJOIN_OK;
  } catch (const Error& error) {
    if (message != nullptr) *message = error.what();
    return error.status();
  }
}

TEST(Pool, AFreedBlockServesTheNextBufferOfItsSize) {
  Ledger ledger;
  auto const pool = make_pool(&ledger);
  void* first = nullptr;
  {
    Buffer const buffer = pool->allocate(Memory::kHost, 400 * kKiB, "a buffer");
    first = buffer.data();
  }
  Buffer const again = pool->allocate(Memory::kHost, 300 * kKiB, "a smaller one of the same class");
  EXPECT_EQ(again.data(), first);
  EXPECT_EQ(again.bytes(), 300 * kKiB);
  EXPECT_EQ(ledger.allocations, 1);
  Buffer const other = pool->allocate(Memory::kHost, 100 * kKiB, "another class");
  EXPECT_EQ(ledger.allocations, 2);
}

TEST(Pool, BlocksOfOneKindOfMemoryDoNotServeAnother) {
  Ledger ledger;
  auto const pool = make_pool(&ledger);
  { Buffer const host = pool->allocate(Memory::kHost, 4 * kKiB, "host"); }
  Buffer const pinned = pool->allocate(Memory::kPinned, 4 * kKiB, "pinned");
  EXPECT_EQ(pinned.memory(), Memory::kPinned);
  EXPECT_EQ(ledger.allocations, 2);
}

TEST(Pool, BuffersAreAlignedAndDisjoint) {
  Ledger ledger;
  auto const pool = make_pool(&ledger);
  std::vector<Buffer> buffers;
  for (uint64_t bytes : {1, 255, 256, 257, 511, 4096, 100000, 1 << 20, (1 << 20) + 1, 3 << 20}) {
    buffers.push_back(pool->allocate(Memory::kHost, bytes, "a buffer"));
    EXPECT_EQ(reinterpret_cast<uintptr_t>(buffers.back().data()) % 256, 0U) << bytes;
    std::memset(buffers.back().data(), static_cast<int>(buffers.size()), bytes);
  }
  for (size_t i = 0; i < buffers.size(); ++i) {
    auto const* bytes = buffers[i].as<unsigned char>();
    EXPECT_EQ(bytes[0], i + 1);
    EXPECT_EQ(bytes[buffers[i].bytes() - 1], i + 1);
  }
  buffers.clear();
  EXPECT_EQ(pool->account().guard_violations(), 0U);
}

TEST(Pool, NothingIsAnEmptyBuffer) {
  Ledger ledger;
  auto const pool = make_pool(&ledger);
  Buffer const buffer = pool->allocate(Memory::kHost, 0, "nothing");
  EXPECT_FALSE(buffer);
  EXPECT_EQ(ledger.allocations, 0);
}

TEST(Pool, AMovedBufferIsReleasedOnce) {
  Ledger ledger;
  auto const pool = make_pool(&ledger);
  Buffer first = pool->allocate(Memory::kHost, kKiB, "a buffer");
  Buffer second = std::move(first);
  first = {};
  EXPECT_GT(pool->in_use_bytes(), 0U);
  second = pool->allocate(Memory::kHost, 64 * kKiB, "another");
  second = {};
  EXPECT_EQ(pool->in_use_bytes(), 0U);
  pool->account().trim();
  EXPECT_EQ(ledger.deallocations, 2);
}

TEST(Pool, TheLimitCountsBlocksInUseAndNotThoseKept) {
  Ledger ledger;
  auto const pool = make_pool(&ledger, 4 * kMiB);
  { Buffer const kept = pool->allocate(Memory::kHost, 3 * kMiB / 2, "kept for later"); }
  EXPECT_GT(pool->account().held_bytes(), 0U);
  // Does not fit beside the kept block, which is given back for it.
  Buffer const large = pool->allocate(Memory::kHost, 3 * kMiB, "a large buffer");
  EXPECT_LE(pool->account().held_bytes(), 4 * kMiB);
  EXPECT_EQ(ledger.deallocations, 1);
  std::string message;
  EXPECT_EQ(status_of_allocation(*pool, 3 * kMiB / 2, &message), GPUJOIN_ERROR_MEMORY_LIMIT);
  EXPECT_NE(message.find("the test's buffer"), std::string::npos) << message;
  EXPECT_EQ(status_of_allocation(*pool, 100 * kMiB), GPUJOIN_ERROR_MEMORY_LIMIT);
  EXPECT_EQ(status_of_allocation(*pool, kMiB / 4), GPUJOIN_OK);
  // A refusal takes nothing.
  EXPECT_EQ(pool->in_use_bytes(),
            ledger.live_bytes - (pool->account().held_bytes() - pool->in_use_bytes()));
}

TEST(Pool, MemoryOfOtherKindsIsNotLimited) {
  Ledger ledger;
  auto const pool = make_pool(&ledger, kMiB, Memory::kDevice);
  Buffer const host = pool->allocate(Memory::kHost, 8 * kMiB, "host memory");
  EXPECT_EQ(pool->in_use_bytes(), 0U);
  EXPECT_EQ(pool->account().held_bytes(), 0U);
}

TEST(Pool, TrimGivesBackWhatNobodyUses) {
  Ledger ledger;
  auto const pool = make_pool(&ledger);
  Buffer const used = pool->allocate(Memory::kHost, kMiB, "in use");
  { Buffer const freed = pool->allocate(Memory::kHost, 2 * kMiB, "freed"); }
  EXPECT_GT(pool->account().held_bytes(), pool->in_use_bytes());
  pool->account().trim();
  EXPECT_EQ(pool->account().held_bytes(), pool->in_use_bytes());
  EXPECT_EQ(ledger.live_bytes, pool->in_use_bytes());
  EXPECT_EQ(ledger.live.size(), 1U);
}

TEST(Pool, TheTrimHookMayTakeItsBytesOffTheAccount) {
  Ledger ledger;
  auto const pool = make_pool(&ledger, 8 * kMiB);
  ASSERT_TRUE(pool->try_reserve(6 * kMiB));
  pool->park(6 * kMiB);
  uint64_t parked = 6 * kMiB;
  pool->account().set_trim_hook([&pool, &parked] {
    pool->unpark(parked);
    pool->unreserve(parked);
    parked = 0;
  });
  EXPECT_EQ(pool->in_use_bytes(), 0U);
  EXPECT_EQ(pool->account().held_bytes(), 6 * kMiB);
  Buffer const buffer =
      pool->allocate(Memory::kHost, 7 * kMiB, "what the parked bytes stand in for");
  EXPECT_EQ(parked, 0U);
  EXPECT_EQ(pool->account().held_bytes(), pool->in_use_bytes());
}

TEST(Pool, ReservationsAndBlocksShareTheLimit) {
  Ledger ledger;
  auto const pool = make_pool(&ledger, 8 * kMiB);
  Buffer buffer = pool->allocate(Memory::kHost, 2 * kMiB, "a buffer");
  EXPECT_FALSE(pool->try_reserve(7 * kMiB));
  EXPECT_FALSE(pool->try_reserve(UINT64_MAX));
  uint64_t const in_use = pool->in_use_bytes();
  EXPECT_TRUE(pool->try_reserve(8 * kMiB - in_use));
  EXPECT_EQ(status_of_allocation(*pool, 1), GPUJOIN_ERROR_MEMORY_LIMIT);
  pool->unreserve(8 * kMiB - in_use);
  buffer = {};
  EXPECT_TRUE(pool->try_reserve(8 * kMiB));  // the kept block goes
  EXPECT_EQ(ledger.live_bytes, 0U);
  pool->unreserve(8 * kMiB);
}

TEST(Pool, ThePeakIsTheMostInUse) {
  Ledger ledger;
  auto const pool = make_pool(&ledger);
  {
    Buffer const first = pool->allocate(Memory::kHost, 4 * kMiB, "first");
    Buffer const second = pool->allocate(Memory::kHost, 2 * kMiB, "second");
  }
  uint64_t const both = pool->account().held_bytes();
  EXPECT_GE(both, 6 * kMiB);
  EXPECT_EQ(pool->peak_bytes(), both);
  pool->reset_peak();
  EXPECT_EQ(pool->peak_bytes(), 0U);
  { Buffer const third = pool->allocate(Memory::kHost, kMiB, "third"); }
  EXPECT_LT(pool->peak_bytes(), both);
  EXPECT_GE(pool->peak_bytes(), kMiB);
  EXPECT_EQ(pool->account().peak_bytes(), both);
}

TEST(Pool, WhenTheSourceHasNothingTheKeptBlocksAreTriedFirst) {
  Ledger ledger;
  auto const pool = make_pool(&ledger);
  { Buffer const kept = pool->allocate(Memory::kHost, 2 * kMiB, "kept"); }
  ledger.fail_from = ledger.allocations;
  ledger.fail_until = ledger.fail_from + 1;  // once
  Buffer const buffer = pool->allocate(Memory::kHost, 4 * kMiB, "a buffer");
  EXPECT_TRUE(buffer);
  EXPECT_EQ(ledger.deallocations, 1);
}

TEST(Pool, ASourceThatFailsAtAnyCallLeavesTheAccountRight) {
  for (int fail_from = 0; fail_from < 6; ++fail_from) {
    Ledger ledger;
    ledger.fail_from = fail_from;
    {
      auto const pool = make_pool(&ledger);
      std::vector<Buffer> buffers;
      gpujoin_status status = GPUJOIN_OK;
      try {
        for (uint64_t i = 1; i <= 6; ++i) {
          buffers.push_back(pool->allocate(Memory::kHost, i * 3 * kKiB, "a row of buffers"));
        }
      } catch (const Error& error) {
        status = error.status();
        EXPECT_NE(std::string(error.what()).find("a row of buffers"), std::string::npos);
      }
      EXPECT_EQ(status, GPUJOIN_ERROR_OUT_OF_MEMORY) << fail_from;
      EXPECT_EQ(buffers.size(), static_cast<size_t>(fail_from));
      EXPECT_EQ(pool->in_use_bytes(), ledger.live_bytes);
      buffers.clear();
      EXPECT_EQ(pool->in_use_bytes(), 0U);
    }
    EXPECT_EQ(ledger.live_bytes, 0U) << "the pool did not give everything back";
    EXPECT_TRUE(ledger.live.empty());
  }
}

TEST(Pool, ABufferOutlivesTheOwnersOfThePool) {
  Ledger ledger;
  Buffer buffer;
  {
    auto const pool = make_pool(&ledger);
    buffer = pool->allocate(Memory::kHost, 10 * kKiB, "a buffer");
  }
  std::memset(buffer.data(), 1, buffer.bytes());
  buffer = {};
  EXPECT_EQ(ledger.live_bytes, 0U);
}

TEST(Pool, BuffersMayBeReleasedOnAnyThread) {
  Ledger ledger;
  auto const pool = make_pool(&ledger);
  constexpr int kThreads = 4;
  constexpr int kRounds = 200;
  std::vector<std::thread> threads;
  std::atomic<int> wrong{0};
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      std::vector<Buffer> mine;
      for (int round = 0; round < kRounds; ++round) {
        auto const bytes = static_cast<uint64_t>(64 + (round * 37 + t * 11) % 5000);
        mine.push_back(pool->allocate(Memory::kHost, bytes, "a thread's buffer"));
        std::memset(mine.back().data(), t, bytes);
        if (mine.size() == 8) {
          for (Buffer const& buffer : mine) {
            auto const* data = buffer.as<unsigned char>();
            for (uint64_t i = 0; i < buffer.bytes(); ++i) wrong += data[i] != t ? 1 : 0;
          }
          // Releases on a thread that allocated nothing.
          std::thread([released = std::move(mine)]() mutable { released.clear(); }).join();
          mine.clear();
        }
        if (round % 50 == 0) pool->account().trim();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0) << "a block was handed out twice";
  EXPECT_EQ(pool->in_use_bytes(), 0U);
  EXPECT_EQ(pool->account().held_bytes(), ledger.live_bytes);
  EXPECT_EQ(pool->account().guard_violations(), 0U);
}

#if GPUJOIN_CHECKED
TEST(Pool, AByteWrittenBesideABufferIsCounted) {
  Ledger ledger;
  auto const pool = make_pool(&ledger);
  for (uint64_t bytes : {1, 100, 256, 1000, 5000}) {
    uint64_t const before = pool->account().guard_violations();
    {
      Buffer const behind = pool->allocate(Memory::kHost, bytes, "overrun");
      behind.as<unsigned char>()[bytes] = 0;
    }
    EXPECT_EQ(pool->account().guard_violations(), before + 1) << bytes;
    {
      Buffer const ahead = pool->allocate(Memory::kHost, bytes, "underrun");
      *(ahead.as<unsigned char>() - 1) = 0;
    }
    EXPECT_EQ(pool->account().guard_violations(), before + 2) << bytes;
    {
      Buffer const within = pool->allocate(Memory::kHost, bytes, "used to the last byte");
      std::memset(within.data(), 0, bytes);
    }
    EXPECT_EQ(pool->account().guard_violations(), before + 2) << bytes;
  }
}

TEST(Pool, AReusedBlockIsPoisonedAgain) {
  Ledger ledger;
  auto const pool = make_pool(&ledger);
  {
    Buffer const first = pool->allocate(Memory::kHost, 3000, "first");
    std::memset(first.data(), 0, 3000);
  }
  Buffer const second = pool->allocate(Memory::kHost, 2500, "second");
  ASSERT_EQ(ledger.allocations, 1);
  for (uint64_t i = 0; i < 2500; ++i) ASSERT_EQ(second.as<unsigned char>()[i], 0xFE) << i;
}
#endif

TEST(CheckedBytes, RefusesWhatNoMemoryHolds) {
  EXPECT_EQ(checked_bytes(0, 16), 0U);
  EXPECT_EQ(checked_bytes(uint64_t{1} << 40, 16), uint64_t{1} << 44);
  EXPECT_THROW(checked_bytes(uint64_t{1} << 60, 16), Error);
  EXPECT_THROW(checked_bytes(uint64_t{1} << 62, 2), Error);
}

}  // namespace
}  // namespace gpujoin::base
