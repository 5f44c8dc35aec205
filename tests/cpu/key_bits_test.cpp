// key_bits_test.cpp: keys as bits against a set of them.
#include "src/cpu/key_bits.hpp"

#include <gtest/gtest.h>

#include <limits>
#include <random>
#include <set>
#include <type_traits>
#include <utility>
#include <vector>

#include "tests/cpu/join_tables.hpp"
#include "tests/cpu/key_view.hpp"

namespace gpujoin::test {
namespace {

template <typename Key>
std::optional<cpu::KeyBits> bits_of(base::Queue& queue, const std::vector<Key>& keys,
                                    const std::vector<uint8_t>* validity = nullptr) {
  cpu::Workers workers(queue);
  return cpu::KeyBits::of_unique(queue, workers, view_of(keys, validity), keys.size(), true, false);
}

template <typename Key>
uint64_t row_of(const cpu::KeyBits& bits, Key key) {
  auto const looked_up = static_cast<std::make_unsigned_t<Key>>(key);
  std::make_unsigned_t<Key> row;
  EXPECT_TRUE(bits.has_all(&looked_up, 1, &row));
  bits.to_rows(&row, 1);
  return row;
}

template <typename Key>
void expect_keys_from(Key lowest) {
  using Bits = std::make_unsigned_t<Key>;
  auto const queue = cpu_queue(4, 0);
  std::mt19937_64 random(7);
  std::vector<Key> keys;
  std::vector<uint8_t> validity;
  std::set<Key> wanted;
  auto const number = [&](uint64_t i) { return static_cast<Key>(Bits(lowest) + Bits(i)); };
  for (uint64_t i = 0; i < 200000; ++i) {
    if (random() % 3 == 0) continue;
    if (keys.size() % 8 == 0) validity.push_back(0);
    bool const is_there = random() % 10 != 0;
    // Beneath a NULL lies a key that others have.
    keys.push_back(is_there ? number(i) : number(0));
    if (!is_there) continue;
    validity.back() |= static_cast<uint8_t>(1U << ((keys.size() - 1) % 8));
    wanted.insert(keys.back());
  }
  auto const bits = bits_of(queue, keys, &validity);
  ASSERT_TRUE(bits.has_value());
  for (uint64_t i = 0; i < 200100; ++i) {
    ASSERT_EQ(bits->has(static_cast<Bits>(number(i))), wanted.count(number(i)) == 1) << i;
  }
  for (size_t row = 0; row < keys.size(); ++row) {
    if ((validity[row / 8] >> (row % 8) & 1) == 0) continue;
    ASSERT_EQ(row_of(*bits, keys[row]), row);
  }
  for (uint64_t i = 1; i < 100; ++i) {
    Key const below = static_cast<Key>(Bits(lowest) - Bits(i));
    ASSERT_EQ(bits->has(static_cast<Bits>(below)), false) << i;
  }
  for (Key const key : {std::numeric_limits<Key>::min(), std::numeric_limits<Key>::max()}) {
    ASSERT_EQ(bits->has(static_cast<Bits>(key)), wanted.count(key) == 1);
  }
}

TEST(KeyBits, HaveTheKeysAndNoOthers) {
  expect_keys_from<int32_t>(0);
  expect_keys_from<int32_t>(-100000);
  expect_keys_from<int32_t>(std::numeric_limits<int32_t>::min() + 100);
  expect_keys_from<int32_t>(std::numeric_limits<int32_t>::max() - 200100);
  expect_keys_from<int64_t>(-5);
  expect_keys_from<int64_t>(int64_t{1} << 40);
  expect_keys_from<int64_t>(std::numeric_limits<int64_t>::min() + 100);
}

// Neither NULLs nor lists: their rows are told by the bits, until two change places.
template <typename Key>
void expect_rows_of_ascending_keys(Key lowest) {
  auto const queue = cpu_queue(4, 0);
  std::mt19937_64 random(11);
  std::vector<Key> keys;
  for (Key key = lowest; keys.size() < 200000; key += static_cast<Key>(1 + random() % 6)) {
    keys.push_back(key);
  }
  for (size_t const swapped : {size_t{0}, size_t{1}, size_t{65536}, keys.size() - 1}) {
    if (swapped != 0) std::swap(keys[swapped - 1], keys[swapped]);
    auto const bits = bits_of(queue, keys);
    ASSERT_TRUE(bits.has_value());
    for (size_t row = 0; row < keys.size(); ++row) ASSERT_EQ(row_of(*bits, keys[row]), row);
    if (swapped != 0) std::swap(keys[swapped - 1], keys[swapped]);
  }
  keys[100] = keys[99];
  EXPECT_FALSE(bits_of(queue, keys).has_value());
}

TEST(KeyBits, TellTheRowsOfKeysThatAscend) {
  expect_rows_of_ascending_keys<int32_t>(-300000);
  expect_rows_of_ascending_keys<int64_t>(int64_t{1} << 50);
}

TEST(KeyBits, AreNotOfKeysThatComeTwiceOrAreScattered) {
  auto const queue = cpu_queue(2, 0);
  std::vector<int32_t> keys(1000);
  for (size_t i = 0; i < keys.size(); ++i) keys[i] = static_cast<int32_t>(7 * i);
  EXPECT_TRUE(bits_of(queue, keys).has_value());
  keys[999] = keys[0];
  EXPECT_FALSE(bits_of(queue, keys).has_value());
  keys[999] = 8000;
  EXPECT_FALSE(bits_of(queue, keys).has_value());
  EXPECT_FALSE(bits_of(queue, std::vector<int64_t>{INT64_MIN, INT64_MAX}).has_value());
  EXPECT_FALSE(bits_of(queue, std::vector<int32_t>{}).has_value());
  std::vector<uint8_t> const none(125, 0);
  EXPECT_FALSE(bits_of(queue, keys, &none).has_value());
  EXPECT_EQ(queue->host_pool->in_use_bytes(), 0U);
}

}  // namespace
}  // namespace gpujoin::test
