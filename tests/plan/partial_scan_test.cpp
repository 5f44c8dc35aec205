// partial_scan_test.cpp: what a sample says of build sides too large to be scanned whole. Keys are
// functions of the row: 2^26 rows need no memory.
#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "src/plan/key_sample.hpp"

namespace gpujoin::plan {
namespace {

constexpr int64_t kRows = int64_t{1} << 26;

uint64_t random_word(int64_t row, uint64_t seed) {
  return mix64(mix64(seed) + static_cast<uint64_t>(row) * 0x9e3779b97f4a7c15ULL);
}

// A bijection of 0 to kRows - 1 that leaves no two neighbours together.
uint64_t shuffled(uint64_t row) {
  constexpr uint64_t kMask = kRows - 1;
  for (int round = 0; round < 3; ++round) {
    row = (row * 0x9e3779b1U + 0x1234567) & kMask;
    row ^= row >> 13;
  }
  return row;
}

// Of `distinct` keys by a Zipf distribution with exponent 1, by its continuous inverse.
uint64_t zipf_key(uint64_t word, int64_t distinct) {
  const double share = static_cast<double>(word >> 11) * 0x1p-53;
  return static_cast<uint64_t>(std::pow(static_cast<double>(distinct), share)) - 1;
}

template <typename KeyOfRow>
auto all_valid(KeyOfRow key_of_row) {
  return [key_of_row](int64_t row, uint64_t* key) {
    *key = key_of_row(row);
    return true;
  };
}

template <typename BuildKey, typename ProbeKey>
SampleStatistics estimate(BuildKey build_key, ProbeKey probe_key) {
  const SampleFindings found =
      sample_keys(kRows, all_valid(build_key), kRows, all_valid(probe_key), 8);
  EXPECT_EQ(found.scanned_rows, kRows / 8);
  const SampleStatistics statistics = statistics_of(found, kRows, kRows);
  EXPECT_DOUBLE_EQ(statistics.scanned_share, 0.125);
  return statistics;
}

// rows: met by a probe row, those without a match counted. Four of the standard errors that are
// stated.
void expect_rows(const SampleStatistics& found, double rows) {
  EXPECT_NEAR(found.match_ratio * found.rows_per_match / rows, 1, 4 * found.rows_error);
}

uint64_t unique_key(int64_t row) { return shuffled(static_cast<uint64_t>(row)); }

auto random_keys(uint64_t keys, uint64_t seed) {
  return [=](int64_t row) { return random_word(row, seed) % keys; };
}

TEST(PartialScan, UniqueBuildKeys) {
  for (const double ratio : {1.0, 0.5, 0.25, 0.0625, 0.01}) {
    SCOPED_TRACE(ratio);
    const auto keys = static_cast<uint64_t>(static_cast<double>(kRows) / ratio);
    const SampleStatistics found = estimate(unique_key, random_keys(keys, 2));
    expect_rows(found, ratio);
    EXPECT_EQ(found.rows_per_match, 1);
    // Hits in an eighth of the rows, a share of `ratio` of 4096 draws.
    EXPECT_NEAR(found.rows_error * std::sqrt(512 * ratio), 1, 0.5);
    EXPECT_LT(found.heaviest_build_key, 2.0 / kRows);
    EXPECT_FALSE(found.build_range.exact);
    EXPECT_LT(found.build_range.low, 1000);
    EXPECT_GT(found.build_range.high, kRows - 1000);
  }
}

// Where positions of one side lie beside slices of the other, row for row.
TEST(PartialScan, UniqueBuildKeysInOrder) {
  const auto key = [](int64_t row) { return static_cast<uint64_t>(row); };
  const SampleStatistics found = estimate(key, key);
  expect_rows(found, 1);
  EXPECT_EQ(found.rows_per_match, 1);
}

TEST(PartialScan, FiveRowsAKeyScattered) {
  for (const int spread : {1, 2}) {
    SCOPED_TRACE(spread);
    const SampleStatistics found = estimate([](int64_t row) { return unique_key(row) / 5; },
                                            random_keys(kRows / 5 * spread, 2));
    expect_rows(found, 5.0 / spread);
    EXPECT_NEAR(found.match_ratio * spread, 1, 0.12);
    EXPECT_NEAR(found.rows_per_match, 5, 0.8);
  }
}

// Slices have all rows of a key or none, or many slices have one key.
TEST(PartialScan, RowsOfAKeySideBySide) {
  for (const int64_t rows : {5, 40, 300, 3000}) {
    SCOPED_TRACE(rows);
    const SampleStatistics found =
        estimate([&](int64_t row) { return static_cast<uint64_t>(row / rows); },
                 random_keys(static_cast<uint64_t>(4 * kRows / rows), 2));
    const auto each = static_cast<double>(rows);
    expect_rows(found, each / 4);
    EXPECT_NEAR(found.match_ratio, 0.25, 0.06);
    EXPECT_NEAR(found.rows_per_match / each, 1, 0.25);
    EXPECT_LT(found.heaviest_build_key * kRows / each, 2);
  }
}

TEST(PartialScan, RowsOfAKeyAtRandom) {
  const uint64_t keys = kRows * 2 / 25;
  const SampleStatistics found = estimate(random_keys(keys, 1), random_keys(keys, 2));
  expect_rows(found, 12.5);
  EXPECT_NEAR(found.match_ratio, 1, 0.06);
  EXPECT_NEAR(found.rows_per_match / 12.5, 1, 0.1);
}

// Rows of keys differ, so that too few of those without a scanned row are thought to have one at
// all.
TEST(PartialScan, ZipfOnBothSides) {
  constexpr int64_t kKeys = int64_t{1} << 20;
  const auto build_key = [](int64_t row) { return zipf_key(random_word(row, 1), kKeys); };
  const auto probe_key = [](int64_t row) { return zipf_key(random_word(row, 2), kKeys); };
  std::vector<uint32_t> counts(kKeys, 0);
  for (int64_t row = 0; row < kRows; ++row) ++counts[build_key(row)];
  double rows = 0;
  constexpr int64_t kLooks = 1 << 20;
  for (int64_t row = 0; row < kLooks; ++row) rows += counts[probe_key(row)];
  const SampleStatistics found = estimate(build_key, probe_key);
  expect_rows(found, rows / kLooks);
  EXPECT_NEAR(found.match_ratio, 1, 0.1);
  EXPECT_NEAR(found.heaviest_build_key * kRows / counts[0], 1, 0.05);
}

// One probe key has three rows of ten, and one build row, which one scan in eight sees: it must not
// decide the ratio. Nor must it that all hot keys of a dimension lie at its front.
TEST(PartialScan, HotProbeKeysOfUniqueBuildKeys) {
  for (const uint64_t seed : {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}) {
    SCOPED_TRACE(seed);
    const uint64_t hot = random_word(0, seed) % kRows;
    const auto one_hot = [&](int64_t row) {
      const uint64_t word = random_word(row, seed);
      return word % 10 < 3 ? hot : mix64(word) % kRows;
    };
    const auto zipf = [&](int64_t row) { return zipf_key(random_word(row, seed), kRows); };
    const SampleStatistics found = estimate(unique_key, one_hot);
    expect_rows(found, 1);
    EXPECT_EQ(found.rows_per_match, 1);
    EXPECT_NEAR(found.heavy_probe_share, 0.3, 0.03);
    expect_rows(estimate([](int64_t row) { return static_cast<uint64_t>(row); }, zipf), 1);
  }
}

TEST(PartialScan, NothingMatches) {
  const SampleStatistics found =
      estimate(unique_key, [](int64_t row) { return kRows + static_cast<uint64_t>(row); });
  EXPECT_EQ(found.match_ratio, 0);
  EXPECT_EQ(found.rows_per_match, 1);
  EXPECT_EQ(found.rows_error, 0);
}

TEST(PartialScan, NullsMatchNothing) {
  const auto build = [](int64_t row, uint64_t* key) {
    *key = unique_key(row);
    return row % 2 == 0;
  };
  const auto probe = [](int64_t row, uint64_t* key) {
    *key = random_word(row, 2) % kRows;
    return random_word(row, 3) % 4 != 0;
  };
  const SampleStatistics found =
      statistics_of(sample_keys(kRows, build, kRows, probe, 8), kRows, kRows);
  expect_rows(found, 0.375);
  EXPECT_EQ(found.rows_per_match, 1);
}

}  // namespace
}  // namespace gpujoin::plan
