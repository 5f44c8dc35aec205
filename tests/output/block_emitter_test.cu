// block_emitter_test.cu: one launch over a sink of a given capacity: what is written, what is
// refused.
#include <numeric>

#include "tests/output/emit_counts.cuh"

namespace gpujoin::tests {
namespace {

using BlockEmitter = GpuTest;

constexpr uint32_t kUntouched = 0xeeeeeeee;

// A sink over buffers of the test.
struct Sink {
  base::Buffer build;
  base::Buffer probe;
  base::Buffer counters;
  kernels::PairSink sink{};
};

Sink make_sink(base::Queue& queue, uint64_t capacity, uint64_t room) {
  Sink made;
  std::vector<uint32_t> const untouched(room, kUntouched);
  made.build = upload(queue, untouched);
  made.probe = upload(queue, untouched);
  made.counters = upload(queue, std::vector<unsigned long long>{0, ~0ULL, 0});
  made.sink.build_out = made.build.as<uint32_t>();
  made.sink.probe_out = made.probe.as<uint32_t>();
  made.sink.capacity = capacity;
  made.sink.counters = made.counters.as<kernels::PairCounters>();
  made.sink.taken = &made.sink.counters->taken;
  return made;
}

template <int kThreads>
void launch(base::Queue& queue, const Sink& sink, const std::vector<uint32_t>& counts,
            uint32_t grid, const base::Buffer& resume) {
  base::Buffer const device_counts = upload(queue, counts);
  emit_counts_kernel<kThreads><<<grid, kThreads, 0, base::stream_of(queue)>>>(
      sink.sink, resume.as<kernels::ResumePoint>(),
      {device_counts.as<uint32_t>(), counts.size() / kThreads});
  base::check(cudaGetLastError(), "emitting pairs");
  base::finish(queue);
}

base::Buffer fresh_resume(base::Queue& queue, uint32_t grid) {
  kernels::ResumePoint none{};
  none.unit = kernels::kNoUnit;
  return upload(queue, std::vector<kernels::ResumePoint>(grid, none));
}

kernels::PairCounters counters_of(base::Queue& queue, const Sink& sink) {
  return download<kernels::PairCounters>(queue, sink.counters.data(), 1)[0];
}

// Counts of one unit that have caught staging errors before: around kEmitItems, one thread alone,
// none.
template <int kThreads>
std::vector<std::vector<uint32_t>> unit_counts() {
  std::vector<std::vector<uint32_t>> all;
  for (uint32_t count : {0U, 1U, 3U, 4U, 5U, 8U, 9U, 17U}) {
    all.push_back(std::vector<uint32_t>(kThreads, count));
  }
  for (size_t thread : {0, 31, 32, kThreads - 1}) {
    for (uint32_t count : {1U, 4U, 5U, 5000U}) {
      std::vector<uint32_t> one(kThreads, 0);
      one[thread] = count;
      all.push_back(one);
    }
  }
  std::vector<uint32_t> ramp(kThreads);
  std::iota(ramp.begin(), ramp.end(), 0U);
  all.push_back(ramp);
  std::vector<uint32_t> uneven(kThreads);
  for (size_t i = 0; i < uneven.size(); ++i) uneven[i] = i % 7 == 3 ? 40 : i % 3;
  uneven[77] = 3000;
  all.push_back(uneven);
  return all;
}

template <int kThreads>
void expect_every_unit_written(base::Queue& queue) {
  for (std::vector<uint32_t> const& counts : unit_counts<kThreads>()) {
    Pairs const expected = expected_pairs(counts);
    // Exactly as much room as the pairs take, and some that they must not touch.
    Sink const sink = make_sink(queue, expected.size(), expected.size() + 64);
    launch<kThreads>(queue, sink, counts, 1, fresh_resume(queue, 1));
    kernels::PairCounters const counters = counters_of(queue, sink);
    ASSERT_EQ(counters.reserved, expected.size());
    ASSERT_EQ(counters.filled, ~0ULL);
    ASSERT_TRUE(sorted_pairs(queue, sink.build.data(), sink.probe.data(), expected.size()) ==
                expected);
    for (base::Buffer const* column : {&sink.build, &sink.probe}) {
      std::vector<uint32_t> const beyond =
          download<uint32_t>(queue, column->as<uint32_t>() + expected.size(), 64);
      ASSERT_EQ(beyond, std::vector<uint32_t>(64, kUntouched));
    }
  }
}

TEST_F(BlockEmitter, WritesExactlyThePairsOfEveryThread) {
  expect_every_unit_written<256>(queue());
  expect_every_unit_written<512>(queue());
}

TEST_F(BlockEmitter, RefusesWhatEndsOnePairBeyondTheCapacityAndWritesNothing) {
  for (std::vector<uint32_t> const& counts : unit_counts<256>()) {
    uint64_t const total = expected_pairs(counts).size();
    if (total == 0) continue;
    Sink const sink = make_sink(queue(), total - 1, total + 64);
    base::Buffer const resume = fresh_resume(queue(), 1);
    launch<256>(queue(), sink, counts, 1, resume);
    kernels::PairCounters const counters = counters_of(queue(), sink);
    EXPECT_EQ(counters.reserved, total) << "what was asked for";
    EXPECT_EQ(counters.filled, 0U) << "what was written";
    EXPECT_EQ(download<kernels::ResumePoint>(queue(), resume.data(), 1)[0].unit, 0U);
    for (base::Buffer const* column : {&sink.build, &sink.probe}) {
      EXPECT_EQ(download<uint32_t>(queue(), column->data(), total + 64),
                std::vector<uint32_t>(total + 64, kUntouched));
    }
  }
}

TEST_F(BlockEmitter, LeavesNoHoleBelowTheLowestRefusedBase) {
  // 40 units of about 1000 pairs, room for about 17 of them, 6 blocks.
  std::mt19937_64 random(3);
  std::vector<uint32_t> counts(40 * 256);
  for (uint32_t& count : counts) count = static_cast<uint32_t>(random() % 9);
  Pairs const expected = expected_pairs(counts);
  uint64_t const capacity = 17000;
  Sink const sink = make_sink(queue(), capacity, capacity + 64);
  base::Buffer const resume = fresh_resume(queue(), 6);
  launch<256>(queue(), sink, counts, 6, resume);
  kernels::PairCounters const counters = counters_of(queue(), sink);
  ASSERT_LE(counters.filled, capacity);
  ASSERT_GT(counters.filled, 0U);
  EXPECT_GT(counters.reserved, capacity);
  Pairs const written =
      sorted_pairs(queue(), sink.build.data(), sink.probe.data(), counters.filled);
  EXPECT_TRUE(std::includes(expected.begin(), expected.end(), written.begin(), written.end()));
  EXPECT_TRUE(std::adjacent_find(written.begin(), written.end()) == written.end());
  for (base::Buffer const* column : {&sink.build, &sink.probe}) {
    size_t const left = capacity + 64 - counters.filled;
    EXPECT_EQ(download<uint32_t>(queue(), column->as<uint32_t>() + counters.filled, left),
              std::vector<uint32_t>(left, kUntouched));
  }
  // Units that were refused and units that nobody took are what is missing.
  std::vector<bool> done(40, false);
  for (uint64_t pair : written) done[(pair >> 32) / 256] = true;
  for (kernels::ResumePoint const& point :
       download<kernels::ResumePoint>(queue(), resume.data(), 6)) {
    ASSERT_LT(point.unit, 40U);
    EXPECT_FALSE(done[point.unit]);
  }
}

TEST_F(BlockEmitter, WritesRowIdsInsteadOfPositions) {
  std::vector<uint32_t> counts(512, 6);
  counts[300] = 700;
  std::vector<uint32_t> build_ids(700);
  std::vector<uint32_t> probe_ids(512);
  for (uint32_t i = 0; i < 700; ++i) build_ids[i] = 90000 - 7 * i;
  for (uint32_t i = 0; i < 512; ++i) probe_ids[i] = (i * 11) % 512 + 0x80000000U;
  base::Buffer const build = upload(queue(), build_ids);
  base::Buffer const probe = upload(queue(), probe_ids);
  for (bool map_build : {false, true}) {
    for (bool map_probe : {false, true}) {
      Pairs expected;
      for (uint64_t pair : expected_pairs(counts)) {
        auto const b = static_cast<uint32_t>(pair);
        auto const p = static_cast<uint32_t>(pair >> 32);
        expected.push_back(uint64_t{map_probe ? probe_ids[p] : p} << 32 |
                           (map_build ? build_ids[b] : b));
      }
      std::sort(expected.begin(), expected.end());
      Sink sink = make_sink(queue(), expected.size(), expected.size());
      if (map_build) sink.sink.build_row_ids = build.as<uint32_t>();
      if (map_probe) sink.sink.probe_row_ids = probe.as<uint32_t>();
      launch<256>(queue(), sink, counts, 2, fresh_resume(queue(), 2));
      EXPECT_TRUE(sorted_pairs(queue(), sink.build.data(), sink.probe.data(), expected.size()) ==
                  expected);
    }
  }
}

}  // namespace
}  // namespace gpujoin::tests
