// bytes_hash_test.cpp: byte strings are loaded as they are wherever they lie, and hash as the
// polynomial does that the head of kernels/keys/bytes_hash.hpp describes.
#include "src/keys/bytes_hash.hpp"

#include <gtest/gtest.h>

#include <set>

#include "tests/keys/byte_values.hpp"

namespace gpujoin::tests {
namespace {

using kernels::BytesHash;
using kernels::kHashPrime;
using kernels::LoadableBytes;

LoadableBytes loadable(const std::string& bytes) {
  auto const* const first = reinterpret_cast<const uint8_t*>(bytes.data());
  return {first, bytes.size(), first, first + bytes.size()};
}

// Bit by bit, without a product.
uint64_t times(uint64_t one, uint64_t other) {
  uint64_t product = 0;
  for (int bit = 60; bit >= 0; --bit) {
    product = product * 2 % kHashPrime;
    if ((other >> bit & 1) != 0) product = (product + one) % kHashPrime;
  }
  return product;
}

uint64_t sum_of(const BytesHash& hash, const std::string& value) {
  uint64_t sum = value.size();
  for (size_t at = 0; at < value.size(); at += 7) {
    uint64_t piece = 0;
    for (size_t i = 0; i < 7 && at + i < value.size(); ++i) {
      piece += uint64_t{static_cast<uint8_t>(value[at + i])} << (8 * i);
    }
    sum = (times(sum, hash.point) + piece) % kHashPrime;
  }
  return (times(sum, hash.point) + hash.start) % kHashPrime;
}

uint64_t mixed(uint64_t sum) {
  for (uint64_t const factor : {0xff51afd7ed558ccdULL, 0xc4ceb9fe1a85ec53ULL}) {
    sum = (sum ^ sum >> 32) * factor;
  }
  return sum ^ sum >> 32;
}

TEST(BytesHash, LoadsBytesWhereverTheyLie) {
  std::mt19937_64 random(1);
  for (size_t const size : {1, 2, 7, 8, 9, 15, 16, 17, 24, 40}) {
    // Exactly so many bytes, so that a sanitizer sees what is read beyond them.
    std::vector<uint8_t> bytes(size);
    for (uint8_t& byte : bytes) byte = static_cast<uint8_t>(random());
    for (size_t begin = 0; begin < size; ++begin) {
      for (size_t count = 1; count <= std::min<size_t>(8, size - begin); ++count) {
        uint64_t expected = 0;
        std::memcpy(&expected, &bytes[begin], count);
        for (bool const are_alone : {false, true}) {
          LoadableBytes const value = {
              &bytes[begin], count, are_alone ? &bytes[begin] : bytes.data(),
              are_alone ? bytes.data() + begin + count : bytes.data() + size};
          EXPECT_EQ(kernels::load_bytes(value, 0, static_cast<uint32_t>(count)), expected)
              << size << " " << begin << " " << count;
        }
      }
    }
  }
}

TEST(BytesHash, EqualsBytesAsStringsDo) {
  Values const values = close_values_of_all_lengths();
  for (auto const& one : values) {
    for (auto const& other : values) {
      ASSERT_EQ(kernels::are_equal(loadable(*one), loadable(*other)), *one == *other)
          << one->size() << " and " << other->size() << " bytes";
    }
  }
}

TEST(BytesHash, IsThePolynomialOfAValueAtASecretPoint) {
  for (uint64_t const seed : {0ULL, 1ULL, 0x123456789abcdefULL}) {
    BytesHash const hash = keys::bytes_hash(seed, 0);
    EXPECT_LT(hash.point, kHashPrime);
    EXPECT_LT(hash.start, kHashPrime);
    for (auto const& value : close_values_of_all_lengths()) {
      ASSERT_EQ(hash.of(loadable(*value)), mixed(sum_of(hash, *value))) << value->size();
    }
  }
}

// Where sums fold most: numbers as large as they may be.
TEST(BytesHash, StaysBelowThePrime) {
  for (uint64_t const point : {uint64_t{0}, uint64_t{1}, kHashPrime - 2, kHashPrime - 1}) {
    BytesHash const hash = {point, kHashPrime - 1, 0};
    for (size_t const length : {0, 1, 7, 56, 1000, 1001}) {
      std::string const value(length, '\xff');
      EXPECT_EQ(hash.of(loadable(value)), mixed(sum_of(hash, value))) << point << " " << length;
    }
  }
}

TEST(BytesHash, OfAValueIsTheSameInEveryLayout) {
  BytesHash const hash = keys::bytes_hash(7, 0);
  Values const values = close_values_of_all_lengths();
  for (BytesLayout const layout : layouts_of_any_length()) {
    for (size_t const before : {0, 3}) {
      ByteColumn const column = byte_column(layout, values, before);
      for (size_t row = 0; row < values.size(); ++row) {
        ASSERT_EQ(hash.of(kernels::loadable_at(column.side().values, row)),
                  hash.of(loadable(*values[row])))
            << static_cast<int>(layout) << " " << row;
      }
    }
  }
}

TEST(BytesHash, DiffersBetweenValuesAndBetweenSeeds) {
  Values const values = close_values_of_all_lengths();
  std::set<std::string> distinct;
  std::set<uint64_t> hashes;
  for (auto const& value : values) {
    distinct.insert(*value);
    hashes.insert(keys::bytes_hash(1, 0).of(loadable(*value)));
    hashes.insert(keys::bytes_hash(2, 0).of(loadable(*value)));
  }
  EXPECT_EQ(hashes.size(), 2 * distinct.size());
  EXPECT_EQ(keys::bytes_hash(1, 0xf0).of(loadable("x")),
            keys::bytes_hash(1, 0).of(loadable("x")) | 0xf0);
}

// Text that counts up fills a table's places as evenly as chance does: of as many values as places
// 63 % of the places have one.
TEST(BytesHash, SpreadsTextThatCountsUp) {
  constexpr size_t kPlaces = 10000;
  BytesHash const hash = keys::bytes_hash(3, 0);
  std::set<uint64_t> places;
  std::set<uint32_t> tags;
  for (auto const& value : counted(100000, kPlaces)) {
    uint64_t const of_value = hash.of(loadable(*value));
    uint64_t const place = kernels::first_slot(of_value, kPlaces);
    ASSERT_LT(place, kPlaces);
    places.insert(place);
    tags.insert(static_cast<uint32_t>(of_value));
  }
  EXPECT_NEAR(static_cast<double>(places.size()), 0.632 * kPlaces, 0.02 * kPlaces);
  EXPECT_GE(tags.size(), kPlaces - 2);
}

TEST(BytesHash, FillsSlotsThatAreNotTakenForFreeOnes) {
  uint64_t const all = ~uint64_t{0};
  uint64_t const slot = kernels::filled_slot(all, 0xfffffffeU);
  EXPECT_NE(slot, kernels::kFreeSlot);
  EXPECT_EQ(kernels::row_of_slot(slot), 0xfffffffeU);
  EXPECT_TRUE(kernels::has_tag_of(slot, all));
  EXPECT_FALSE(kernels::has_tag_of(slot, all - 1));
  for (uint64_t const rows : {uint64_t{0}, uint64_t{1}, uint64_t{0xfffffffe}}) {
    uint64_t const slots = kernels::slots_for(rows);
    EXPECT_GT(slots, rows);
    EXPECT_EQ(kernels::first_slot(0, slots), 0U);
    EXPECT_EQ(kernels::first_slot(all, slots), slots - 1);
    EXPECT_EQ(kernels::slot_after(slots - 1, slots), 0U);
  }
}

TEST(BytesHash, GivesValuesThatAreAbsentNoRowsCode) {
  EXPECT_EQ(kernels::absent_code(0, 0), 0U);
  EXPECT_EQ(kernels::absent_code(0xfffffffeU, 0), 0xfffffffeU);
  EXPECT_EQ(kernels::absent_code(5, 100), 105U);
  EXPECT_EQ(kernels::absent_code(0xfffffffeU, 1), 0xffffffffU);
  EXPECT_EQ(kernels::absent_code(0xfffffffeU, 2), 2U);
  EXPECT_EQ(kernels::absent_code(7, 0xfffffffe), 0xffffffffU);
  EXPECT_EQ(kernels::absent_code(8, 0xfffffffe), 0xfffffffeU);
}

}  // namespace
}  // namespace gpujoin::tests
