// range_join_test.cpp: pairs by inequalities against every pair of rows.
#include "src/cpu/range_join.hpp"

#include <gtest/gtest.h>

#include <mutex>
#include <set>

#include "src/base/status.hpp"
#include "src/cpu/row_marks.hpp"
#include "tests/cpu/join_tables.hpp"
#include "tests/cpu/range_problems.hpp"

namespace gpujoin::test {
namespace {

using tests::Pairs;
using tests::RandomProblem;

class Collected : public cpu::PairTaker {
 public:
  void take(int32_t, const uint32_t* outer, const uint32_t* inner, uint32_t count) override {
    std::lock_guard const lock(mutex_);
    EXPECT_LE(count, cpu::kBatchRows);
    for (uint32_t i = 0; i < count; ++i) pairs_.emplace_back(outer[i], inner[i]);
  }
  Pairs sorted() {
    std::sort(pairs_.begin(), pairs_.end());
    return pairs_;
  }

 private:
  std::mutex mutex_;
  Pairs pairs_;
};

void expect_every_pair(base::Queue& queue, RandomProblem& random, const std::string& what) {
  cpu::Workers workers(queue);
  columns::RangeProblem const problem = random.problem();
  Pairs const expected = random.pairs();
  auto const join = cpu::make_range_join(queue, workers, problem);
  if (problem.has_neighbours()) {
    EXPECT_EQ(join->expected_pairs(), expected.size()) << what;
  }
  cpu::RowMarks marks(queue, static_cast<uint32_t>(problem.ranged_rows));
  join->mark_matched(marks);
  std::set<uint32_t> matched;
  for (auto const& pair : expected) matched.insert(pair.first);
  auto const marked = marks.marked();
  ASSERT_EQ(std::vector<uint32_t>(marked.numbers.as<uint32_t>(),
                                  marked.numbers.as<uint32_t>() + marked.count),
            std::vector<uint32_t>(matched.begin(), matched.end()))
      << what;
  Collected found;
  join->find(found);
  ASSERT_EQ(found.sorted(), expected) << what;
}

TEST(RangeJoin, FindsEveryPairOnce) {
  size_t const sizes[] = {0, 1, 2, 63, 64, 65, 127, 128, 500, 1000};
  for (int32_t const threads : {1, 4}) {
    auto const queue = cpu_queue(threads, 0);
    uint64_t seed = 0;
    for (size_t const ranged : sizes) {
      for (size_t const sorted : sizes) {
        for (int repeat = 0; repeat < 3; ++repeat) {
          RandomProblem random = tests::draw_problem(++seed, ranged, sorted);
          expect_every_pair(queue, random, "seed " + std::to_string(seed));
        }
      }
    }
    EXPECT_EQ(queue->host_pool->in_use_bytes(), 0U);
  }
}

TEST(RangeJoin, OfManyRowsOnAllLevels) {
  auto const queue = cpu_queue(2, 0);
  for (uint64_t seed = 1000; seed < 1006; ++seed) {
    RandomProblem random = tests::draw_problem(seed, 60, 9000);
    expect_every_pair(queue, random, "seed " + std::to_string(seed));
    random = tests::draw_problem(seed, 40000, 70);
    expect_every_pair(queue, random, "seed " + std::to_string(seed));
  }
}

// Which are found by minima: values that follow each other, and of each row the next ones only.
TEST(RangeJoin, FewPairsOfManyRows) {
  auto const queue = cpu_queue(2, 0);
  std::mt19937_64 draw(17);
  for (size_t const sorted : {15U, 16U, 17U, 255U, 256U, 257U, 4095U, 4096U, 4097U, 70000U}) {
    for (size_t const ranged : {1U, 300U}) {
      RandomProblem random;
      random.ranged.resize(2);
      random.sorted.resize(2);
      for (size_t i = 0; i < sorted; ++i) {
        uint64_t const code = draw() % (8 * sorted);
        for (auto& codes : random.sorted) codes.emplace_back(code);
      }
      for (size_t i = 0; i < ranged; ++i) {
        uint64_t const code = draw() % (9 * sorted);
        random.ranged[0].emplace_back(code);
        random.ranged[1].emplace_back(code + draw() % 64);
      }
      random.operators = {{false, true}, {true, false}};
      expect_every_pair(queue, random, std::to_string(ranged) + " x " + std::to_string(sorted));
    }
  }
}

// One row with more pairs than one worker is to write.
TEST(RangeJoin, OneRowWithAll) {
  auto const queue = cpu_queue(4, 0);
  cpu::Workers workers(queue);
  size_t const rows = 3000001;
  RandomProblem random;
  random.ranged = {{{5}}};
  random.sorted = {std::vector<tests::Code>(rows, 4)};
  random.operators = {{true, false}};
  for (int twice = 0; twice < 2; ++twice) {
    Collected found;
    cpu::make_range_join(queue, workers, random.problem())->find(found);
    Pairs const pairs = found.sorted();
    ASSERT_EQ(pairs.size(), rows);
    for (size_t i = 0; i < rows; ++i) ASSERT_EQ(pairs[i], std::make_pair(0U, uint32_t(i)));
    random.ranged.push_back({{7}});
    random.sorted.push_back(std::vector<tests::Code>(rows, 9));
    random.operators.push_back({false, false});
  }
}

TEST(RangeJoin, AMemoryLimitIsAnErrorAndGivesEverythingBack) {
  RandomProblem random;
  std::mt19937_64 draw(3);
  for (int i = 0; i < 2; ++i) {
    random.ranged.push_back(tests::draw_codes(draw, 50000, 0, false));
    random.sorted.push_back(tests::draw_codes(draw, 50000, 0, false));
    random.operators.push_back({i == 0, true});
  }
  for (auto& code : random.ranged[1]) code = UINT64_MAX - 100;
  columns::RangeProblem const problem = random.problem();
  int failures = 0;
  for (uint64_t limit = 1 << 12; limit <= uint64_t{1} << 25; limit *= 2) {
    auto const queue = cpu_queue(2, limit);
    cpu::Workers workers(queue);
    try {
      Collected found;
      cpu::make_range_join(queue, workers, problem)->find(found);
    } catch (const base::Error& error) {
      EXPECT_EQ(error.status(), GPUJOIN_ERROR_MEMORY_LIMIT);
      ++failures;
    }
    EXPECT_EQ(queue->host_pool->in_use_bytes(), 0U) << "limit " << limit;
  }
  EXPECT_GE(failures, 5);
  EXPECT_LE(failures, 12);
}

}  // namespace
}  // namespace gpujoin::test
