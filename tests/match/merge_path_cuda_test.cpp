// merge_path_cuda_test.cpp: the sort-merge join over keys that the host sorted.
#include "tests/match/key_shapes.hpp"

namespace gpujoin::tests {
namespace {

using MergePath = GpuTest;

Arranged sorted(const KeyShape& shape) {
  Arranged keys{shape.build, shape.probe, {}, {}};
  std::sort(keys.build.begin(), keys.build.end());
  std::sort(keys.probe.begin(), keys.probe.end());
  return keys;
}

Family family_of(int32_t key_width, const Arranged&) {
  return [key_width](base::Context& context, const match::MatchSide& build,
                     const match::MatchSide& probe, output::GrowingPairs& pairs) {
    match::merge_path(context, key_width, build, probe, pairs);
  };
}

TEST_F(MergePath, AnswersAsTheReference) {
  expect_every_shape(context(), sorted, family_of, 1 << 20);
}

TEST_F(MergePath, AnswersTheSameWithHardlyAnyRoomAtFirst) {
  CallerAllocator allocator;
  {
    auto const list = allocator.open_context();
    // The total is known before anything is written.
    EXPECT_EQ(expect_every_shape(*list, sorted, family_of, 1), 0);
    EXPECT_EQ(list->device_pool->guard_violations(), 0U);
  }
  EXPECT_EQ(allocator.live_blocks(), 0U);
}

TEST_F(MergePath, FindsEqualKeysAcrossTheEdgesOfTiles) {
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
      expect_join(context(), keys, 4, family_of(4, keys), 1);
      std::swap(keys.build, keys.probe);
      expect_join(context(), keys, 8, family_of(8, keys), 1);
      if (HasFailure()) return;
    }
  }
}

TEST_F(MergePath, ExpandsRowsWithoutPairsBesideRowsWithMany) {
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
      expect_join(context(), keys, 4, family_of(4, keys), 1);
      if (HasFailure()) return;
    }
  }
}

// 1.5 million pairs, 12 MB: each probe row spans two tiles and more.
TEST_F(MergePath, WritesAMillionPairsOfOneKey) {
  Arranged const keys{std::vector<uint64_t>(5000, 1), std::vector<uint64_t>(300, 1), {}, {}};
  expect_join(context(), keys, 4, family_of(4, keys), 1);
}

}  // namespace
}  // namespace gpujoin::tests
