// varying_bits_cuda_test.cpp: the range of bits in which keys differ.
#include "src/transform/transform.hpp"
#include "tests/gpu_fixture.hpp"

namespace gpujoin::tests {
namespace {

using VaryingBits = GpuTest;
using transform::KeyBits;

KeyBits found_bits(base::Queue& queue, const std::vector<uint64_t>& left,
                   const std::vector<uint64_t>& right, int32_t width) {
  columns::DeviceColumn const left_column = place(queue, key_column(left, width));
  columns::DeviceColumn const right_column = place(queue, key_column(right, width));
  return transform::varying_bits(
      queue, transform::prepare_keys(queue, left_column, static_cast<int64_t>(left.size()), false),
      transform::prepare_keys(queue, right_column, static_cast<int64_t>(right.size()), false));
}

// Against the first key, bit by bit.
KeyBits expected_bits(const std::vector<uint64_t>& left, const std::vector<uint64_t>& right,
                      int32_t width) {
  std::vector<uint64_t> all = left;
  all.insert(all.end(), right.begin(), right.end());
  KeyBits bits{64, 0};
  for (int32_t bit = 0; bit < 8 * width; ++bit) {
    for (uint64_t key : all) {
      if (((key ^ all[0]) >> bit & 1) == 0) continue;
      bits.begin = std::min(bits.begin, bit);
      bits.end = std::max(bits.end, bit + 1);
    }
  }
  return bits.end == 0 ? KeyBits{0, 1} : bits;
}

void expect_bits(base::Queue& queue, const std::vector<uint64_t>& left,
                 const std::vector<uint64_t>& right, int32_t width) {
  KeyBits const found = found_bits(queue, left, right, width);
  KeyBits const expected = expected_bits(left, right, width);
  EXPECT_EQ(found.begin, expected.begin);
  EXPECT_EQ(found.end, expected.end);
}

TEST_F(VaryingBits, AreThoseOfTheMask) {
  for (int32_t width : {4, 8}) {
    for (uint64_t mask :
         {uint64_t{1}, uint64_t{0xff}, uint64_t{0xff00}, uint64_t{0x80000000}, uint64_t{0x80000001},
          uint64_t{0x00ff0010}, uint64_t{0x0000ff0000000000}, uint64_t{0x8000000000000000}}) {
      if (width == 4 && mask > UINT32_MAX) continue;
      for (size_t rows : edge_sizes()) {
        if (rows == 0) continue;
        SCOPED_TRACE(std::to_string(rows) + " rows, width " + std::to_string(width) + ", mask " +
                     std::to_string(mask));
        std::mt19937_64 random(rows + mask);
        uint64_t const constant = random();
        std::vector<uint64_t> left(rows);
        std::vector<uint64_t> right(rows / 2);
        for (auto* side : {&left, &right}) {
          for (uint64_t& key : *side) {
            key = (constant & ~mask) | (random() & mask);
            if (width == 4) key &= UINT32_MAX;
          }
        }
        expect_bits(queue(), left, right, width);
      }
    }
  }
}

TEST_F(VaryingBits, CountADifferenceBetweenTheSides) {
  // Neither side varies by itself.
  std::vector<uint64_t> const left(100, 0x10);
  std::vector<uint64_t> const right(1000, 0x90);
  KeyBits const bits = found_bits(queue(), left, right, 4);
  EXPECT_EQ(bits.begin, 7);
  EXPECT_EQ(bits.end, 8);
  expect_bits(queue(), left, right, 8);
}

TEST_F(VaryingBits, EqualKeysStillHaveOneBit) {
  for (uint64_t key : {uint64_t{0}, uint64_t{12345}, uint64_t{0xffffffff}}) {
    for (int32_t width : {4, 8}) {
      std::vector<uint64_t> const keys(777, key);
      KeyBits const bits = found_bits(queue(), keys, keys, width);
      EXPECT_EQ(bits.begin, 0);
      EXPECT_EQ(bits.end, 1);
    }
  }
}

TEST_F(VaryingBits, AnEmptySideSaysNothing) {
  for (int32_t width : {4, 8}) {
    std::vector<uint64_t> const keys = {0x30, 0x50, 0x70};
    expect_bits(queue(), {}, keys, width);
    expect_bits(queue(), keys, {}, width);
    KeyBits const bits = found_bits(queue(), {}, {}, width);
    EXPECT_EQ(bits.begin, 0);
    EXPECT_EQ(bits.end, 1);
  }
}

// Large (6 MB): more tiles than resident blocks, so that every block takes several.
TEST_F(VaryingBits, AreFoundInTheLastOfManyTiles) {
  std::vector<uint64_t> keys(1500001, 0x40);
  keys.back() = 0x40 | 1U << 29;
  expect_bits(queue(), keys, {}, 4);
}

}  // namespace
}  // namespace gpujoin::tests
