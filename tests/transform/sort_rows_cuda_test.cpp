// sort_rows_cuda_test.cpp: sorts that pass over upper bits only: runs of every length at every edge
// of a tile, runs that are too long, and how many bits a sample asks for.
#include "src/transform/sort_rows.hpp"

#include <algorithm>
#include <numeric>

#include "kernels/tuning.hpp"
#include "tests/gpu_fixture.hpp"

namespace gpujoin::tests {
namespace {

using SortRows = GpuTest;
using BitsToPass = GpuTest;
using transform::KeyBits;
using transform::PreparedKeys;
using transform::SortedRows;

constexpr size_t kTile = kernels::kRunTile;
constexpr size_t kReach = kernels::kRunReach;

uint64_t digit_of(uint64_t key, KeyBits bits) {
  int32_t const width = bits.end - bits.begin;
  uint64_t const mask = width == 64 ? ~uint64_t{0} : (uint64_t{1} << width) - 1;
  return key >> bits.begin & mask;
}

PreparedKeys prepared(const columns::DeviceColumn& column, size_t rows) {
  PreparedKeys keys;
  keys.rows = static_cast<uint32_t>(rows);
  keys.key_width = 8;
  keys.keys = column.data;
  return keys;
}

// Answers the bits that passes went over: more than `upper` where runs were too long.
int32_t expect_sorted(base::Queue& queue, const std::vector<uint64_t>& keys, KeyBits bits,
                      int32_t upper) {
  SCOPED_TRACE(std::to_string(keys.size()) + " rows, bits " + std::to_string(bits.begin) + " to " +
               std::to_string(bits.end) + ", upper " + std::to_string(upper));
  std::vector<uint32_t> order(keys.size());
  std::iota(order.begin(), order.end(), 0U);
  std::stable_sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) {
    return digit_of(keys[a], bits) < digit_of(keys[b], bits);
  });
  std::vector<uint64_t> expected(keys.size());
  std::transform(order.begin(), order.end(), expected.begin(),
                 [&](uint32_t row) { return keys[row]; });
  columns::DeviceColumn const column = place(queue, key_column(keys, 8));
  SortedRows const sorted = transform::sort_rows(queue, prepared(column, keys.size()), bits, upper);
  EXPECT_EQ(download<uint32_t>(queue, sorted.rows.data(), keys.size()), order);
  EXPECT_EQ(download<uint64_t>(queue, sorted.keys.data(), keys.size()), expected);
  EXPECT_EQ(download<uint64_t>(queue, column.data, keys.size()), keys);  // read only
  return sorted.passed_bits;
}

// Rows in any order that have `upper` values of the bits from 16 on, and any lower ones.
std::vector<uint64_t> drawn(size_t rows, uint64_t uppers, uint64_t lowers, uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<uint64_t> keys(rows);
  for (uint64_t& key : keys) key = random() % uppers << 16 | random() % lowers;
  return keys;
}

TEST_F(SortRows, RunsOfAFewRowsAreInOrderByAllBits) {
  for (size_t rows : edge_sizes()) {
    for (uint64_t const in_a_run : {uint64_t{1}, uint64_t{3}, uint64_t{40}}) {
      for (uint64_t const lowers : {uint64_t{1}, uint64_t{2}, uint64_t{1} << 16}) {
        uint64_t const uppers = rows / in_a_run + 1;
        EXPECT_EQ(expect_sorted(queue(), drawn(rows, uppers, lowers, rows), {0, 40}, 24), 24);
        if (::testing::Test::HasFailure()) return;
      }
    }
  }
}

TEST_F(SortRows, SizesAtTheEdgesOfTiles) {
  for (size_t const tiles : {size_t{1}, size_t{2}}) {
    for (size_t const rows :
         {tiles * kTile - 1, tiles * kTile, tiles * kTile + 1, tiles * kTile + 31,
          tiles * kTile + kReach - 1, tiles * kTile + kReach, tiles * kTile + kReach + 1}) {
      std::vector<uint64_t> const keys = drawn(rows, rows / 4, 1 << 16, rows);
      EXPECT_EQ(expect_sorted(queue(), keys, {0, 40}, 24), 24);
      // One run, longer than a block sees or not.
      expect_sorted(queue(), drawn(rows, 1, 1 << 16, rows), {0, 40}, 24);
      if (::testing::Test::HasFailure()) return;
    }
  }
}

// A run behind `before` rows that are alone, and as many behind it.
std::vector<uint64_t> with_run(size_t before, size_t run, uint64_t lowers, size_t behind) {
  std::mt19937_64 random(before * 31 + run);
  std::vector<uint64_t> keys;
  for (size_t i = 0; i < before; ++i) keys.push_back(i << 16 | random() % 65536);
  for (size_t i = 0; i < run; ++i) keys.push_back(before << 16 | random() % lowers);
  for (size_t i = 0; i < behind; ++i) keys.push_back((before + 1 + i) << 16 | random() % 65536);
  std::shuffle(keys.begin(), keys.end(), random);
  return keys;
}

TEST_F(SortRows, RunsOfEveryLengthAtEveryPlaceOfATile) {
  for (size_t const before : {size_t{0}, size_t{1}, kTile - kReach - 1, kTile - kReach,
                              kTile - kReach + 1, kTile - 2, kTile - 1, kTile, kTile + 1}) {
    for (size_t const run : {size_t{2}, kReach - 1, kReach, kReach + 1, kReach + 2, kTile - 1,
                             kTile, kTile + kReach - 1, kTile + kReach, kTile + kReach + 1,
                             2 * kTile + 7, 3 * kTile + kReach, 5 * kTile + kReach + 1}) {
      for (size_t const behind : {size_t{0}, size_t{1}, size_t{700}}) {
        SCOPED_TRACE("run of " + std::to_string(run) + " behind " + std::to_string(before));
        int32_t const passed =
            expect_sorted(queue(), with_run(before, run, 65536, behind), {0, 40}, 24);
        if (run <= kReach) {
          EXPECT_EQ(passed, 24);
        }
        if (run > kTile + kReach) {
          EXPECT_EQ(passed, 24 + 40);
        }
        // Equal keys need nothing, however many they are.
        EXPECT_EQ(expect_sorted(queue(), with_run(before, run, 1, behind), {0, 40}, 24), 24);
        if (::testing::Test::HasFailure()) return;
      }
    }
  }
}

// Long runs in order but for one row: each block must see what the others do not.
TEST_F(SortRows, OneRowOutOfOrderInALongRun) {
  size_t const rows = 3 * kTile + 100;
  for (size_t const out :
       {size_t{1}, kTile - 1, kTile, kTile + 1, kTile + kReach, kTile + kReach + 1, 2 * kTile,
        3 * kTile - 1, 3 * kTile, 3 * kTile + 1, rows - 1}) {
    std::vector<uint64_t> keys(rows, uint64_t{5} << 16 | 9);
    keys[out] -= 1;
    EXPECT_EQ(expect_sorted(queue(), keys, {0, 40}, 24), 24 + 40);
    if (::testing::Test::HasFailure()) return;
  }
}

TEST_F(SortRows, AnyBitsOfTheKey) {
  std::mt19937_64 random(7);
  std::vector<uint64_t> keys(70000);
  for (uint64_t& key : keys) key = random();
  for (auto const& [bits, upper] : {std::pair{KeyBits{0, 64}, 24}, std::pair{KeyBits{0, 64}, 32},
                                    std::pair{KeyBits{0, 64}, 64}, std::pair{KeyBits{0, 62}, 16},
                                    std::pair{KeyBits{10, 50}, 24}, std::pair{KeyBits{40, 64}, 16},
                                    std::pair{KeyBits{63, 64}, 1}, std::pair{KeyBits{0, 33}, 32}}) {
    EXPECT_EQ(expect_sorted(queue(), keys, bits, upper), upper);
  }
  // Lower bits of which one varies.
  for (uint64_t& key : keys) key &= 0xffffff0000000001;
  EXPECT_EQ(expect_sorted(queue(), keys, {0, 64}, 24), 24);
}

TEST_F(SortRows, OfNoRowsAndOfOne) {
  EXPECT_EQ(expect_sorted(queue(), {}, {0, 40}, 24), 24);
  EXPECT_EQ(expect_sorted(queue(), {77}, {0, 40}, 24), 24);
}

int32_t bits_of(base::Queue& queue, const std::vector<uint64_t>& keys, KeyBits bits) {
  columns::DeviceColumn const column = place(queue, key_column(keys, 8));
  return transform::bits_to_pass(queue, prepared(column, keys.size()), bits);
}

TEST_F(BitsToPass, AreThoseThatTellRowsApart) {
  size_t const rows = size_t{1} << 21;
  std::mt19937_64 random(3);
  std::vector<uint64_t> keys(rows);
  for (uint64_t& key : keys) key = random() >> 4;
  EXPECT_EQ(bits_of(queue(), keys, {0, 60}), 24);
  EXPECT_EQ(bits_of(queue(), keys, {9, 60}), 24);
  // Too few passes for it to pay, or too few rows.
  EXPECT_EQ(bits_of(queue(), keys, {0, 48}), 48);
  EXPECT_EQ(bits_of(queue(), keys, {0, 24}), 24);
  EXPECT_EQ(bits_of(queue(), keys, {36, 60}), 24);
  EXPECT_EQ(bits_of(queue(), {keys.begin(), keys.begin() + 40000}, {0, 60}), 60);
  EXPECT_EQ(bits_of(queue(), {7}, {0, 60}), 60);
  // Few values: equal ones are in order.
  for (uint64_t& key : keys) key = random() % 1000 << 50;
  EXPECT_EQ(bits_of(queue(), keys, {0, 60}), 24);
  for (uint64_t& key : keys) key = 5;
  EXPECT_EQ(bits_of(queue(), keys, {0, 60}), 24);
  // One far away.
  for (uint64_t& key : keys) key = random() % (1 << 20);
  keys.back() = uint64_t{1} << 59;
  EXPECT_EQ(bits_of(queue(), keys, {0, 60}), 60);
  // Two passes more tell them apart, and in clusters all but the lowest bits.
  for (uint64_t& key : keys) key = random() % (uint64_t{1} << 40);
  EXPECT_EQ(bits_of(queue(), keys, {0, 56}), 40);
  for (uint64_t& key : keys) key = random() % 16 << 56 | random() % (1 << 24);
  EXPECT_EQ(bits_of(queue(), keys, {0, 60}), 56);
}

}  // namespace
}  // namespace gpujoin::tests
