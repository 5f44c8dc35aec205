#include "src/columns/validity_bits.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <random>
#include <vector>

namespace gpujoin::columns {
namespace {

bool bit(const uint8_t* bits, int64_t at) { return (bits[at / 8] >> (at % 8) & 1) != 0; }

// Random bits in a heap block of exactly the bytes that hold them, so that a sanitizer sees a read
// of one more.
std::unique_ptr<uint8_t[]> random_bits(int64_t count, unsigned seed) {
  std::mt19937 random(seed);
  auto bits = std::make_unique<uint8_t[]>(bitmap_bytes(count));
  for (uint64_t i = 0; i < bitmap_bytes(count); ++i) bits[i] = static_cast<uint8_t>(random());
  return bits;
}

TEST(ValidityBits, SizesAreWholeBytesAndWords) {
  EXPECT_EQ(bitmap_bytes(0), 0u);
  EXPECT_EQ(bitmap_bytes(1), 1u);
  EXPECT_EQ(bitmap_bytes(8), 1u);
  EXPECT_EQ(bitmap_bytes(9), 2u);
  EXPECT_EQ(bitmap_words_bytes(0), 0u);
  EXPECT_EQ(bitmap_words_bytes(1), 4u);
  EXPECT_EQ(bitmap_words_bytes(32), 4u);
  EXPECT_EQ(bitmap_words_bytes(33), 8u);
}

TEST(ValidityBits, AreCountedAndRebasedFromAnyBitOn) {
  for (int64_t const rows : {0, 1, 7, 8, 9, 31, 32, 33, 63, 64, 65, 71, 72, 73, 200}) {
    for (int64_t first = 0; first < 20; ++first) {
      auto const bits = random_bits(first + rows, static_cast<unsigned>(rows * 100 + first));
      int64_t nulls = 0;
      for (int64_t row = 0; row < rows; ++row) nulls += bit(bits.get(), first + row) ? 0 : 1;
      EXPECT_EQ(count_nulls(bits.get(), first, rows), nulls) << rows << " from " << first;

      std::vector<uint8_t> const moved = rebased(bits.get(), first, rows);
      ASSERT_EQ(moved.size(), bitmap_words_bytes(rows));
      for (int64_t row = 0; row < static_cast<int64_t>(moved.size()) * 8; ++row) {
        bool const expected = row < rows && bit(bits.get(), first + row);
        ASSERT_EQ(bit(moved.data(), row), expected) << rows << " from " << first << ": " << row;
      }
    }
  }
}

TEST(ValidityBits, AllValidEndsWithTheLastRow) {
  for (int64_t const rows : {0, 1, 8, 31, 32, 33, 100}) {
    std::vector<uint8_t> const bits = all_valid(rows);
    ASSERT_EQ(bits.size(), bitmap_words_bytes(rows));
    for (int64_t row = 0; row < static_cast<int64_t>(bits.size()) * 8; ++row) {
      EXPECT_EQ(bit(bits.data(), row), row < rows);
    }
    EXPECT_EQ(count_nulls(bits.data(), 0, rows), 0);
  }
}

}  // namespace
}  // namespace gpujoin::columns
