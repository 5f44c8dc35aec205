// What has no room beside what others hold is tried again when they give it back, and fails when
// they don't.
#include "src/pieces/with_room.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <thread>
#include <vector>

#include "src/execute/output_size.hpp"
#include "src/pieces/build.hpp"
#include "src/pieces/operation.hpp"
#include "src/pieces/probe.hpp"
#include "src/pieces/rest_joins.hpp"
#include "tests/pieces/drawn_tables.hpp"

namespace gpujoin::tests {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

constexpr uint64_t kLimit = uint64_t{2} << 20;

// Another call of the context, which holds all but `left_bytes` of the limit.
class Holder {
 public:
  Holder(const std::shared_ptr<base::Context>& context, uint64_t left_bytes)
      : pool_(std::make_shared<base::Pool>(context->host_account)) {
    // Blocks are somewhat larger than what was asked for.
    for (uint64_t bytes = uint64_t{64} << 10; bytes >= 256; bytes /= 4) {
      while (context->host_account->in_use_bytes() + 2 * bytes + left_bytes < kLimit) {
        held_.push_back(pool_->allocate(base::Memory::kHost, bytes, "what another call holds"));
      }
    }
  }
  ~Holder() {
    if (thread_.joinable()) thread_.join();
  }
  Holder(const Holder&) = delete;
  Holder& operator=(const Holder&) = delete;

  void let_go_later() {
    thread_ = std::thread([this] {
      std::this_thread::sleep_for(milliseconds(50));
      held_.clear();
    });
  }

 private:
  std::shared_ptr<base::Pool> pool_;
  std::vector<base::Buffer> held_;
  std::thread thread_;
};

class WithRoom : public ::testing::Test {
 protected:
  // Half of the limit for a moment.
  int take_half() {
    ++tries_;
    base::Pool& pool = *pool_;
    return pool.allocate(base::Memory::kHost, kLimit / 2, "half") ? 1 : 0;
  }
  int run(const base::ScarceMemory::Check& check) {
    return pieces::with_room(*context_, check, [&] { return take_half(); });
  }

  std::shared_ptr<base::Context> context_ = make_context(kLimit);
  std::shared_ptr<base::Pool> pool_ = std::make_shared<base::Pool>(context_->host_account);
  std::atomic<int> tries_{0};
};

TEST_F(WithRoom, IsTriedOnceWhereThereIsSome) {
  EXPECT_EQ(run([] {}), 1);
  EXPECT_EQ(tries_, 1);
}

TEST_F(WithRoom, IsTriedAgainWhenOthersLetGo) {
  Holder holder(context_, kLimit / 4);
  holder.let_go_later();
  EXPECT_EQ(run([] {}), 1);
  EXPECT_GE(tries_, 2);
}

TEST_F(WithRoom, FailsWhenNobodyDoes) {
  Holder const holder(context_, kLimit / 4);
  auto const start = Clock::now();
  std::atomic<int> failed{0};
  std::vector<std::thread> threads;
  for (int i = 0; i < 16; ++i) {
    threads.emplace_back([&] {
      try {
        run([] {});
      } catch (const base::Error& error) {
        if (error.status() == GPUJOIN_ERROR_MEMORY_LIMIT) ++failed;
      }
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(failed, 16);
  EXPECT_LT(Clock::now() - start, milliseconds(8'000));  // not a second after the other
  // And is in nobody's way then.
  context_->scarce_memory.let_others_first([] { FAIL() << "waits"; });
}

TEST_F(WithRoom, OneAfterTheOther) {
  Holder holder(context_, kLimit / 4);
  holder.let_go_later();
  std::vector<std::thread> threads;
  std::atomic<int> done{0};
  for (int i = 0; i < 8; ++i) threads.emplace_back([&] { done += run([] {}); });
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(done, 8);
}

TEST_F(WithRoom, EndsWithItsCall) {
  Holder const holder(context_, kLimit / 4);
  auto const end = Clock::now() + milliseconds(30);
  auto const check = [&] {
    if (Clock::now() > end) base::fail(GPUJOIN_ERROR_CANCELLED, "cancelled");
  };
  std::atomic<int> cancelled{0};
  std::vector<std::thread> threads;
  for (int i = 0; i < 3; ++i) {  // one has the turn, others wait for it
    threads.emplace_back([&] {
      try {
        run(check);
      } catch (const base::Error& error) {
        if (error.status() == GPUJOIN_ERROR_CANCELLED) ++cancelled;
      }
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(cancelled, 3);
}

std::shared_ptr<pieces::Build> build_of(const std::shared_ptr<const columns::Relation>& rows,
                                        const columns::JoinSpec& spec) {
  pieces::BuildShape shape;
  shape.keys = spec.right_keys;
  shape.has_row_numbers = spec.pairs;
  return std::make_shared<pieces::Build>(rows->context, *rows, shape);
}

// A join of rows that the library gathers while there is next to no room, and joins while there is
// none.
TEST_F(WithRoom, RowsAreAppendedAndJoined) {
  auto const table = draw({2000, 300, 0.0, 0.0, 1});
  auto const other = draw({600, 300, 0.0, 0.0, 2});
  auto const spec = spec_of(columns::JoinKind::kLeft, false, false, true);
  Rows const expected = one_call(make_context(0), table, other, spec);
  auto const build_rows = relation_of(context_, other);
  auto const probe_rows = relation_of(context_, table);
  auto const build = build_of(build_rows, spec);
  {
    Holder holder(context_, 512);
    holder.let_go_later();
    build->append(build_rows, 0);
  }
  build->finish();
  pieces::OperationOptions options;
  options.has_row_numbers = spec.pairs;
  auto const operation = std::make_shared<pieces::Operation>(build, *probe_rows, spec, options);
  auto probe = std::make_unique<pieces::Probe>(operation);
  operation->close();
  Rows found;
  {
    Holder holder(context_, 512);
    holder.let_go_later();
    ASSERT_TRUE(probe->append(probe_rows, 0));
  }
  probe->finish();
  for (bool is_first = true;; is_first = false) {
    std::unique_ptr<Holder> const holder =
        is_first ? std::make_unique<Holder>(context_, 4096) : nullptr;
    if (is_first) holder->let_go_later();
    std::unique_ptr<columns::JoinResult> result;
    if (probe->next(&result) != pieces::Found::kResult) break;
    add_rows(*result, &found);
  }
  EXPECT_TRUE(found == expected);
}

// What comes out of all rows of one would take all of the limit. Who reads a result one after the
// other still has the last one when the next is made.
TEST_F(WithRoom, ProbesAtTheSameTime) {
  constexpr int kProbes = 4;
#if GPUJOIN_CHECKED
  // Guards around each buffer take room, too.
  constexpr uint64_t kRoom = kLimit / 2 * 3;
#else
  constexpr uint64_t kRoom = kLimit;
#endif
  auto const context = make_context(kRoom);
  auto const table = draw({3000, 20, 0.0, 0.0, 1});
  auto const other = draw({600, 20, 0.0, 0.0, 2});
  auto const spec = spec_of(columns::JoinKind::kInner, false, false, false);
  Rows const expected = one_call(make_context(0), table, other, spec);
  auto const build_rows = relation_of(context, other);
  auto const probe_rows = relation_of(context, table);
  auto const build = build_of(build_rows, spec);
  build->append(build_rows, 0);
  build->finish();
  auto const run_one = [&](Rows* found) {
    auto const operation =
        std::make_shared<pieces::Operation>(build, *probe_rows, spec, pieces::OperationOptions());
    pieces::Probe probe(operation);
    operation->close();
    ASSERT_TRUE(probe.append(probe_rows, 0));
    probe.finish();
    std::unique_ptr<columns::JoinResult> result;
    while (probe.next(&result) == pieces::Found::kResult) {
      EXPECT_LE(execute::bytes_of_result(*result), kRoom / 16);
      add_rows(*result, found);
    }
  };
  std::vector<Rows> found(kProbes);
  std::vector<std::thread> threads;
  for (Rows& rows : found) {
    threads.emplace_back([&] {
      try {
        run_one(&rows);
      } catch (const base::Error& error) {
        ADD_FAILURE() << error.what();
      }
    });
  }
  for (auto& thread : threads) thread.join();
  for (Rows const& rows : found) EXPECT_TRUE(rows == expected);
}

// Of joins of an operation, when those that hold memory are none of them.
TEST_F(WithRoom, WhatIsLeftOfAnOperation) {
  std::atomic<int64_t> done{0};
  pieces::RestJoins joins(*context_, 0, 0, &done);
  joins.add(
      [this](base::Queue&) -> std::unique_ptr<columns::JoinResult> {
        take_half();
        return nullptr;
      },
      0);
  Holder holder(context_, kLimit / 4);
  holder.let_go_later();
  EXPECT_EQ(joins.next({}), nullptr);
  EXPECT_EQ(done, 1);
  EXPECT_GE(tries_, 2);
}

}  // namespace
}  // namespace gpujoin::tests
