// range_join_cuda_test.cpp: pairs by inequalities on the GPU against every pair of rows, with and
// without room for all of them, and filtered in pieces.
#include "src/match/range_join.hpp"

#include <set>
#include <utility>

#include "tests/caller_allocator.hpp"
#include "tests/cpu/range_problems.hpp"
#include "tests/gpu_fixture.hpp"

namespace gpujoin::tests {
namespace {

// A problem's columns on the device.
class OnDevice {
 public:
  OnDevice(base::Queue& queue, RandomProblem& random) : problem_(random.problem()) {
    for (columns::Inequality& inequality : problem_.inequalities) {
      bring(queue, problem_.ranged_rows, &inequality.ranged);
      bring(queue, problem_.sorted_rows, &inequality.sorted);
    }
  }
  const columns::RangeProblem& problem() const { return problem_; }

 private:
  void bring(base::Queue& queue, uint64_t rows, columns::CodeColumn* column) {
    std::vector<uint64_t> const codes(column->codes, column->codes + rows);
    held_.push_back(upload(queue, codes));
    column->codes = held_.back().as<uint64_t>();
    if (column->validity.bits == nullptr) return;
    size_t const bytes = (rows + static_cast<uint64_t>(column->validity.offset)) / 8 + 1;
    held_.push_back(
        upload(queue, std::vector<uint8_t>(column->validity.bits, column->validity.bits + bytes)));
    column->validity.bits = held_.back().as<uint8_t>();
  }
  columns::RangeProblem problem_;
  std::vector<base::Buffer> held_;
};

// Keeps all, and looks at how many come at a time.
class PassAll final : public output::PairFilter {
 public:
  uint64_t keep(uint32_t*, uint32_t*, uint64_t pairs) override { return pairs; }
};

Pairs found_pairs(base::Queue& queue, const columns::RangeProblem& problem,
                  output::PairFilter* filter) {
  output::GrowingPairs pairs(queue, 1, filter);
  match::range_join(queue, problem, pairs);
  pairs.finish();
  auto const sorted = download<uint32_t>(queue, pairs.build(), pairs.rows());
  auto const ranged = download<uint32_t>(queue, pairs.probe(), pairs.rows());
  Pairs found;
  for (size_t i = 0; i < sorted.size(); ++i) found.emplace_back(ranged[i], sorted[i]);
  std::sort(found.begin(), found.end());
  return found;
}

void expect_every_pair(base::Queue& queue, RandomProblem& random) {
  OnDevice const device(queue, random);
  Pairs const expected = random.pairs();
  ASSERT_EQ(found_pairs(queue, device.problem(), nullptr), expected);
  PassAll all;
  ASSERT_EQ(found_pairs(queue, device.problem(), &all), expected);
  std::set<uint32_t> matched;
  for (auto const& pair : expected) matched.insert(pair.first);
  match::MatchedRows const rows = match::matched_rows(queue, device.problem());
  auto numbers = download<uint32_t>(queue, rows.numbers.data(), rows.count);
  std::sort(numbers.begin(), numbers.end());
  ASSERT_EQ(numbers, std::vector<uint32_t>(matched.begin(), matched.end()));
}

class RangeJoinOnGpu : public GpuTest {};

TEST_F(RangeJoinOnGpu, FindsEveryPairOnce) {
  uint64_t seed = 0;
  for (size_t const ranged : {0, 1, 31, 32, 33, 500}) {
    for (size_t const sorted : {0, 1, 2, 31, 32, 33, 64, 1000}) {
      for (int repeat = 0; repeat < 3; ++repeat) {
        SCOPED_TRACE("seed " + std::to_string(++seed));
        RandomProblem random = draw_problem(seed, ranged, sorted);
        expect_every_pair(queue(), random);
        if (HasFatalFailure()) return;
      }
    }
  }
}

TEST_F(RangeJoinOnGpu, OfManyRowsOnAllLevels) {
  for (uint64_t seed = 1000; seed < 1008; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    RandomProblem random =
        draw_problem(seed, seed % 2 == 0 ? 60 : 30000, seed % 2 == 0 ? 9000 : 70);
    expect_every_pair(queue(), random);
    if (HasFatalFailure()) return;
  }
}

TEST_F(RangeJoinOnGpu, WithAListOfBlocks) {
  CallerAllocator allocator;
  {
    auto const list = allocator.open_queue();
    for (uint64_t seed = 2000; seed < 2010; ++seed) {
      RandomProblem random = draw_problem(seed, 300, 400);
      OnDevice const device(*list, random);
      EXPECT_EQ(found_pairs(*list, device.problem(), nullptr), random.pairs());
    }
  }
  EXPECT_EQ(allocator.live_blocks(), 0U);
}

}  // namespace
}  // namespace gpujoin::tests
