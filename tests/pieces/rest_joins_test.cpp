// Who asks for results waits while other threads have many, not for its own.
#include "src/pieces/rest_joins.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <thread>
#include <vector>

#include "src/base/status.hpp"
#include "tests/own_queue.hpp"

namespace gpujoin::tests {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;
using Result = std::unique_ptr<columns::JoinResult>;

constexpr int64_t kRows = 100;
constexpr uint64_t kBytes = kRows * sizeof(int64_t);

Result result_of_rows() {
  auto result = std::make_unique<columns::JoinResult>();
  result->memory = base::Memory::kHost;
  result->rows = kRows;
  columns::ResultColumn column;
  column.type = GPUJOIN_TYPE_INT64;
  column.width = sizeof(int64_t);
  column.data = std::make_shared<std::vector<int64_t>>(kRows);
  result->columns.push_back(std::move(column));
  return result;
}

class Rest : public ::testing::Test {
 protected:
  std::unique_ptr<pieces::RestJoins> joins_of(uint64_t most_result_bytes, int results) {
    auto made = std::make_unique<pieces::RestJoins>(*context_, 0, most_result_bytes, &done_);
    made->add(
        [left = results](base::Queue&) mutable { return left-- > 0 ? result_of_rows() : nullptr; },
        0);
    return made;
  }

  std::shared_ptr<base::Context> context_ = [] {
    gpujoin_context_options options = GPUJOIN_CONTEXT_OPTIONS_INIT;
    options.device = GPUJOIN_DEVICE_CPU;
    return base::create_context(options);
  }();
  std::atomic<int64_t> done_{0};
};

TEST_F(Rest, OneThreadThatKeepsItsResultsDoesNotWait) {
  auto const joins = joins_of(kBytes / 2, 50);
  auto const start = Clock::now();
  std::vector<Result> kept;
  while (auto result = joins->next({})) kept.push_back(std::move(result));
  EXPECT_EQ(kept.size(), 50U);
  EXPECT_EQ(done_, 1);
  EXPECT_LT(Clock::now() - start, milliseconds(2000));  // each would wait for 100
}

TEST_F(Rest, AThreadWaitsUntilOthersLetGo) {
  auto const joins = joins_of(kBytes / 2, 2);
  Result kept = joins->next({});
  ASSERT_NE(kept, nullptr);
  std::atomic<bool> has_let_go{false};
  bool had_let_go = false;
  std::thread other([&] {
    Result const next = joins->next({});
    had_let_go = has_let_go;
    EXPECT_NE(next, nullptr);
  });
  std::this_thread::sleep_for(milliseconds(20));
  has_let_go = true;
  kept = nullptr;
  other.join();
  EXPECT_TRUE(had_let_go);
}

TEST_F(Rest, NobodyWaitsForAThreadThatKeepsThem) {
  auto const joins = joins_of(kBytes / 2, 2);
  Result const kept = joins->next({});
  std::thread other([&] { EXPECT_NE(joins->next({}), nullptr); });
  other.join();
  EXPECT_NE(kept, nullptr);
}

// Results outlive the joins.
TEST_F(Rest, ResultsMayBeLetGoOfLater) {
  auto joins = joins_of(kBytes, 1);
  Result kept = joins->next({});
  EXPECT_EQ(joins->next({}), nullptr);
  joins = nullptr;
  EXPECT_EQ(kept->rows, kRows);
  kept = nullptr;
}

// A join that has no room beside results is tried again when some were let go of; without any it
// fails.
TEST_F(Rest, WhatHasNoRoomIsTriedAgain) {
  pieces::RestJoins joins(*context_, 0, kBytes, &done_);
  int tries = 0;
  joins.add(
      [&tries](base::Queue&) -> Result {
        if (++tries == 1) base::fail(GPUJOIN_ERROR_MEMORY_LIMIT, "no room");
        return tries == 2 ? result_of_rows() : nullptr;
      },
      0);
  joins.add([left = 1](base::Queue&) mutable { return left-- > 0 ? result_of_rows() : nullptr; },
            0);
  Result kept = joins.next({});
  ASSERT_NE(kept, nullptr);
  std::thread other([&] {
    std::this_thread::sleep_for(milliseconds(20));
    kept = nullptr;
  });
  EXPECT_NE(joins.next({}), nullptr);
  other.join();
  EXPECT_EQ(joins.next({}), nullptr);
  EXPECT_EQ(tries, 3);
  EXPECT_EQ(done_, 2);

  pieces::RestJoins alone(*context_, 0, kBytes, &done_);
  alone.add([](base::Queue&) -> Result { base::fail(GPUJOIN_ERROR_MEMORY_LIMIT, "no room"); }, 0);
  EXPECT_THROW(alone.next({}), base::Error);
  EXPECT_THROW(alone.next({}), base::Error);
}

// Two that began while results were there have none beside each other: each is tried once more when
// nobody lets go of anything, and not the last one alone for ever.
TEST_F(Rest, WhatHasNoRoomBesideAnotherFails) {
  pieces::RestJoins joins(*context_, 0, kBytes, &done_);
  std::atomic<int> tries{0};
  for (int join = 0; join < 2; ++join) {
    joins.add(
        [&tries](base::Queue&) -> Result {
          if (++tries > 1000) base::fail(GPUJOIN_ERROR_INTERNAL, "tried for ever");
          base::fail(GPUJOIN_ERROR_MEMORY_LIMIT, "no room");
        },
        0);
  }
  joins.add([left = 1](base::Queue&) mutable { return left-- > 0 ? result_of_rows() : nullptr; },
            0);
  Result const kept = joins.next({});
  ASSERT_NE(kept, nullptr);
  try {
    joins.next({});
    FAIL() << "there is room";
  } catch (const base::Error& error) {
    EXPECT_EQ(error.status(), GPUJOIN_ERROR_MEMORY_LIMIT) << error.what();
  }
}

}  // namespace
}  // namespace gpujoin::tests
