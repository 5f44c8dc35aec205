// asking_emitter_test.cu: a match that asks a condition of its pairs writes those that it is true
// of, or marks their rows, whatever the room.
#include "kernels/output/ask_pairs.cuh"

#include <numeric>

#include "src/output/pair_filter.hpp"
#include "tests/caller_allocator.hpp"
#include "tests/output/emit_counts.cuh"

namespace gpujoin::tests {
namespace {

constexpr int kThreads = 256;
constexpr uint32_t kMostNumbers = 6000;  // pairs of a thread, which are its build rows
// Values are below it, and none below 0.
constexpr int32_t kRange = 1000;

// build value < probe value, over numbers that columns have in the order of what is asked by.
struct Asked {
  std::vector<int32_t> build_values;
  std::vector<int32_t> probe_values;
  base::Buffer build;
  base::Buffer probe;
  kernels::PairQuestion question{};

  // share: of pairs that it is true of, in hundredths.
  Asked(base::Queue& queue, size_t probe_rows, int share, bool build_is_left) {
    std::mt19937_64 random(probe_rows + static_cast<size_t>(share));
    build_values.resize(kMostNumbers);
    probe_values.resize(probe_rows);
    for (int32_t& value : build_values) value = static_cast<int32_t>(random() % kRange);
    for (int32_t& value : probe_values) {
      value = share == 0     ? 0
              : share == 100 ? kRange
                             : static_cast<int32_t>(random() % (2 * kRange * share / 100 + 1));
    }
    build = upload(queue, build_values);
    probe = upload(queue, probe_values);
    question.build_is_left = build_is_left;
    question.by_position = true;
    question.keeps_pairs = true;
    kernels::PairComparison& comparison = question.comparisons.all[0];
    question.comparisons.count = 1;
    comparison.how.form = kernels::ValueForm::kInt32;
    comparison.how.comparator =
        build_is_left ? kernels::Comparator::kLess : kernels::Comparator::kGreater;
    // Of either side the column that is the left one comes first.
    comparison.first = build_is_left ? build.data() : probe.data();
    comparison.second = build_is_left ? probe.data() : build.data();
    comparison.first_of_left = true;
    comparison.second_of_left = false;
  }

  Pairs kept_of(const Pairs& candidates) const {
    Pairs kept;
    for (uint64_t const pair : candidates) {
      if (build_values[pair & 0xffffffff] < probe_values[pair >> 32]) kept.push_back(pair);
    }
    return kept;
  }
};

class AskingEmitter : public GpuTest {};

std::vector<std::vector<uint32_t>> unit_counts() {
  std::vector<std::vector<uint32_t>> all;
  for (uint32_t const count : {0U, 1U, 3U, 4U, 5U, 9U, 17U}) {
    all.push_back(std::vector<uint32_t>(kThreads, count));
  }
  for (size_t const thread : {0, 31, 32, kThreads - 1}) {
    for (uint32_t const count : {1U, 5U, 5000U}) {
      std::vector<uint32_t> one(kThreads, 0);
      one[thread] = count;
      all.push_back(one);
    }
  }
  std::vector<uint32_t> ramp(4 * kThreads);
  std::iota(ramp.begin(), ramp.end(), 0U);
  all.push_back(ramp);
  return all;
}

// A sink of so many pairs, and places behind them that nothing may touch.
struct Sink {
  static constexpr uint32_t kUntouched = 0xeeeeeeee;
  static constexpr uint64_t kBeyond = 64;
  base::Buffer build;
  base::Buffer probe;
  base::Buffer counters;
  base::Buffer resume;
  kernels::AskingSink sink{};

  Sink(base::Queue& queue, uint64_t capacity, const kernels::PairQuestion& question,
       uint32_t grid) {
    std::vector<uint32_t> const untouched(capacity + kBeyond, kUntouched);
    build = upload(queue, untouched);
    probe = upload(queue, untouched);
    counters = upload(queue, std::vector<unsigned long long>{0, ~0ULL, 0, 0, 0});
    kernels::ResumePoint none{};
    none.unit = kernels::kNoUnit;
    resume = upload(queue, std::vector<kernels::ResumePoint>(grid, none));
    sink.build_out = build.as<uint32_t>();
    sink.probe_out = probe.as<uint32_t>();
    sink.capacity = capacity;
    sink.counters = counters.as<kernels::AskingCounters>();
    sink.taken = &sink.counters->taken;
    sink.question = question;
  }

  kernels::AskingCounters launch(base::Queue& queue, const std::vector<uint32_t>& counts,
                                 uint32_t grid) const {
    base::Buffer const device_counts = upload(queue, counts);
    emit_counts_kernel<kThreads, kernels::AskingEmitter>
        <<<grid, kThreads, 0, base::stream_of(queue)>>>(
            sink, resume.as<kernels::ResumePoint>(),
            {device_counts.as<uint32_t>(), counts.size() / kThreads});
    base::check(cudaGetLastError(), "emitting pairs");
    base::finish(queue);
    return download<kernels::AskingCounters>(queue, counters.data(), 1)[0];
  }

  void expect_untouched(base::Queue& queue, uint64_t from) const {
    for (base::Buffer const* column : {&build, &probe}) {
      size_t const left = sink.capacity + kBeyond - from;
      EXPECT_EQ(download<uint32_t>(queue, column->as<uint32_t>() + from, left),
                std::vector<uint32_t>(left, kUntouched));
    }
  }
};

TEST_F(AskingEmitter, WritesThePairsThatTheConditionIsTrueOf) {
  for (std::vector<uint32_t> const& counts : unit_counts()) {
    Pairs const candidates = expected_pairs(counts);
    for (int const share : {0, 50, 100}) {
      for (bool const build_is_left : {false, true}) {
        Asked const asked(queue(), counts.size(), share, build_is_left);
        Pairs const expected = asked.kept_of(candidates);
        if (share == 0) ASSERT_TRUE(expected.empty());
        if (share == 100) ASSERT_EQ(expected.size(), candidates.size());
        Sink const sink(queue(), candidates.size(), asked.question, 1);
        kernels::AskingCounters const counters = sink.launch(queue(), counts, 1);
        ASSERT_EQ(counters.filled, ~0ULL);
        ASSERT_EQ(counters.kept, expected.size());
        ASSERT_EQ(counters.reserved, candidates.size());
        ASSERT_EQ(counters.dropped, candidates.size() - expected.size());
        ASSERT_TRUE(sorted_pairs(queue(), sink.build.data(), sink.probe.data(), expected.size()) ==
                    expected);
        sink.expect_untouched(queue(), expected.size());
        if (HasFailure()) return;
      }
    }
  }
}

TEST_F(AskingEmitter, RefusesABatchWhoseCandidatesDoNotFit) {
  for (std::vector<uint32_t> const& counts : unit_counts()) {
    if (counts.size() != kThreads) continue;
    uint64_t const total = expected_pairs(counts).size();
    if (total == 0) continue;
    Asked const asked(queue(), counts.size(), 50, true);
    Sink const sink(queue(), total - 1, asked.question, 1);
    kernels::AskingCounters const counters = sink.launch(queue(), counts, 1);
    EXPECT_NE(counters.filled, ~0ULL);
    EXPECT_EQ(counters.reserved, 0U) << "what was refused is given back";
    EXPECT_EQ(counters.dropped + counters.kept, 0U);
    EXPECT_EQ(download<kernels::ResumePoint>(queue(), sink.resume.data(), 1)[0].unit, 0U);
    sink.expect_untouched(queue(), 0);
  }
}

// Asked by position, and written as row ids; and asked by row id.
TEST_F(AskingEmitter, NamesRowsBeforeOrAfterItAsks) {
  std::vector<uint32_t> counts(512, 6);
  counts[300] = 700;
  std::vector<uint32_t> build_ids(kMostNumbers);
  std::vector<uint32_t> probe_ids(512);
  for (uint32_t i = 0; i < kMostNumbers; ++i) build_ids[i] = kMostNumbers - 1 - i;
  for (uint32_t i = 0; i < 512; ++i) probe_ids[i] = (i * 11) % 512;
  base::Buffer const build = upload(queue(), build_ids);
  base::Buffer const probe = upload(queue(), probe_ids);
  Pairs const candidates = expected_pairs(counts);
  for (bool const by_position : {false, true}) {
    Asked asked(queue(), counts.size(), 50, true);
    asked.question.by_position = by_position;
    auto const named = [&](Pairs pairs) {
      for (uint64_t& pair : pairs) {
        pair = uint64_t{probe_ids[pair >> 32]} << 32 | build_ids[pair & 0xffffffff];
      }
      std::sort(pairs.begin(), pairs.end());
      return pairs;
    };
    Pairs const expected =
        by_position ? named(asked.kept_of(candidates)) : asked.kept_of(named(candidates));
    Sink sink(queue(), candidates.size(), asked.question, 2);
    sink.sink.build_row_ids = build.as<uint32_t>();
    sink.sink.probe_row_ids = probe.as<uint32_t>();
    ASSERT_EQ(sink.launch(queue(), counts, 2).kept, expected.size());
    EXPECT_TRUE(sorted_pairs(queue(), sink.build.data(), sink.probe.data(), expected.size()) ==
                expected);
  }
}

// In the place of pairs, for which there is no room, and beside them.
TEST_F(AskingEmitter, MarksRows) {
  for (std::vector<uint32_t> const& counts : unit_counts()) {
    Pairs const candidates = expected_pairs(counts);
    for (int const share : {0, 2, 50, 100}) {
      for (bool const marks_build : {false, true}) {
        Asked asked(queue(), counts.size(), share, marks_build);
        asked.question.keeps_pairs = share != 2 && marks_build;
        std::vector<uint8_t> expected(marks_build ? kMostNumbers : counts.size(), 0);
        base::Buffer const marked = upload(queue(), expected);
        asked.question.marked = marked.as<uint8_t>();
        asked.question.marks_build = marks_build;
        Pairs const kept = asked.kept_of(candidates);
        for (uint64_t const pair : kept) {
          expected[marks_build ? pair & 0xffffffff : pair >> 32] = 1;
        }
        bool const keeps = asked.question.keeps_pairs;
        Sink const sink(queue(), keeps ? candidates.size() : 0, asked.question, 3);
        kernels::AskingCounters const counters = sink.launch(queue(), counts, 3);
        ASSERT_EQ(counters.filled, ~0ULL);
        ASSERT_EQ(counters.kept, keeps ? kept.size() : 0);
        ASSERT_TRUE(download<uint8_t>(queue(), marked.data(), expected.size()) == expected);
        sink.expect_untouched(queue(), counters.kept);
        if (HasFailure()) return;
      }
    }
  }
}

class Asking final : public output::PairFilter {
 public:
  explicit Asking(const kernels::PairQuestion& question) : question_(question) {}
  uint64_t keep(uint32_t*, uint32_t*, uint64_t) override {
    ADD_FAILURE() << "the match asked itself";
    return 0;
  }
  const kernels::PairQuestion* question() const override { return &question_; }

 private:
  kernels::PairQuestion question_;
};

void expect_all_in_pieces(base::Queue& queue, const std::vector<uint32_t>& counts, int share,
                          uint32_t grid) {
  Asked const asked(queue, counts.size(), share, true);
  Pairs const expected = asked.kept_of(expected_pairs(counts));
  Asking filter(asked.question);
  output::GrowingPairs pairs(queue, 0, &filter);
  ASSERT_TRUE(pairs.has_question());
  base::Buffer const device_counts = upload(queue, counts);
  kernels::ResumePoint* const resume = pairs.resume_points(grid);
  // Of some ten batches: with many blocks most of them are refused at first.
  constexpr uint64_t kStep = 10000;
  int launches = 0;
  do {
    ASSERT_LT(launches++, 1000) << "the output never had enough room";
    kernels::AskingSink sink = pairs.asking_sink();
    sink.capacity = std::min(sink.capacity, static_cast<uint64_t>(launches) * kStep);
    emit_counts_kernel<kThreads, kernels::AskingEmitter>
        <<<grid, kThreads, 0, base::stream_of(queue)>>>(
            sink, resume, {device_counts.as<uint32_t>(), counts.size() / kThreads});
    base::check(cudaGetLastError(), "emitting pairs");
  } while (!pairs.collect(0));
  pairs.finish();
  expect_pairs(queue, pairs, expected);
}

TEST_F(AskingEmitter, GoesOnWhereThereWasNoRoom) {
  std::mt19937_64 random(3);
  std::vector<uint32_t> counts(100 * kThreads);
  for (uint32_t& count : counts) count = static_cast<uint32_t>(random() % 9);
  CallerAllocator allocator;
  {
    auto const list = allocator.open_queue();
    for (base::Queue* const each : {&queue(), &*list}) {
      for (int const share : {0, 3, 50, 100}) {
        SCOPED_TRACE(share);
        for (uint32_t const grid : {1U, 40U}) expect_all_in_pieces(*each, counts, share, grid);
        if (HasFailure()) return;
      }
    }
  }
}

}  // namespace
}  // namespace gpujoin::tests
