// carried_matches_test.cpp: the matches that write output columns, their threads in many orders.
#include "kernels/match/match_by_rank.cuh"
#include "kernels/match/match_crossed.cuh"
#include "kernels/match/match_dealt.cuh"
#include "kernels/match/match_in_rounds.cuh"
#include "tests/emulated/carried_match.hpp"
#include "tests/match/crossed_shapes.hpp"

using namespace gpujoin_test;

namespace {

using kernels::CarriedShape;
using kernels::CarriedShapeWide;
using kernels::kCarriedBuildRows;
using kernels::kCarriedDealtRows;

template <typename Key, int kWidth>
using Crossed = kernels::MatchCrossed<Key, kWidth, CarriedShapeWide>;
template <typename Key, int kWidth>
using Dealt = kernels::MatchDealt<Key, kWidth, CarriedShapeWide>;
template <typename Key, int kWidth>
using InRounds = kernels::MatchInRounds<Key, kWidth, CarriedShape<sizeof(Key)>>;
using ByRank = kernels::MatchByRank<4, CarriedShape<4>, kernels::Keeping::kNone>;

// Keys with any number of rows a side.
Sides any_counts(uint64_t most) {
  Sides sides{"any counts", {}, {}};
  uint64_t key = 0;
  for (uint64_t build = 0; build < most; ++build) {
    for (uint64_t probe = 0; probe < most + 1; ++probe) {
      add_rows(key++ * 2654435761U & UINT32_MAX, build, probe, &sides);
    }
  }
  return shuffled(std::move(sides), most);
}

// By columns of 4, of 8 and of any bytes.
template <template <typename, int> typename Match>
void expect_each(const Sides& sides, const Launches& launches, uint32_t left) {
  EXPECT_EQ((expect_joined<Match<uint32_t, 4>, uint32_t>(sides, launches).left), left);
  EXPECT_EQ((expect_joined<Match<uint32_t, 8>, uint64_t>(sides, launches).left), left);
  EXPECT_EQ((expect_joined<Match<uint64_t, 8>, uint64_t>(sides, launches).left), left);
  EXPECT_EQ((expect_joined<Match<uint32_t, 0>, uint16_t>(sides, launches).left), left);
}

TEST(EmulatedMatches, CrossKeysOfAnyCounts) {
  for (uint64_t seed = 1; seed <= 3; ++seed) {
    Sides sides = any_counts(13);
    expect_each<Crossed>(sides, {.seed = seed}, 0);
    sides.radix_bits = 3;
    sides.partitions = 8;
    expect_each<Crossed>(sides, {.seed = seed}, 0);
    expect_each<Crossed>(sides, {.room = 1, .seed = seed}, 0);
  }
}

TEST(EmulatedMatches, CrossKeysWhereverAUnitBegins) {
  constexpr int32_t kBits = 6;
  Sides sides = threes_then_fours<Sides>(kBits);
  sides.radix_bits = kBits;
  sides.partitions = 1U << kBits;
  expect_each<Crossed>(sides, {}, 0);
}

TEST(EmulatedMatches, CrossPartitionsOfTwoTables) {
  for (size_t rows : {kCarriedBuildRows + 1, 2 * kCarriedBuildRows}) {
    expect_each<Crossed>(rows_of_90_keys<Sides>(rows, 4500), {}, 0);
  }
}

TEST(EmulatedMatches, LeavePartitionsOfManyKeys) {
  for (uint64_t keys : {984, 985}) {
    Sides sides = many_keys<Sides>(keys, 0);
    sides.radix_bits = 2;
    sides.partitions = 4;
    // The second table has few keys, or where rows are in the other order the first one.
    uint32_t const left = keys == 984 ? 1 : 2;
    expect_each<Crossed>(sides, {}, left);
    std::reverse(sides.build.begin(), sides.build.end());
    expect_each<Crossed>(sides, {}, keys == 984 ? 0 : 1);
  }
}

// Blocks bring the keys of a bucket together in different orders.
TEST(EmulatedMatches, AgreeAboutABucketWhateverTheOrder) {
  for (uint64_t keys : {16, 17, 27}) {
    Sides const sides = keys_of_a_bucket<Sides>(keys, 4 * kCarriedDealtRows);
    for (uint64_t seed = 1; seed <= 4; ++seed) {
      Launches const launches{.blocks = 3, .seed = seed};
      Joined const joined = expect_joined<Crossed<uint32_t, 4>, uint32_t>(sides, launches);
      EXPECT_EQ(joined.left, keys > 16 ? 1U : 0U);
    }
  }
}

// More keys than are brought together one after the other, of no more rows than a warp has lanes.
TEST(EmulatedMatches, CrossManyKeysOfABucketWithOneRowEach) {
  Sides sides{"20 keys of a bucket", {}, {}};
  for (uint64_t id = 0; id < 20; ++id) add_rows(key_in(sides.radix_bits, 0, 77, id), 1, 30, &sides);
  expect_each<Crossed>(shuffled(sides, 1), {}, 0);
}

// A block that left four partitions leaves those that nobody else decides about.
TEST(EmulatedMatches, TryNoMoreWhereMostIsLeft) {
  Sides sides{"many keys, then few", {}, {}, 4, 16};
  for (uint64_t partition = 0; partition < 10; ++partition) {
    for (uint64_t id = 0; id < (partition < 4 ? 1100 : 10); ++id) {
      add_rows(key_in(sides.radix_bits, partition, id % 4096, 0), 2, 2, &sides);
    }
  }
  Launches const launches{.blocks = 1};
  EXPECT_EQ((expect_joined<Crossed<uint32_t, 4>, uint32_t>(sides, launches).left), 10U);
  std::reverse(sides.build.begin(), sides.build.end());
  for (std::vector<uint64_t>* side : {&sides.build, &sides.probe}) {
    for (uint64_t& key : *side) key ^= 15;  // partitions with few keys come first
  }
  EXPECT_EQ((expect_joined<Crossed<uint32_t, 4>, uint32_t>(sides, launches).left), 4U);
}

TEST(EmulatedMatches, DealWhateverThereIs) {
  Sides sides = any_counts(11);
  for (uint64_t id = 0; id < 30; ++id) {
    add_rows(key_in(sides.radix_bits, 1, 77, id), 20 + id, 5, &sides);
  }
  add_rows(key_in(sides.radix_bits, 0, 5, 1), 2 * kCarriedBuildRows + 50, 40, &sides);
  sides = shuffled(std::move(sides), 2);
  for (uint64_t seed = 1; seed <= 2; ++seed) expect_each<Dealt>(sides, {.seed = seed}, 0);
}

TEST(EmulatedMatches, WriteFewMatchesInRounds) {
  Sides sides = any_counts(7);
  for (uint64_t seed = 1; seed <= 2; ++seed) expect_each<InRounds>(sides, {.seed = seed}, 0);
  // A bucket with many rows keeps lanes for as many rounds.
  add_rows(key_in(sides.radix_bits, 1, 9, 1), 300, 20, &sides);
  expect_each<InRounds>(sides, {}, 1);
}

TEST(EmulatedMatches, RankUniqueKeys) {
  Sides sides{"unique keys", {}, {}, 32 - kernels::kCarriedRankBits, 6};
  for (uint64_t partition = 0; partition < sides.partitions; ++partition) {
    size_t const rows = partition * 900;
    for (uint64_t row = 0; row < rows; ++row) {
      uint64_t const key = partition | row * 29 << sides.radix_bits;
      add_rows(key, 1, row % 3, &sides);
      sides.probe.push_back(key + (uint64_t{1} << sides.radix_bits));
    }
  }
  sides = shuffled(std::move(sides), 4);
  for (uint64_t seed = 1; seed <= 3; ++seed) {
    EXPECT_EQ((expect_joined<ByRank, uint32_t>(sides, {.seed = seed}).left), 0U);
  }
  // One key comes again: its partition is left.
  sides.build.push_back(sides.build.front());
  EXPECT_GE((expect_joined<ByRank, uint32_t>(sides, {}).left), 1U);
}

}  // namespace
