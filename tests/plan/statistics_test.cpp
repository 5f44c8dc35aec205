#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <set>
#include <unordered_map>

#include "src/plan/key_sample.hpp"

namespace gpujoin::plan {
namespace {

struct Keys {
  std::vector<uint64_t> values;
  std::vector<bool> valid;  // empty: all

  auto accessor() const {
    return [this](int64_t row, uint64_t* key) {
      const size_t i = static_cast<size_t>(row);
      if (!valid.empty() && !valid[i]) return false;
      *key = values[i];
      return true;
    };
  }
  int64_t rows() const { return static_cast<int64_t>(values.size()); }
};

SampleStatistics estimate(const Keys& build, const Keys& probe) {
  const KeySample sample =
      sample_keys(build.rows(), build.accessor(), probe.rows(), probe.accessor());
  return sample_from_counts(sample, build.rows(), probe.rows());
}

Keys dense(int64_t rows, uint64_t first = 0) {
  Keys keys;
  for (int64_t i = 0; i < rows; ++i) keys.values.push_back(first + static_cast<uint64_t>(i));
  return keys;
}

Keys drawn(int64_t rows, uint64_t first, uint64_t last, uint32_t seed = 1) {
  std::mt19937_64 random(seed);
  std::uniform_int_distribution<uint64_t> draw(first, last);
  Keys keys;
  for (int64_t i = 0; i < rows; ++i) keys.values.push_back(draw(random));
  return keys;
}

Keys zipf(int64_t rows, int64_t distinct, double exponent) {
  std::vector<double> weights;
  for (int64_t i = 1; i <= distinct; ++i) {
    weights.push_back(1 / std::pow(static_cast<double>(i), exponent));
  }
  std::discrete_distribution<int64_t> draw(weights.begin(), weights.end());
  std::mt19937_64 random(7);
  Keys keys;
  for (int64_t i = 0; i < rows; ++i) keys.values.push_back(static_cast<uint64_t>(draw(random)));
  return keys;
}

// Match ratio and pairs as they are.
std::pair<double, double> truth(const Keys& build, const Keys& probe) {
  std::unordered_map<uint64_t, int64_t> count;
  for (const uint64_t key : build.values) ++count[key];
  int64_t matching = 0;
  int64_t pairs = 0;
  for (const uint64_t key : probe.values) {
    const auto found = count.find(key);
    if (found == count.end()) continue;
    ++matching;
    pairs += found->second;
  }
  return {static_cast<double>(matching) / static_cast<double>(probe.rows()),
          static_cast<double>(pairs) / static_cast<double>(std::max<int64_t>(matching, 1))};
}

TEST(SampleRule, RowsAreDistinctInOrderAndInRange) {
  for (const int64_t rows :
       {int64_t{1}, int64_t{7}, int64_t{kSamplePositions - 1}, int64_t{kSamplePositions},
        int64_t{kSamplePositions + 1}, int64_t{10'000}, int64_t{1} << 27, (int64_t{1} << 32) - 2}) {
    const int32_t positions = sample_positions(rows);
    EXPECT_EQ(positions, std::min<int64_t>(rows, kSamplePositions));
    int64_t before = -1;
    for (int32_t i = 0; i < positions; ++i) {
      const int64_t row = sample_row(i, rows);
      EXPECT_GT(row, before);
      before = row;
    }
    EXPECT_LT(before, rows);
  }
}

TEST(SampleRule, ASmallSideIsReadWhole) {
  for (int32_t i = 0; i < kSamplePositions; ++i) EXPECT_EQ(sample_row(i, kSamplePositions), i);
}

TEST(SampleTable, FindsWhatWasSampledAndNothingElse) {
  const Keys keys = drawn(kSamplePositions, 0, ~uint64_t{0});
  const SampleTable table(keys.values);
  std::set<int32_t> ids;
  for (const uint64_t key : keys.values) ids.insert(table.find(key));
  EXPECT_EQ(ids.size(), static_cast<size_t>(table.distinct_keys()));
  EXPECT_EQ(*ids.begin(), 0);
  for (const uint64_t key : drawn(100'000, 0, ~uint64_t{0}, 2).values) {
    EXPECT_EQ(table.find(key), -1);
  }
}

TEST(SampleTable, KeepsNoValueForItself) {
  const SampleTable table({0, ~uint64_t{0}, 0});
  EXPECT_EQ(table.distinct_keys(), 2);
  EXPECT_EQ(table.find(0), 0);
  EXPECT_EQ(table.find(~uint64_t{0}), 1);
  EXPECT_EQ(SampleTable({5}).find(0), -1);
}

TEST(SampleTable, SlicesAddUpToTheWholeScan) {
  const Keys build = drawn(50'000, 0, 999);
  const Keys probe = drawn(20'000, 0, 1999, 3);
  const KeySample whole =
      sample_keys(build.rows(), build.accessor(), probe.rows(), probe.accessor());
  KeySample sliced = read_positions(build.rows(), build.accessor(), probe.rows(), probe.accessor());
  const SampleTable table(sliced.probe_keys);
  BuildCounts sum;
  for (int64_t begin = 0; begin < build.rows(); begin += 7'777) {
    const int64_t end = std::min(begin + 7'777, build.rows());
    sum.add(count_build_rows(table, begin, end, build.accessor()));
  }
  table.finish(sum, &sliced);
  EXPECT_EQ(sliced.build_counts, whole.build_counts);
  EXPECT_EQ(sliced.key_or, whole.key_or);
  EXPECT_EQ(sliced.key_and, whole.key_and);
}

TEST(Estimate, MatchRatioOfAForeignKeyJoin) {
  const Keys build = dense(1 << 20);
  for (const double ratio : {1.0, 0.5, 0.25, 0.0625, 0.01}) {
    const double last = std::ldexp(1.0, 20) / ratio - 1;
    const Keys probe = drawn(1 << 20, 0, static_cast<uint64_t>(last));
    const SampleStatistics statistics = estimate(build, probe);
    EXPECT_TRUE(statistics.sampled);
    // Four standard deviations of kSamplePositions draws.
    const double tolerance = 4 * std::sqrt(ratio * (1 - ratio) / kSamplePositions) + 1e-3;
    EXPECT_NEAR(statistics.match_ratio, ratio, tolerance) << ratio;
    EXPECT_DOUBLE_EQ(statistics.rows_per_match, 1);
    EXPECT_LT(statistics.heaviest_build_key, 1e-5);
    EXPECT_LT(statistics.heaviest_probe_key, 1e-3);
  }
}

TEST(Estimate, DuplicatesOnTheBuildSide) {
  const Keys build = drawn(1 << 20, 0, (1 << 16) - 1);
  const Keys probe = drawn(1 << 20, 0, (1 << 17) - 1, 5);
  const auto [ratio, rows] = truth(build, probe);
  const SampleStatistics statistics = estimate(build, probe);
  EXPECT_NEAR(statistics.match_ratio, ratio, 0.035);
  EXPECT_NEAR(statistics.rows_per_match / rows, 1, 0.05);
}

TEST(Estimate, ZipfOnTheProbeSide) {
  const Keys build = dense(1 << 18);
  for (const double exponent : {0.75, 1.0, 1.5}) {
    const Keys probe = zipf(1 << 19, 1 << 18, exponent);
    const SampleStatistics statistics = estimate(build, probe);
    EXPECT_DOUBLE_EQ(statistics.match_ratio, 1);
    EXPECT_DOUBLE_EQ(statistics.rows_per_match, 1);
    if (exponent == 1.5) {
      EXPECT_NEAR(statistics.heaviest_probe_key, 0.38, 0.04);
    }
  }
}

TEST(Estimate, ZipfOnBothSides) {
  const Keys build = zipf(1 << 18, 1 << 16, 1.0);
  const Keys probe = zipf(1 << 19, 1 << 16, 1.0);
  const auto [ratio, rows] = truth(build, probe);
  const SampleStatistics statistics = estimate(build, probe);
  EXPECT_NEAR(statistics.match_ratio, ratio, 0.02);
  EXPECT_NEAR(statistics.rows_per_match / rows, 1, 0.15);
  EXPECT_NEAR(statistics.heaviest_build_key, 0.086, 0.01);
}

TEST(Estimate, AHeavyBuildKeyThatNoProbeRowHas) {
  Keys build = dense(1 << 18);
  for (size_t i = 0; i < build.values.size(); i += 10) build.values[i] = 1'000'000'000;
  const SampleStatistics statistics = estimate(build, drawn(1 << 18, 0, (1 << 18) - 1));
  EXPECT_NEAR(statistics.heaviest_build_key, 0.1, 0.02);
}

TEST(Estimate, PeriodsOfTheDataDoNotFoolIt) {
  // Every other probe row matches; a constant stride of the sample would see all or none.
  Keys probe;
  for (uint64_t i = 0; i < (1 << 20); ++i) probe.values.push_back(i % 2 == 0 ? i : i + (1 << 30));
  EXPECT_NEAR(estimate(dense(1 << 20), probe).match_ratio, 0.5, 0.035);
}

TEST(Estimate, NullsMatchNothing) {
  Keys build = dense(1 << 16);
  Keys probe = drawn(1 << 16, 0, (1 << 16) - 1);
  for (int64_t i = 0; i < probe.rows(); ++i) probe.valid.push_back(i % 4 != 0);
  EXPECT_NEAR(estimate(build, probe).match_ratio, 0.75, 0.03);
  probe.valid.clear();
  build.valid.assign(build.values.size(), false);
  EXPECT_EQ(estimate(build, probe).match_ratio, 0);
}

TEST(Estimate, VaryingBitsReachFromTheLowestToTheHighest) {
  EXPECT_EQ(estimate(dense(1 << 16), dense(100)).varying_key_bits, 16);
  EXPECT_EQ(estimate(dense(100, 1 << 20), dense(100, 1 << 20)).varying_key_bits, 7);
  Keys spaced;
  for (uint64_t i = 0; i < 256; ++i) spaced.values.push_back(i << 12);
  EXPECT_EQ(estimate(spaced, spaced).varying_key_bits, 8);
  EXPECT_EQ(estimate(dense(1, 42), dense(1, 42)).varying_key_bits, 1);
  EXPECT_EQ(estimate(Keys(), Keys()).varying_key_bits, 0);
}

TEST(Estimate, EmptySidesAndTinyOnesAreExact) {
  EXPECT_EQ(estimate(Keys(), dense(10)).match_ratio, 0);
  EXPECT_EQ(estimate(dense(10), Keys()).match_ratio, 0);
  Keys build;
  build.values = {1, 1, 1, 2};
  Keys probe;
  probe.values = {1, 2, 3, 4};
  const SampleStatistics statistics = estimate(build, probe);
  EXPECT_DOUBLE_EQ(statistics.match_ratio, 0.5);
  EXPECT_DOUBLE_EQ(statistics.rows_per_match, 2);
  EXPECT_DOUBLE_EQ(statistics.heaviest_build_key, 0.75);
  EXPECT_DOUBLE_EQ(statistics.heaviest_probe_key, 0.25);
}

}  // namespace
}  // namespace gpujoin::plan
