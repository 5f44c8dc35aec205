// merge_path_cuda_test.cpp: the sort-merge join over keys that the host sorted, with each way to
// find bounds.
#include "tests/match/key_shapes.hpp"

namespace gpujoin::tests {
namespace {

class MergePath : public GpuTest, public ::testing::WithParamInterface<plan::Match> {
 protected:
  // A family over sorted keys of a width.
  Family family(int32_t key_width) const {
    plan::JoinPlan plan;
    plan.match = GetParam();
    return [plan, key_width](base::Queue& queue, const match::MatchSide& build,
                             const match::MatchSide& probe, output::GrowingPairs& pairs) {
      match::merge_path(queue, plan, key_width, build, probe, pairs);
    };
  }
  auto families() const {
    return [this](int32_t key_width, const Arranged&) { return family(key_width); };
  }
};

std::string name_of(const ::testing::TestParamInfo<plan::Match>& match) {
  return plan::to_text(match.param);
}
std::vector<plan::Match> all_bounds() {
  if (!plan::has_papers()) return {plan::Match::kMergePath};
  return {plan::Match::kMergePath, plan::Match::kMergeTwoBounds, plan::Match::kMergeOneBound};
}
INSTANTIATE_TEST_SUITE_P(Bounds, MergePath, ::testing::ValuesIn(all_bounds()), name_of);

Arranged sorted(const KeyShape& shape) {
  Arranged keys{shape.build, shape.probe, {}, {}};
  std::sort(keys.build.begin(), keys.build.end());
  std::sort(keys.probe.begin(), keys.probe.end());
  return keys;
}

TEST_P(MergePath, AnswersAsTheReference) {
  expect_every_shape(queue(), sorted, families(), 1 << 20);
}

TEST_P(MergePath, AnswersTheSameWithHardlyAnyRoomAtFirst) {
  CallerAllocator allocator;
  {
    auto const list = allocator.open_queue();
    // The total is known before anything is written.
    EXPECT_EQ(expect_every_shape(*list, sorted, families(), 1), 0);
    EXPECT_EQ(list->device_pool->account().guard_violations(), 0U);
  }
  EXPECT_EQ(allocator.live_blocks(), 0U);
}

TEST_P(MergePath, FindsEqualKeysAcrossTheEdgesOfTiles) {
  // A run of one key that begins and ends around the edges of the tiles of 2048 keys.
  for (size_t before : {0, 1, 1000, 2047, 2048, 2049}) {
    for (size_t run : {1, 2, 7, 8, 9, 2047, 2048, 2049, 4100}) {
      SCOPED_TRACE(std::to_string(before) + " keys before a run of " + std::to_string(run));
      Arranged keys;
      for (uint64_t i = 0; i < before; ++i) keys.build.push_back(i);
      keys.build.insert(keys.build.end(), run, 5000);
      for (uint64_t i = 0; i < 100; ++i) keys.build.push_back(6000 + i);
      keys.probe = {0, before / 2, 4999, 5000, 5000, 5001, 6000, 6099, 6100};
      std::sort(keys.probe.begin(), keys.probe.end());
      expect_join(queue(), keys, 4, family(4), 1);
      std::swap(keys.build, keys.probe);
      expect_join(queue(), keys, 8, family(8), 1);
      if (HasFailure()) return;
    }
  }
}

TEST_P(MergePath, ExpandsRowsWithoutPairsBesideRowsWithMany) {
  // Long runs of probe rows without a match, then one with thousands, at the edges of tiles.
  for (size_t empty : {0, 1, 2046, 2047, 2048, 2049, 5000}) {
    for (size_t pairs : {1, 2047, 2048, 2049, 6000}) {
      SCOPED_TRACE(std::to_string(empty) + " rows without pairs around " + std::to_string(pairs));
      Arranged keys;
      keys.probe.assign(empty, 10);
      keys.probe.push_back(20);
      keys.probe.insert(keys.probe.end(), empty, 30);
      keys.probe.push_back(40);
      keys.build.assign(pairs, 20);
      keys.build.push_back(25);
      keys.build.insert(keys.build.end(), 3, 40);
      set_row_ids(&keys);
      expect_join(queue(), keys, 4, family(4), 1);
      if (HasFailure()) return;
    }
  }
}

TEST_P(MergePath, SeesOnePairOfEqualBuildKeysWhereverItIs) {
  // Unique keys but for two neighbours: with one bound these must be found, at the edges of tiles
  // and of the side too.
  for (uint64_t rows : {2, 1024, 2048, 2049, 5000}) {
    for (uint64_t place : {uint64_t{0}, uint64_t{1022}, uint64_t{1023}, uint64_t{1024},
                           uint64_t{2046}, uint64_t{2047}, uint64_t{2048}, rows - 2}) {
      if (place + 1 >= rows) continue;
      for (uint64_t probes : {1, 700, 5000}) {
        SCOPED_TRACE(std::to_string(place) + " of " + std::to_string(rows) + ", " +
                     std::to_string(probes) + " probe rows");
        Arranged keys;
        for (uint64_t i = 0; i < rows; ++i) keys.build.push_back(10 * (i > place ? i - 1 : i));
        for (uint64_t i = 1; i < probes; ++i) keys.probe.push_back(i * 10);
        keys.probe.push_back(10 * place);
        std::sort(keys.probe.begin(), keys.probe.end());
        expect_join(queue(), keys, 4, family(4), 1);
        expect_join(queue(), keys, 8, family(8), 1);
        if (HasFailure()) return;
      }
    }
  }
}

TEST_P(MergePath, FindsUniqueKeysBelowBetweenAndAboveTheOthers) {
  Arranged keys;
  for (uint64_t i = 0; i < 6000; ++i) keys.build.push_back(100 + 2 * i);
  keys.probe = {0, 99, 100, 101, 102, 102, 4194, 4195, 4196, 12098, 12098, 12099, UINT32_MAX};
  expect_join(queue(), keys, 4, family(4), 1);
  std::swap(keys.build, keys.probe);
  expect_join(queue(), keys, 4, family(4), 1);
}

// 1.5 million pairs, 12 MB: each probe row spans two tiles and more.
TEST_P(MergePath, WritesAMillionPairsOfOneKey) {
  Arranged const keys{std::vector<uint64_t>(5000, 1), std::vector<uint64_t>(300, 1), {}, {}};
  expect_join(queue(), keys, 4, family(4), 1);
}

}  // namespace
}  // namespace gpujoin::tests
