// key_traits_cuda_test.cpp: what one scan of the build keys tells: their range, whether they
// repeat, and whether both sides lie in order.
#include "src/transform/key_traits.hpp"

#include <algorithm>

#include "src/transform/key_range.hpp"
#include "tests/gpu_fixture.hpp"

namespace gpujoin::tests {
namespace {

using KeyTraits = GpuTest;
using Keys = std::vector<uint64_t>;

// In the order of signed integers, some below 0.
Keys ascending(size_t rows, uint64_t step, int32_t width) {
  Keys keys(rows);
  for (size_t i = 0; i < rows; ++i) keys[i] = (i - rows / 3) * step;
  if (width == 4) {
    for (uint64_t& key : keys) key = static_cast<uint32_t>(key);
  }
  return keys;
}

Keys shuffled(Keys keys) {
  std::shuffle(keys.begin(), keys.end(), std::mt19937_64(keys.size()));
  return keys;
}

// The first rows have each key so often; the others are as they were.
Keys repeating(const Keys& unique, size_t first, size_t times) {
  Keys keys = unique;
  for (size_t i = 0; i < first; ++i) keys[i] = unique[i / times];
  return keys;
}

class Scanned {
 public:
  Scanned(base::Queue& queue, int32_t width) : queue_(queue), width_(width) {}

  transform::KeyTraits operator()(const Keys& keys, const Keys& probe) {
    columns::DeviceColumn const there = place(queue_, key_column(keys, width_));
    if (probe.empty()) {
      return transform::key_traits(queue_, there.data, width_, count(keys), nullptr, 0);
    }
    columns::DeviceColumn const other = place(queue_, key_column(probe, width_));
    return transform::key_traits(queue_, there.data, width_, count(keys), other.data, count(probe));
  }

 private:
  static uint32_t count(const Keys& keys) { return static_cast<uint32_t>(keys.size()); }
  base::Queue& queue_;
  int32_t width_;
};

std::vector<size_t> all_rows() {
  std::vector<size_t> rows = edge_sizes();
  rows.insert(rows.end(), {31, 32, 33, 2049, 3'000'001});
  std::erase(rows, size_t{0});
  return rows;
}

TEST_F(KeyTraits, HaveTheRangeOfAllKeys) {
  for (int32_t const width : {4, 8}) {
    Scanned scan(queue(), width);
    for (size_t const rows : all_rows()) {
      SCOPED_TRACE(std::to_string(rows) + " rows, width " + std::to_string(width));
      Keys const keys = shuffled(ascending(rows, 3, width));
      columns::DeviceColumn const there = place(queue(), key_column(keys, width));
      kernels::KeyRange const expected =
          transform::key_range(queue(), there.data, width, static_cast<uint32_t>(rows));
      for (int time = 0; time < 2; ++time) {
        kernels::KeyRange const found = scan(keys, keys).range;
        EXPECT_EQ(found.low, expected.low);
        EXPECT_EQ(found.high, expected.high);
        EXPECT_EQ(found.any, expected.any);
        EXPECT_EQ(found.all, expected.all);
        EXPECT_EQ(found.step, expected.step);
      }
    }
  }
  EXPECT_GT(transform::key_traits(queue(), nullptr, 4, 0, nullptr, 0).range.low, 0U);
}

TEST_F(KeyTraits, TellKeysThatRepeat) {
  for (int32_t const width : {4, 8}) {
    Scanned scan(queue(), width);
    for (size_t const rows : all_rows()) {
      SCOPED_TRACE(std::to_string(rows) + " rows, width " + std::to_string(width));
      for (uint64_t const step : {uint64_t{1}, uint64_t{0x9e3779b1}}) {
        Keys const unique = ascending(rows, step, width);
        EXPECT_FALSE(scan(unique, {}).repeat);
        EXPECT_FALSE(scan(shuffled(unique), unique).repeat);
        if (rows < 2) continue;
        EXPECT_TRUE(scan(Keys(rows, 77), {}).repeat) << "one key";
        EXPECT_TRUE(scan(repeating(unique, rows, 2), {}).repeat);
        EXPECT_TRUE(scan(shuffled(repeating(unique, rows, 2)), {}).repeat);
        if (rows < 1000) continue;
        EXPECT_TRUE(scan(shuffled(repeating(unique, rows / 10, 2)), {}).repeat) << "some do";
        EXPECT_TRUE(scan(shuffled(repeating(unique, rows / 2, 100)), {}).repeat);
      }
    }
  }
}

TEST_F(KeyTraits, TellSidesInOrder) {
  for (int32_t const width : {4, 8}) {
    Scanned scan(queue(), width);
    for (size_t const rows : all_rows()) {
      SCOPED_TRACE(std::to_string(rows) + " rows, width " + std::to_string(width));
      Keys const keys = ascending(rows, 5, width);
      Keys const twice = repeating(keys, rows, 2);
      EXPECT_TRUE(scan(keys, keys).in_order);
      EXPECT_FALSE(scan(keys, keys).probe_repeat);
      EXPECT_TRUE(scan(keys, twice).in_order);
      EXPECT_EQ(scan(keys, twice).probe_repeat, rows > 1);
      EXPECT_FALSE(scan(keys, {}).in_order) << "of a side that is not there";
      if (rows < 100) continue;
      EXPECT_FALSE(scan(keys, shuffled(keys)).in_order);
      EXPECT_FALSE(scan(shuffled(keys), keys).in_order);
      // Two runs, each of them in order; and all of it the other way round.
      Keys runs = keys;
      std::rotate(runs.begin(), runs.begin() + static_cast<ptrdiff_t>(rows / 2), runs.end());
      EXPECT_FALSE(scan(runs, keys).in_order);
      EXPECT_FALSE(scan(keys, runs).in_order);
      Keys const down(keys.rbegin(), keys.rend());
      EXPECT_FALSE(scan(down, down).in_order);
    }
  }
}

}  // namespace
}  // namespace gpujoin::tests
