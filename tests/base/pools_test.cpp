// pools_test.cpp: several pools of one account: one limit for all of them, and blocks that go from
// the pool of an idle queue to that of another one.
#include <gtest/gtest.h>

#include <atomic>
#include <barrier>
#include <cstddef>
#include <memory>
#include <thread>
#include <vector>

#include "src/base/status.hpp"
#include "tests/base/test_source.hpp"

namespace gpujoin::base {
namespace {

// Streams that are told apart, and nothing else.
std::shared_ptr<const Stream> stream_number(int number) {
  static std::byte streams[8];
  return {std::make_shared<int>(number), reinterpret_cast<const Stream*>(&streams[number])};
}

struct Pools {
  explicit Pools(Ledger* ledger, uint64_t limit = 0)
      : account(
            std::make_shared<Account>(std::make_unique<TestSource>(ledger), Memory::kHost, limit)) {
    for (int i = 0; i < 3; ++i) {
      streams.push_back(stream_number(i));
      pools.push_back(std::make_shared<Pool>(account, streams.back()));
    }
  }
  Pool& operator[](size_t i) { return *pools[i]; }

  std::shared_ptr<Account> account;
  std::vector<std::shared_ptr<const Stream>> streams;
  std::vector<std::shared_ptr<Pool>> pools;
};

TEST(Pools, ABlockOfAnIdleQueueComesInTheOrderOfItsStream) {
  Ledger ledger;
  Pools pools(&ledger);
  void* first = nullptr;
  {
    Buffer const buffer = pools[0].allocate(Memory::kHost, kMiB, "a buffer");
    first = buffer.data();
  }
  pools[0].set_idle(true);
  Buffer const taken = pools[1].allocate(Memory::kHost, kMiB, "a buffer");
  EXPECT_EQ(taken.data(), first);
  EXPECT_EQ(ledger.allocations, 1);
  ASSERT_EQ(ledger.orders.size(), 1U);
  EXPECT_EQ(ledger.orders[0].first, pools.streams[0].get());
  EXPECT_EQ(ledger.orders[0].second, pools.streams[1].get());
  EXPECT_EQ(pools[0].in_use_bytes(), 0U);
  EXPECT_EQ(pools[1].in_use_bytes(), pools.account->in_use_bytes());
}

TEST(Pools, ABlockOfABusyQueueIsLeftToIt) {
  Ledger ledger;
  Pools pools(&ledger);
  { Buffer const buffer = pools[0].allocate(Memory::kHost, kMiB, "a buffer"); }
  Buffer const other = pools[1].allocate(Memory::kHost, kMiB, "a buffer");
  EXPECT_EQ(ledger.allocations, 2);
  EXPECT_TRUE(ledger.orders.empty());
  Buffer const again = pools[0].allocate(Memory::kHost, kMiB, "a buffer");
  EXPECT_EQ(ledger.allocations, 2);
}

TEST(Pools, OneLimitIsForAll) {
  Ledger ledger;
  Pools pools(&ledger, 8 * kMiB);
  Buffer const first = pools[0].allocate(Memory::kHost, 5 * kMiB, "a buffer");
  EXPECT_FALSE(pools[1].try_allocate(Memory::kHost, 5 * kMiB));
  EXPECT_FALSE(pools[1].try_reserve(5 * kMiB));
  { Buffer const second = pools[1].allocate(Memory::kHost, 2 * kMiB, "a buffer"); }
  // What the busy queue keeps is given back before the limit refuses.
  Buffer const third = pools[2].allocate(Memory::kHost, 2 * kMiB + 1, "a buffer");
  EXPECT_LE(pools.account->held_bytes(), 8 * kMiB);
  EXPECT_EQ(pools.account->held_bytes(), ledger.live_bytes);
}

TEST(Pools, EachKnowsThePeakOfItsOwn) {
  Ledger ledger;
  Pools pools(&ledger);
  Buffer const kept = pools[0].allocate(Memory::kHost, 4 * kMiB, "another queue's");
  pools[1].reset_peak();
  { Buffer const own = pools[1].allocate(Memory::kHost, kMiB, "own"); }
  EXPECT_GE(pools[1].peak_bytes(), kMiB);
  EXPECT_LT(pools[1].peak_bytes(), 2 * kMiB);
  EXPECT_GE(pools.account->peak_bytes(), 5 * kMiB);
}

TEST(Pools, ABufferOutlivesItsQueue) {
  Ledger ledger;
  Buffer buffer;
  {
    Pools pools(&ledger);
    buffer = pools[2].allocate(Memory::kHost, kMiB, "a result");
  }
  EXPECT_EQ(ledger.live.size(), 1U);
  buffer = {};
  EXPECT_EQ(ledger.live.size(), 0U);
}

TEST(Pools, ManyThreadsTakeAndGiveBack) {
  Ledger ledger;
  Pools pools(&ledger, 64 * kMiB);
  std::vector<std::thread> threads;
  for (size_t t = 0; t < 3; ++t) {
    threads.emplace_back([&, t] {
      for (uint64_t round = 0; round < 300; ++round) {
        pools[t].set_idle(false);
        {
          Buffer const one = pools[t].try_allocate(Memory::kHost, (round % 7 + 1) * kMiB);
          Buffer const two = pools[t].try_allocate(Memory::kHost, (round % 5 + 1) * kMiB);
        }
        pools[t].set_idle(true);
        if (round % 50 == 0) pools.account->trim();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(pools.account->in_use_bytes(), 0U);
  EXPECT_EQ(pools.account->held_bytes(), ledger.live_bytes);
  EXPECT_EQ(pools.account->guard_violations(), 0U);
}

// Other threads give memory back between a refusal and its message. Whoever holds the memory lets
// others run now and then: on a busy machine the threads otherwise take turns and none is refused.
TEST(Pools, WhatTheLimitRefusesIsSaidToBeTheLimits) {
  Ledger ledger;
  Pools pools(&ledger, 3 * kMiB / 2);
  std::atomic<int> refused{0};
  std::atomic<int> said_otherwise{0};
  std::barrier start(3);
  std::vector<std::thread> threads;
  for (size_t t = 0; t < 3; ++t) {
    threads.emplace_back([&, t] {
      start.arrive_and_wait();
      for (int round = 0; round < 20000; ++round) {
        try {
          Buffer const one = pools[t].allocate(Memory::kHost, kMiB, "a buffer");
          if (round % 64 == 0) std::this_thread::yield();
        } catch (const Error& error) {
          ++refused;
          if (error.status() != GPUJOIN_ERROR_MEMORY_LIMIT) ++said_otherwise;
        }
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_GT(refused, 0);
  EXPECT_EQ(said_otherwise, 0);
}

}  // namespace
}  // namespace gpujoin::base
