// The CPU executor when it must not go on: memory limits, cancellation, and heavy skew.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <numeric>
#include <thread>

#include "src/base/status.hpp"
#include "tests/cpu/join_tables.hpp"

namespace gpujoin::test {
namespace {

TestTable two_columns(std::vector<uint64_t> keys, uint64_t seed) {
  TestTable table;
  table.rows = keys.size();
  table.columns.push_back(TestColumn::of_keys(4, keys));
  table.columns.push_back(TestColumn::of_random(4, table.rows, seed));
  return table;
}

std::vector<uint64_t> dense(size_t rows, uint64_t first = 0) {
  std::vector<uint64_t> keys(rows);
  std::iota(keys.begin(), keys.end(), first);
  return keys;
}

gpujoin_status status_of(base::Queue& queue, const execute::PlannedJoin& join) {
  columns::JoinResult result;
  try {
    execute::on_cpu(queue, join, result);
  } catch (const base::Error& error) {
    return error.status();
  }
  return GPUJOIN_OK;
}

TEST(CpuLimits, MemoryLimitIsAnErrorAndGivesEverythingBack) {
  TestTable const left = two_columns(dense(50000), 1);
  TestTable const right = two_columns(dense(50000), 2);
  int failures = 0;
  for (uint64_t limit = 1 << 12; limit <= uint64_t{1} << 25; limit *= 2) {
    auto const queue = cpu_queue(4, limit);
    auto const join = planned(queue, left, right, cpu_plan(), true, true);
    gpujoin_status const status = status_of(queue, join);
    if (status != GPUJOIN_OK) {
      EXPECT_EQ(status, GPUJOIN_ERROR_MEMORY_LIMIT) << "limit " << limit;
      ++failures;
    }
    EXPECT_EQ(queue->host_pool->in_use_bytes(), 0U) << "limit " << limit;
    EXPECT_LE(queue->host_pool->account().held_bytes(), limit);
  }
  EXPECT_GE(failures, 5);
  EXPECT_LE(failures, 13);
}

TEST(CpuLimits, ALimitThatHoldsTheResultButNotTheEstimateIsEnough) {
  // 2^18 probe rows of which 1000 match: an output for all of them would not fit.
  TestTable const left = two_columns(dense(1000), 1);
  TestTable const right = two_columns(dense(1 << 18), 2);
  for (bool const partitions : {false, true}) {
    auto const queue = cpu_queue(2, uint64_t{partitions ? 7U : 3U} << 20);
    auto plan = cpu_plan();
    plan.radix_bits = partitions ? 4 : 0;
    auto const join = planned(queue, left, right, plan, true, true);
    columns::JoinResult result;
    execute::on_cpu(queue, join, result);
    EXPECT_EQ(result.rows, 1000);
    EXPECT_EQ(
        result.statistics.stages[1].technique,
        partitions ? "co_partitions, counted" : "co_partitions, counted, probe rows in place");
  }
}

TEST(CpuLimits, ASmallResultDoesNotHoldALargeBlock) {
  TestTable const left = two_columns(dense(1000), 1);
  TestTable const right = two_columns(dense(1 << 18), 2);
  auto const queue = cpu_queue(2);
  columns::JoinResult result;
  execute::on_cpu(queue, planned(queue, left, right, cpu_plan(), true, true), result);
  EXPECT_EQ(result.rows, 1000);
  EXPECT_LT(queue->host_pool->in_use_bytes(), 1U << 20);
}

TEST(CpuLimits, ProgressCallbackCancels) {
  TestTable const left = two_columns(dense(200000), 1);
  TestTable const right = two_columns(dense(200000), 2);
  struct State {
    int calls = 0;
    int stages = 0;
    int refuse_at = 0;
    std::thread::id thread;
    bool other_thread = false;
  } state;
  state.thread = std::this_thread::get_id();
  auto const queue = cpu_queue(4);
  queue->context.progress_user = &state;
  queue->context.progress_function = [](const char*, int64_t done, int64_t total, void* user) {
    auto& s = *static_cast<State*>(user);
    EXPECT_LE(done, total);
    s.other_thread |= s.thread != std::this_thread::get_id();
    s.stages += done == 0 ? 1 : 0;
    return ++s.calls == s.refuse_at ? 1 : 0;
  };
  auto const join = planned(queue, left, right, cpu_plan(), true, true);
  EXPECT_EQ(status_of(queue, join), GPUJOIN_OK);
  EXPECT_GE(state.calls, 6);
  // Each stage calls at its beginning and its end; how often in between is up to the threads.
  int const stages = state.stages;
  for (int refuse_at : {1, 2, 3, 4, stages, 2 * stages}) {
    state.calls = 0;
    state.refuse_at = refuse_at;
    EXPECT_EQ(status_of(queue, join), GPUJOIN_ERROR_CANCELLED) << "call " << refuse_at;
    EXPECT_EQ(queue->host_pool->in_use_bytes(), 0U);
  }
  EXPECT_FALSE(state.other_thread);
}

TEST(CpuLimits, CancelTakesEffectInTheMiddleOfOneHeavyKey) {
  // 4 * 10^9 matches of one key: minutes of work in a single partition.
  TestTable const left = two_columns(std::vector<uint64_t>(1 << 16, 5), 1);
  TestTable const right = two_columns(std::vector<uint64_t>(1 << 16, 5), 2);
  auto const queue = cpu_queue(2);
  auto join = planned(queue, left, right, cpu_plan(), false, true);
  join.spec.left_columns = {};
  join.spec.right_columns = {};
  std::thread canceller([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(30));
    queue->context.cancels.fetch_add(1);
  });
  auto const start = std::chrono::steady_clock::now();
  gpujoin_status const status = status_of(queue, join);
  auto const elapsed = std::chrono::steady_clock::now() - start;
  canceller.join();
  EXPECT_EQ(status, GPUJOIN_ERROR_CANCELLED);
  EXPECT_LT(elapsed, std::chrono::seconds(20));
  EXPECT_EQ(queue->host_pool->in_use_bytes(), 0U);
}

// Sum of the right payload over the output, and its rows, for one heavy key.
TEST(CpuSkew, AHeavyKeyIsSharedAmongTasks) {
  struct Case {
    size_t heavy_build;
    size_t heavy_probe;
  };
  for (Case const each : {Case{270000, 3}, Case{1, 300000}, Case{2000, 50}, Case{540000, 2}}) {
    SCOPED_TRACE(testing::Message() << each.heavy_build << " x " << each.heavy_probe);
    auto left_keys = dense(5000, 100);
    auto right_keys = dense(5000, 100);
    left_keys.insert(left_keys.begin() + 2000, each.heavy_build, 77);
    right_keys.insert(right_keys.begin() + 2000, each.heavy_probe, 77);
    TestTable const left = two_columns(left_keys, 1);
    TestTable const right = two_columns(right_keys, 2);
    columns::JoinResult result;
    auto const queue = cpu_queue(4);
    execute::on_cpu(queue, planned(queue, left, right, cpu_plan(), true, true), result);
    ASSERT_EQ(result.rows, static_cast<int64_t>(5000 + each.heavy_build * each.heavy_probe));
    auto const* l = static_cast<const uint32_t*>(result.left_rows.get());
    auto const* r = static_cast<const uint32_t*>(result.right_rows.get());
    std::vector<uint32_t> of_left(left.rows);
    std::vector<uint32_t> of_right(right.rows);
    for (int64_t row = 0; row < result.rows; ++row) {
      ASSERT_EQ(left_keys[l[row]], right_keys[r[row]]);
      ++of_left[l[row]];
      ++of_right[r[row]];
    }
    // Equal keys and right counts on both sides, and no pair twice: exactly the matches.
    for (size_t i = 0; i < left.rows; ++i) {
      ASSERT_EQ(of_left[i], left_keys[i] == 77 ? each.heavy_probe : 1);
    }
    for (size_t i = 0; i < right.rows; ++i) {
      ASSERT_EQ(of_right[i], right_keys[i] == 77 ? each.heavy_build : 1);
    }
    Pairs pairs = pairs_of(result);
    std::sort(pairs.begin(), pairs.end());
    EXPECT_EQ(std::adjacent_find(pairs.begin(), pairs.end()), pairs.end());
  }
}

}  // namespace
}  // namespace gpujoin::test
