#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <set>
#include <unordered_map>

#include "src/plan/join_shape.hpp"
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
  const SampleFindings found =
      sample_keys(build.rows(), build.accessor(), probe.rows(), probe.accessor(), 8);
  return statistics_of(found, build.rows(), probe.rows());
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

TEST(Neighbours, AreAsFarApartAsMostOfThem) {
  const int64_t rows = 300'000;
  Keys build = dense(rows);
  EXPECT_EQ(estimate(build, build).next_bits, 1);
  EXPECT_EQ(estimate(build, build).neighbour_bits, 17);
  // The farther ones of both sides.
  EXPECT_EQ(estimate(build, drawn(rows, 0, 1 << 20)).next_bits, 20);
  EXPECT_EQ(estimate(drawn(rows, 0, 1 << 20), build).neighbour_bits, 20);
  // A sixteenth of the distances may be any: one in 50 of the keys at both of their ends.
  std::mt19937_64 random(3);
  for (int64_t i = 0; i < rows / 50; ++i) build.values[random() % rows] = random();
  EXPECT_EQ(estimate(build, dense(rows)).neighbour_bits, 17);
  EXPECT_EQ(estimate(build, dense(rows)).next_bits, 1);
  for (int64_t i = 0; i < rows / 5; ++i) build.values[random() % rows] = random();
  EXPECT_GT(estimate(build, dense(rows)).neighbour_bits, 60);
  // A side of so few rows says nothing of rows so far apart.
  EXPECT_EQ(estimate(dense(1 << 15), dense(rows)).neighbour_bits, 17);
  // None that is so far on.
  EXPECT_EQ(estimate(dense(1 << 16), dense(1 << 16)).neighbour_bits, 64);
  EXPECT_EQ(estimate(dense(1 << 16), dense(1 << 16)).next_bits, 1);
  EXPECT_EQ(estimate(dense(1), dense(1)).next_bits, 64);
}

TEST(Estimate, HowManyRowsHaveAKey) {
  Keys some = dense(1 << 16);
  for (int64_t i = 0; i < some.rows(); ++i) some.valid.push_back(i % 4 != 0);
  const SampleStatistics statistics = estimate(dense(1 << 15), some);
  EXPECT_EQ(statistics.build_keyed, 1);
  EXPECT_NEAR(statistics.probe_keyed, 0.75, 0.02);
  EXPECT_EQ(turned_round(statistics, 1 << 15, 1 << 16).probe_keyed, 1);
  EXPECT_EQ(estimate(dense(0), dense(10)).build_keyed, 1);
}

TEST(Neighbours, AreCountedInBits) {
  EXPECT_EQ(distance_bits(5, 5), 0);
  EXPECT_EQ(distance_bits(5, 6), 1);
  EXPECT_EQ(distance_bits(6, 5), 1);
  EXPECT_EQ(distance_bits(-65536, 65535), 17);
  EXPECT_EQ(distance_bits(INT64_MIN, INT64_MAX), 64);
  EXPECT_EQ(distance_bits(INT64_MAX, INT64_MIN), 64);
  EXPECT_EQ(neighbour_row(0, 65536, kNeighbourRows), -1);
  EXPECT_EQ(neighbour_row(0, 65537, kNeighbourRows), 65536);
  EXPECT_EQ(neighbour_row(1, 65537, kNeighbourRows), -1);
  EXPECT_EQ(neighbour_row(65536, 65537, kNeighbourRows), 0);
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

// Either side of each border between scanned whole and in part, and the largest relation there is.
TEST(SampleRule, SlicesAreDistinctAndEvenlySpread) {
  constexpr int64_t kAll = kFewestSampleTiles * kSampleTileRows;
  for (const int64_t rows :
       {int64_t{1}, kSampleTileRows, kSampleTileRows + 1, kAll - 1, kAll, kAll + 1, 3 * kAll + 17,
        8 * kAll, 12 * kAll + 5, int64_t{1} << 27, (int64_t{1} << 32) - 2}) {
    SCOPED_TRACE(rows);
    const SampleSlices slices(rows);
    const int64_t tiles = slices.tiles();
    std::vector<int64_t> firsts;
    for (int64_t tile = 0; tile < tiles; ++tile) {
      for (int64_t slice = 0; slice < kSampleTileSlices; ++slice) {
        firsts.push_back(slices.first_row(tile, slice));
      }
    }
    std::sort(firsts.begin(), firsts.end());
    const double stratum = static_cast<double>(std::max(rows, tiles * kSampleTileRows)) /
                           static_cast<double>(firsts.size());
    int64_t wrong = 0;
    int64_t scanned = 0;
    for (size_t i = 0; i < firsts.size(); ++i) {
      const double place = static_cast<double>(firsts[i]) / stratum - static_cast<double>(i);
      wrong += firsts[i] % kSampleSliceRows != 0 || std::fabs(place) > 1.01 ? 1 : 0;
      wrong += i > 0 && firsts[i] == firsts[i - 1] ? 1 : 0;
      scanned += std::clamp<int64_t>(rows - firsts[i], 0, kSampleSliceRows);
    }
    EXPECT_EQ(wrong, 0);
    EXPECT_EQ(scanned_rows(rows), scanned);
    EXPECT_EQ(scanned == rows, rows <= kAll);
  }
  EXPECT_EQ(scanned_rows(0), 0);
  EXPECT_EQ(scanned_rows(int64_t{1} << 27), int64_t{1} << 24);
}

// Sides in the same order: whether a sampled probe row's match is scanned must not depend on its
// row.
TEST(SampleRule, PositionsAndSlicesAreIndependent) {
  constexpr int64_t kRows = int64_t{1} << 27;
  std::vector<bool> scanned(kRows / kSampleSliceRows, false);
  const SampleSlices slices(kRows);
  for (int64_t tile = 0; tile < slices.tiles(); ++tile) {
    for (int64_t slice = 0; slice < kSampleTileSlices; ++slice) {
      scanned[static_cast<size_t>(slices.first_row(tile, slice) / kSampleSliceRows)] = true;
    }
  }
  int32_t inside = 0;
  for (int32_t i = 0; i < kSamplePositions; ++i) {
    const auto slice = static_cast<size_t>(sample_row(i, kRows) / kSampleSliceRows);
    inside += scanned[slice] ? 1 : 0;
  }
  EXPECT_NEAR(inside, kSamplePositions / 8, 4 * std::sqrt(kSamplePositions / 8));
}

SampleTable table_of(const std::vector<uint64_t>& keys) {
  SampleTable table(8);
  for (const uint64_t key : keys) table.draw(key);
  return table;
}

TEST(SampleTable, FindsWhatWasSampledAndNothingElse) {
  const Keys keys = drawn(kSamplePositions, 0, ~uint64_t{0});
  const SampleTable table = table_of(keys.values);
  std::set<int32_t> ids;
  for (const uint64_t key : keys.values) ids.insert(table.find(key));
  EXPECT_EQ(ids.size(), static_cast<size_t>(table.distinct_keys()));
  EXPECT_EQ(*ids.begin(), 0);
  for (const uint64_t key : drawn(100'000, 0, ~uint64_t{0}, 2).values) {
    EXPECT_EQ(table.find(key), -1);
  }
}

TEST(SampleTable, KeepsNoValueForItself) {
  const SampleTable table = table_of({0, ~uint64_t{0}, 0});
  EXPECT_EQ(table.distinct_keys(), 2);
  EXPECT_EQ(table.find(0), 0);
  EXPECT_EQ(table.find(~uint64_t{0}), 1);
  EXPECT_EQ(table_of({5}).find(0), -1);
}

TEST(SampleTable, FewRowsThatMatchNothingPassTheFilter) {
  const Keys keys = drawn(kSamplePositions, 0, ~uint64_t{0});
  std::vector<uint32_t> filter(kSampleFilterWords, 0);
  const auto pass_rate = [&](const Keys& others) {
    int64_t passed = 0;
    for (const uint64_t key : others.values) {
      const SampleFilterBits bits = sample_filter_bits(key);
      passed += bits.held_by(filter[bits.word]) ? 1 : 0;
    }
    return static_cast<double>(passed) / static_cast<double>(others.rows());
  };
  for (const uint64_t key : keys.values) {
    const SampleFilterBits bits = sample_filter_bits(key);
    filter[bits.word] |= bits.mask();
  }
  EXPECT_LT(pass_rate(drawn(1 << 20, 0, ~uint64_t{0}, 2)), 0.005);
  EXPECT_LT(pass_rate(dense(1 << 20)), 0.005);
  EXPECT_LT(pass_rate(dense(1 << 20, uint64_t{77} << 40)), 0.005);
}

TEST(SampleTable, SaysWhatWasDrawn) {
  SampleTable table(4);
  for (const uint64_t key : {5U, 5U, 5U, 7U, 5U, 9U, 7U, 0xfffffffdU}) table.draw(key);
  table.draw(DrawnRow());
  const DrawnKeys drawn = table.drawn();
  EXPECT_EQ(drawn.positions, 9);
  EXPECT_EQ(drawn.valid, 8);
  EXPECT_EQ(drawn.distinct, 4);
  EXPECT_EQ(drawn.most, 4);
  EXPECT_EQ(drawn.heavy, 4);
  EXPECT_EQ(drawn.bounds.low, -3);
  EXPECT_EQ(drawn.bounds.high, 9);
  EXPECT_EQ(drawn.bounds.key_or, 0xffffffffU);
  EXPECT_EQ(drawn.bounds.key_and, 1U);
}

TEST(SampleTable, SlicesAddUpToTheWholeScan) {
  const Keys build = drawn(50'000, 0, 999);
  const Keys probe = drawn(20'000, 0, 1999, 3);
  SampleFindings sliced;
  const auto is_near = [](int64_t) {};
  sliced.build = draw_keys(build.rows(), build.accessor(), 8).drawn();
  const SampleTable table = draw_keys(probe.rows(), probe.accessor(), 8);
  sliced.probe = table.drawn();
  TileCounts sum;
  const int64_t tiles = sample_tiles(build.rows());
  for (int64_t begin = 0; begin < tiles; begin += 5) {
    const int64_t end = std::min(begin + 5, tiles);
    TileCounts slice;
    count_tiles(table, begin, end, build.rows(), build.accessor(), is_near, &slice);
    sum.add(slice);
  }
  table.finish(sum, scanned_rows(build.rows()), &sliced);
  EXPECT_EQ(sliced, sample_keys(build.rows(), build.accessor(), probe.rows(), probe.accessor(), 8));
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

TEST(Estimate, HowRowsOfAKeySpread) {
  Keys four;
  for (uint64_t row = 0; row < 400'000; ++row) four.values.push_back(row % 100'000);
  const Keys probe = drawn(500'000, 0, 100'000);
  EXPECT_EQ(estimate(dense(100'000), probe).rows_spread, 0);
  EXPECT_EQ(estimate(four, probe).rows_spread, 0);
  // Poisson with a mean of three, none left out: 3.16 on average, a deviation of 1.6.
  EXPECT_NEAR(estimate(drawn(300'000, 0, 100'000, 2), probe).rows_spread, 0.52, 0.05);
  // A part of the rows does not tell.
  EXPECT_LT(estimate(drawn(12'000'000, 0, 4'000'000, 2), probe).scanned_share, 1);
  EXPECT_EQ(estimate(drawn(12'000'000, 0, 4'000'000, 2), probe).rows_spread, 0);
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

TEST(Estimate, RangesAreExactWhereAllRowsWereRead) {
  const SampleStatistics statistics =
      estimate(dense(1 << 16, ~uint64_t{0} - 9), drawn(1 << 16, 5, 100));
  EXPECT_EQ(statistics.build_range.low, -10);
  EXPECT_EQ(statistics.build_range.high, (1 << 16) - 11);
  EXPECT_TRUE(statistics.build_range.exact);
  EXPECT_GE(statistics.probe_range.low, 5);
  EXPECT_LE(statistics.probe_range.high, 100);
  EXPECT_FALSE(statistics.probe_range.exact);
  EXPECT_TRUE(estimate(dense(10), dense(10)).probe_range.exact);
  EXPECT_EQ(estimate(dense(1 << 16, 1 << 20), dense(10)).build_varying, 0xffffU);
  const KeyRange none = estimate(Keys(), dense(10)).build_range;
  EXPECT_GT(none.low, none.high);
}

TEST(Estimate, TheShareOfHeavyKeys) {
  const Keys build = dense(1 << 18);
  EXPECT_LT(estimate(build, drawn(1 << 20, 0, (1 << 20) - 1)).heavy_probe_share, 0.01);
  Keys probe = drawn(1 << 20, 0, (1 << 20) - 1);
  for (size_t i = 0; i < probe.values.size(); ++i) {
    if (i % 5 < 2) probe.values[i] = i % 5;
  }
  EXPECT_NEAR(estimate(build, probe).heavy_probe_share, 0.4, 0.03);
  EXPECT_EQ(estimate(build, dense(kHeavyDraws - 1)).heavy_probe_share, 0);
}

// Where matches are not counted.
TEST(Estimate, RangesTellKeysThatRepeat) {
  const auto by_ranges = [](const Keys& build, const Keys& probe) {
    const SampleFindings found = sample_keys(build.rows(), build.accessor(), probe.rows(),
                                             probe.accessor(), 8, SampleEffort::kPositions);
    return statistics_of(found, build.rows(), probe.rows());
  };
  const auto in_steps = [](Keys keys, uint64_t step) {
    for (uint64_t& key : keys.values) key *= step;
    return keys;
  };
  const auto expect = [](const SampleStatistics& statistics, double match, double rows) {
    EXPECT_FALSE(statistics.counted);
    EXPECT_NEAR(statistics.match_ratio, match, 0.01 * match);
    EXPECT_NEAR(statistics.rows_per_match, rows, 0.01 * rows);
  };
  const Keys primary = dense(60000, 500);
  // More rows than places: six of each, some of them NULL.
  Keys six = drawn(60000, 0, 9999);
  expect(by_ranges(six, drawn(90000, 0, 9999, 2)), 1, 6);
  expect(by_ranges(in_steps(six, 4), drawn(90000, 0, 39999, 2)), 1, 6);
  six.valid.assign(60000, true);
  for (size_t row = 0; row < 60000; row += 3) six.valid[row] = false;
  expect(by_ranges(six, drawn(90000, 0, 9999, 2)), 1, 4);
  // A foreign key with fewer rows than its primary key: 1 - exp(-1/2) of it, 0.5 / that rows each.
  expect(by_ranges(drawn(30000, 500, 60499), primary), 0.3935, 1.2707);
  // Primary keys of as many rows, of a part of the range, and what may be foreign keys of both.
  expect(by_ranges(primary, dense(60001, 500)), 1, 1);
  expect(by_ranges(dense(30000, 500), primary), 1, 1);
  expect(by_ranges(drawn(30000, 500, 60499), drawn(90000, 500, 60499, 3)), 1, 1);
  // Unique keys from elsewhere, and from a part of where the primary key is.
  expect(by_ranges(in_steps(dense(20000, 40000), 3), primary), 1, 1);
  expect(by_ranges(drawn(5000, 500, 30499), primary), 1, 1);
  // Where a hundredth of the probe side's range is the build side's.
  expect(by_ranges(drawn(60000, 0, 9999), drawn(90000, 0, 999999, 2)), 1, 1);
  // Steps that no shift makes places of.
  expect(by_ranges(in_steps(drawn(60000, 0, 9999), 7), drawn(90000, 0, 69999, 2)), 1, 1);
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

// Of 2.8 * 10^7 rows in 8 * 10^6 places some keys repeat, also where few of them match.
TEST(Statistics, OfTheOtherSideKnowHowManyRowsItHasForAPlace) {
  SampleStatistics sample;
  sample.sampled = sample.counted = true;
  sample.match_ratio = 0.04;
  sample.rows_per_match = 5;
  sample.probe_range = {0, 7'999'999, false};
  sample.varying_key_bits = 23;
  const double pairs = 28e6 * 0.04 * 5;
  const SampleStatistics turned = turned_round(sample, 20e6, 28e6);
  EXPECT_DOUBLE_EQ(turned.rows_per_match, 3.5);
  EXPECT_DOUBLE_EQ(turned.match_ratio, pairs / 3.5 / 20e6);

  sample.probe_range.high = 39'999'999;
  sample.varying_key_bits = 26;
  const SampleStatistics unique = turned_round(sample, 20e6, 28e6);
  EXPECT_DOUBLE_EQ(unique.rows_per_match, 1);
  EXPECT_DOUBLE_EQ(unique.match_ratio, pairs / 20e6);
  // Of keys of which every fourth may be.
  sample.varying_key_bits = 24;
  EXPECT_GT(turned_round(sample, 20e6, 28e6).rows_per_match, 2.7);
}

}  // namespace
}  // namespace gpujoin::plan
