// hot_keys_test.cpp: build keys with so many rows that a few probe rows make most of the output,
// and what is planned for them.
#include <gtest/gtest.h>

#include <cmath>

#include "src/plan/key_sample.hpp"
#include "tests/plan/requests.hpp"

namespace gpujoin::plan::testing {
namespace {

constexpr int64_t kRows = 10'000'000;
constexpr SampleEffort kEfforts[] = {SampleEffort::kPositions, SampleEffort::kCounted};

// Of `hot` build rows in ten thousand with key 0, and so many probe rows; the others have 9e6 keys.
struct HotSides {
  uint64_t build_share = 1000;
  int64_t probe_rows = 100;

  auto build() const {
    return [*this](int64_t row, uint64_t* key) {
      const uint64_t word = mix64(static_cast<uint64_t>(row) + 1);
      *key = word % 10'000 < build_share ? 0 : 1 + mix64(word) % 9'000'000;
      return true;
    };
  }
  auto probe() const {
    return [*this](int64_t row, uint64_t* key) {
      const uint64_t word = mix64(static_cast<uint64_t>(row) + kRows);
      const bool is_hot = row % (kRows / std::max<int64_t>(probe_rows, 1)) == 7 && probe_rows > 0;
      *key = is_hot ? 0 : 1 + word % 9'000'000;
      return true;
    };
  }
  SampleFindings find(SampleEffort effort) const {
    return sample_keys(kRows, build(), kRows, probe(), 4, effort);
  }
};

TEST(HotKeys, AreCountedAmongAllProbeRows) {
  for (const SampleEffort effort : kEfforts) {
    for (const int64_t probe_rows : {1, 100, 10'000, 1'000'000}) {
      SCOPED_TRACE(probe_rows);
      HotSides sides;
      sides.probe_rows = probe_rows;
      const SampleFindings found = sides.find(effort);
      EXPECT_EQ(found.hot.keys, 1);
      EXPECT_EQ(found.hot.rows, probe_rows);
      const SampleStatistics statistics = statistics_of(found, kRows, kRows);
      EXPECT_EQ(found.hot.pairs, found.hot.most_build * probe_rows);
      EXPECT_NEAR(statistics_of(found, kRows, kRows).heaviest_build_key, 0.1, 0.001);
      const double hot = 0.1 * static_cast<double>(probe_rows);
      const double others =
          effort == SampleEffort::kCounted ? 1 : 1 - 1e-7 * static_cast<double>(probe_rows);
      const double rows = statistics.match_ratio * statistics.rows_per_match;
      EXPECT_NEAR(rows / (hot + others), 1, 4 * statistics.rows_error + 0.05);
      EXPECT_LT(statistics.rows_error, 0.02);
      EXPECT_EQ(statistics.hot_rows, found.hot.pairs);
      EXPECT_EQ(statistics.hot_build_keys, 1);
      EXPECT_EQ(statistics.hot_probe_rows, probe_rows);
    }
  }
}

// What was counted needs no room for what a share of the draws may err by.
TEST(HotKeys, OfWhichFewProbeRowsMatchBesidesNeedNoMoreRoomThanTheyMake) {
  for (const uint64_t matching : {0, 10, 100, 1000, 10'000}) {  // of ten thousand
    for (const SampleEffort effort : kEfforts) {
      SCOPED_TRACE(matching);
      const HotSides sides;
      const auto probe = [&](int64_t row, uint64_t* key) {
        sides.probe()(row, key);
        const bool matches = *key == 0 || mix64(static_cast<uint64_t>(row)) % 10'000 < matching;
        if (!matches) *key += 20'000'000;
        return true;
      };
      const SampleFindings found = sample_keys(kRows, sides.build(), kRows, probe, 4, effort);
      const PlanChoice choice =
          choose_plan(request_of(kRows, kRows, 1), statistics_of(found, kRows, kRows), h200(), 0);
      const double hot = static_cast<double>(found.hot.pairs);
      EXPECT_EQ(choice.plan().expected_hot_rows, found.hot.pairs);
      EXPECT_GE(static_cast<double>(choice.plan().expected_rows),
                hot + 500.0 * static_cast<double>(matching));
      EXPECT_LE(static_cast<double>(choice.plan().expected_rows), hot + 1.5 * kRows);
    }
  }
}

// In 0.2 % of the build rows: drawn eight times, which says little of how many rows they are.
TEST(HotKeys, AreCountedOnBothSides) {
  const auto build = [](int64_t row, uint64_t* key) {
    *key = row % 500 == 7 ? 0 : 1 + mix64(static_cast<uint64_t>(row)) % 9'000'000;
    return row % 1000 != 7;
  };
  HotSides sides;
  sides.probe_rows = 5000;
  const SampleFindings found = sample_keys(kRows, build, kRows, sides.probe(), 4);
  EXPECT_EQ(found.hot.keys, 1);
  EXPECT_EQ(found.hot.most_build, 10'000);
  EXPECT_EQ(found.hot.pairs, 50'000'000);
}

TEST(HotKeys, AreNoneWhereNoBuildKeyHasManyRows) {
  HotSides sides;
  sides.build_share = 0;
  EXPECT_EQ(sides.find(SampleEffort::kCounted).hot, HotKeys());
  // Each draw of the probe side more or less is fewer output rows than it has.
  const auto few = [](int64_t row, uint64_t* key) {
    *key = static_cast<uint64_t>(row) / 4000;
    return true;
  };
  EXPECT_EQ(sample_keys(40'000, few, kRows, sides.probe(), 4).hot, HotKeys());
  // All rows are drawn.
  EXPECT_EQ(sample_keys(kRows, HotSides().build(), 4096, sides.probe(), 4).hot, HotKeys());
}

TEST(HotKeys, AreAsManyAsThereMayBe) {
  // Every key is drawn four times, and each has a place.
  constexpr int64_t kBuildRows = int64_t{1} << 23;
  const auto build = [](int64_t row, uint64_t* key) {
    *key = mix64(static_cast<uint64_t>(row) * 1024 / kBuildRows);
    return true;
  };
  const auto probe = [](int64_t row, uint64_t* key) {
    *key = mix64(static_cast<uint64_t>(row) % 4000);
    return row % 3 != 0;
  };
  const SampleFindings found = sample_keys(kBuildRows, build, 300'000, probe, 8);
  EXPECT_EQ(found.hot.keys, kMostHotKeys);
  EXPECT_EQ(found.hot.rows, 51'200);
  EXPECT_EQ(found.hot.most, 50);
  EXPECT_EQ(found.met_seldom.keys + found.met_often.keys, 0);
  const SampleStatistics statistics = statistics_of(found, kBuildRows, 300'000);
  EXPECT_NEAR(statistics.match_ratio, 51'200.0 / 300'000, 1e-9);
  EXPECT_NEAR(statistics.rows_per_match * 1024 / kBuildRows, 1, 0.001);
}

TEST(HotKeys, DrawsThatMakeAKeyHot) {
  EXPECT_EQ(hot_draws(kSamplePositions - 1), kSamplePositions + 1);
  EXPECT_EQ(hot_draws(kSamplePositions), kSamplePositions);
  EXPECT_EQ(hot_draws(1 << 16), 256);
  EXPECT_EQ(hot_draws(1 << 20), 16);
  EXPECT_EQ(hot_draws(1 << 23), kHeavyDraws);
  EXPECT_EQ(hot_draws(int64_t{1} << 31), kHeavyDraws);
}

// What a few probe rows make of a heavy key is foreseen, so that it is joined once, and its
// partition is dealt.
TEST(HotKeys, AreJoinedByTheMatchThatWritesColumns) {
  const PlanRequest request = request_of(kRows, kRows, 1);
  for (const SampleEffort effort : kEfforts) {
    for (const int64_t probe_rows : {0, 100}) {
      SCOPED_TRACE(probe_rows);
      HotSides sides;
      sides.probe_rows = probe_rows;
      const PlanChoice choice =
          choose_plan(request, statistics_of(sides.find(effort), kRows, kRows), h200(), 0);
      // Of a hot key that no row meets the other side's keys are unique, and may be built on.
      const std::string algorithm = algorithm_name(choice.plan());
      EXPECT_TRUE(algorithm == "PHJ-CARRIED" || (probe_rows == 0 && algorithm == "PDJ-CARRIED"))
          << explain(choice, request, h200());
      if (probe_rows == 0) continue;
      EXPECT_GT(choice.plan().expected_rows, 110'000'000);
      EXPECT_LT(choice.plan().expected_rows, 130'000'000);
      EXPECT_NEAR(static_cast<double>(choice.plan().expected_hot_rows), 1e8, 1e6);
      EXPECT_NE(explain(choice, request, h200()).find("hot build keys: 1, which 100 probe rows"),
                std::string::npos);
    }
  }
}

}  // namespace
}  // namespace gpujoin::plan::testing
