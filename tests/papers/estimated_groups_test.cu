// estimated_groups_test.cu: groups of partitions by estimate: good ones, bad ones, and what comes
// of an overflow.
#include "kernels/papers/estimated_groups.cuh"
#include "src/papers/estimated_groups.hpp"
#include "tests/caller_allocator.hpp"
#include "tests/output/emit_counts.cuh"
#include "tests/own_queue.hpp"

namespace gpujoin::tests {
namespace {

using EstimatedGroups = GpuTest;
using papers::Estimate;

constexpr int kThreads = 256;

// Partitions, their sizes on both sides, their work units and the pairs of each thread of those.
struct Case {
  std::vector<uint32_t> build_sizes;
  std::vector<uint32_t> probe_sizes;
  std::vector<uint32_t> units;  // of each partition; empty: one each
  std::vector<uint32_t> counts;
  uint64_t expected_pairs = 0;
  uint64_t buffer_pairs = 0;
  Estimate estimate = Estimate::kMatchRate;
  uint32_t grid = 4;
  const uint32_t* build_row_ids = nullptr;
};

struct Outcome {
  int32_t groups;
  int32_t overflows;
};

std::vector<uint32_t> offsets_of(const std::vector<uint32_t>& sizes) {
  std::vector<uint32_t> offsets = {0};
  for (uint32_t size : sizes) offsets.push_back(offsets.back() + size);
  return offsets;
}

Outcome emit_groups(base::Queue& queue, const Case& test, output::GrowingPairs& pairs) {
  std::vector<uint32_t> const build = offsets_of(test.build_sizes);
  std::vector<uint32_t> const probe = offsets_of(test.probe_sizes);
  base::Buffer const build_offsets = upload(queue, build);
  base::Buffer const probe_offsets = upload(queue, probe);
  std::vector<unsigned long long> ends;
  for (uint32_t units : test.units) ends.push_back((ends.empty() ? 0 : ends.back()) + units);
  base::Buffer const unit_ends = upload(queue, ends);
  base::Buffer const counts = upload(queue, test.counts);

  papers::PartitionSizes sizes{};
  sizes.build_offsets = build_offsets.as<uint32_t>();
  sizes.probe_offsets = probe_offsets.as<uint32_t>();
  sizes.unit_ends = unit_ends.as<unsigned long long>();
  sizes.partitions = static_cast<uint32_t>(test.build_sizes.size());
  sizes.build_rows = build.back();
  sizes.probe_rows = probe.back();
  papers::EstimatedGroups groups(queue, sizes, test.expected_pairs, pairs, test.buffer_pairs,
                                 test.estimate);
  kernels::ResumePoint* resume = pairs.resume_points(test.grid);
  Counted const match = {counts.as<uint32_t>(), test.counts.size() / kThreads};
  do {
    if (groups.groups() > 5000) throw std::runtime_error("the groups never end");
    kernels::GroupSink sink = groups.sink();
    sink.build_row_ids = test.build_row_ids;
    emit_counts_kernel<kThreads, kernels::GroupEmitter>
        <<<test.grid, kThreads, 0, base::stream_of(queue)>>>(sink, resume, match);
    base::check(cudaGetLastError(), "emitting a group");
  } while (!groups.collect());
  pairs.finish();
  return {groups.groups(), groups.overflows()};
}

// Partitions of 512 build and 512 probe rows, each build row with `matches` probe rows: so many
// pairs a thread in two units.
Case uniform(uint32_t partitions, uint32_t matches) {
  Case test;
  test.build_sizes.assign(partitions, 512);
  test.probe_sizes.assign(partitions, 512);
  test.units.assign(partitions, 2);
  test.counts.assign(size_t{2} * partitions * kThreads, matches);
  test.buffer_pairs = uint64_t{partitions} * 512 * matches / 8;
  return test;
}

void expect_case(base::Queue& queue, const Case& test, Outcome* outcome = nullptr) {
  output::GrowingPairs pairs(queue, 1);
  Outcome const found = emit_groups(queue, test, pairs);
  expect_pairs(queue, pairs, expected_pairs(test.counts));
  EXPECT_EQ(pairs.resumes(), found.overflows);
  if (outcome != nullptr) *outcome = found;
}

TEST_F(EstimatedGroups, ThatAreEstimatedWellNeverOverflow) {
  Outcome outcome{};
  expect_case(queue(), uniform(128, 1), &outcome);
  EXPECT_EQ(outcome.overflows, 0);
  // An eighth of the pairs each, less the margin.
  EXPECT_GE(outcome.groups, 8);
  EXPECT_LE(outcome.groups, 11);
}

TEST_F(EstimatedGroups, AreSmallerAfterAnOverflow) {
  // Eight pairs where one was expected.
  Outcome outcome{};
  expect_case(queue(), uniform(128, 8), &outcome);
  EXPECT_GT(outcome.overflows, 0);
  EXPECT_LE(outcome.overflows, 3);
  EXPECT_LE(outcome.groups, 14);
}

TEST_F(EstimatedGroups, StartFromWhatThePlanExpects) {
  Case test = uniform(128, 8);
  test.expected_pairs = test.counts.size() * 8;
  Outcome outcome{};
  expect_case(queue(), test, &outcome);
  EXPECT_EQ(outcome.overflows, 0);
}

TEST_F(EstimatedGroups, AreLargerAfterFewPairsCame) {
  // One row in 32 has a pair: the first group is an eighth of the partitions, and the rest fits the
  // next ones.
  Case test = uniform(256, 1);
  for (size_t i = 0; i < test.counts.size(); ++i) test.counts[i] = i % 32 == 0;
  Outcome outcome{};
  expect_case(queue(), test, &outcome);
  EXPECT_EQ(outcome.overflows, 0);
  EXPECT_LE(outcome.groups, 3);
}

TEST_F(EstimatedGroups, OfTheWorstCaseAreSmallAndNeverOverflow) {
  Case test = uniform(64, 1);
  test.estimate = Estimate::kWorstCase;
  test.buffer_pairs = 3 * 512 * 512;
  Outcome outcome{};
  expect_case(queue(), test, &outcome);
  EXPECT_EQ(outcome.overflows, 0);
  EXPECT_EQ(outcome.groups, 22);
}

TEST_F(EstimatedGroups, TakeAPartitionLargerThanTheBuffer) {
  Case test = uniform(16, 1);
  for (size_t i = 10 * kThreads; i < 12 * kThreads; ++i) test.counts[i] = 100;
  test.buffer_pairs = 600;
  expect_case(queue(), test);
  // One batch, and one thread, with more than the buffer holds.
  test.counts[7 * kThreads + 5] = 30000;
  for (uint32_t grid : {1U, 3U, 32U}) {
    test.grid = grid;
    expect_case(queue(), test);
  }
}

TEST_F(EstimatedGroups, OfUnequalAndEmptyPartitions) {
  CallerAllocator allocator;
  auto const list = allocator.open_queue();
  std::mt19937_64 random(4);
  for (int round = 0; round < 6; ++round) {
    Case test;
    for (uint32_t partition = 0; partition < 300; ++partition) {
      bool const empty = random() % 3 == 0 || partition == 0 || partition == 299;
      test.build_sizes.push_back(random() % 900 + 1);
      test.probe_sizes.push_back(empty ? 0 : random() % 900 + 1);
      test.units.push_back(empty ? 0 : random() % 4 + 1);
      for (uint32_t unit = 0; unit < test.units.back(); ++unit) {
        uint32_t const most = random() % 7 == 0 ? 80 : 3;
        for (int i = 0; i < kThreads; ++i) test.counts.push_back(random() % most);
      }
    }
    test.buffer_pairs = 20000 + 30000 * round;
    test.grid = 1 + 5 * round;
    expect_case(queue(), test);
    expect_case(*list, test);
  }
}

TEST_F(EstimatedGroups, WithoutPairsOrUnitsAreEmpty) {
  Case test = uniform(32, 0);
  test.buffer_pairs = 1000;
  expect_case(queue(), test);
  test = uniform(32, 1);
  test.probe_sizes.assign(32, 0);
  test.units.assign(32, 0);
  test.counts.clear();
  expect_case(queue(), test);
}

TEST_F(EstimatedGroups, OfOneUnitAPartition) {
  Case test = uniform(64, 2);
  test.units.clear();
  test.counts.resize(64 * kThreads);
  test.buffer_pairs = 0;
  expect_case(queue(), test);
  test.buffer_pairs = 4000;
  expect_case(queue(), test);
}

TEST_F(EstimatedGroups, HoldRowIds) {
  Case test = uniform(32, 3);
  base::Buffer const ids = upload(queue(), std::vector<uint32_t>{1007, 1008, 1009});
  test.build_row_ids = ids.as<uint32_t>();
  output::GrowingPairs pairs(queue(), 1);
  emit_groups(queue(), test, pairs);
  Pairs expected = expected_pairs(test.counts);
  for (uint64_t& pair : expected) pair += 1007;
  expect_pairs(queue(), pairs, expected);
}

TEST_F(EstimatedGroups, StopWhenAnOverflowIsForeseen) {
  // 40 units of 1024 pairs, room for half of them, one block: a quarter of the units is done when
  // it sees where that leads.
  std::vector<uint32_t> const counts(40 * kThreads, 4);
  base::Buffer const device_counts = upload(queue(), counts);
  base::Buffer const column = upload(queue(), std::vector<uint32_t>(2 * 20 * 1024, 0));
  kernels::GroupCounters start{};
  start.pairs.filled = ~0ULL;
  base::Buffer const counters = upload(queue(), std::vector<kernels::GroupCounters>{start});
  base::Buffer const resume =
      upload(queue(), std::vector<kernels::ResumePoint>{{kernels::kNoUnit, 0, 0}});
  kernels::GroupSink sink{};
  sink.build_out = column.as<uint32_t>();
  sink.probe_out = column.as<uint32_t>() + 20 * 1024;
  sink.capacity = 20 * 1024;
  sink.counters = counters.as<kernels::GroupCounters>();
  sink.taken = &sink.counters->pairs.taken;
  sink.end_unit = 40;
  emit_counts_kernel<kThreads, kernels::GroupEmitter><<<1, kThreads, 0, base::stream_of(queue())>>>(
      sink, resume.as<kernels::ResumePoint>(), {device_counts.as<uint32_t>(), 40});
  base::check(cudaGetLastError(), "emitting a group");
  auto const found = download<kernels::GroupCounters>(queue(), counters.data(), 1)[0];
  EXPECT_NE(found.stopped, 0U);
  EXPECT_EQ(found.pairs.filled, ~0ULL) << "nothing was refused for want of room";
  EXPECT_EQ(found.done, 11U);
  EXPECT_EQ(found.pairs.reserved, 11U * 1024);
  EXPECT_EQ(download<kernels::ResumePoint>(queue(), resume.data(), 1)[0].unit, 11U);
}

TEST_F(EstimatedGroups, EndWithMemoryLimitAndReturnEverything) {
  CallerAllocator allocator;
  auto const list = allocator.open_queue(4 << 20);
  gpujoin_context_options options = cuda_options();
  options.memory_limit_bytes = 4 * queue().context.device->page_bytes + (2 << 20);
  auto const mapped = OwnQueue(options);
  Case too_much = uniform(16, 300);  // 20 MB
  too_much.buffer_pairs = 100000;
  for (base::Queue* each : {&*mapped, &*list}) {
    uint64_t const in_use = each->device_pool->in_use_bytes();
    try {
      output::GrowingPairs pairs(*each, 1);
      emit_groups(*each, too_much, pairs);
      ADD_FAILURE() << "the pairs fitted the limit";
    } catch (const base::Error& error) {
      EXPECT_EQ(error.status(), GPUJOIN_ERROR_MEMORY_LIMIT) << error.what();
    }
    EXPECT_EQ(each->device_pool->in_use_bytes(), in_use);
    // A buffer of the default size does not fit the limit; a smaller one does for few pairs.
    Case few = uniform(16, 3);
    few.buffer_pairs = 0;
    expect_case(*each, few);
  }
}

}  // namespace
}  // namespace gpujoin::tests
