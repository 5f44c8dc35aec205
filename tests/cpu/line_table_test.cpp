// line_table_test.cpp: rows of unique keys by lines, against a map of them.
#include "src/cpu/line_table.hpp"

#include <gtest/gtest.h>

#include <limits>
#include <memory>
#include <random>
#include <span>
#include <unordered_map>
#include <vector>

#include "src/cpu/row_layout.hpp"
#include "tests/cpu/join_tables.hpp"

namespace gpujoin::test {
namespace {

constexpr uint32_t kRadixBits = 4;

template <typename Key>
struct Lines {
  OwnQueue queue = cpu_queue(4);
  std::unique_ptr<const cpu::LineTable<Key>> table;

  explicit Lines(const std::vector<Key>& keys, uint32_t radix_bits = kRadixBits) {
    cpu::Workers workers(queue);
    columns::Relation relation;
    columns::ColumnView& key = relation.columns.emplace_back();
    key.data = keys.data();
    key.width = sizeof(Key);
    relation.rows = static_cast<int64_t>(keys.size());
    cpu::PartitionedRows rows;
    rows.layout = cpu::layout_rows(relation, key, {}, true, plan::Gather::kUntransformed);
    rows.input_rows = keys.size();
    rows.radix_bits = radix_bits;
    cpu::partition_rows(queue, workers, std::span(&rows, 1));
    table = cpu::LineTable<Key>::make(queue, workers, rows);
  }

  // -1: none.
  int64_t row_of(Key key) const {
    auto const& line = table->line_of(key);
    auto found = line.find(key);
    if (found.mask == 0 && line.goes_on != 0) found = table->find_further(key);
    return found.mask == 0 ? -1 : static_cast<int64_t>(found.row);
  }
};

template <typename Key>
void expect_rows(const std::vector<Key>& keys, uint32_t radix_bits = kRadixBits) {
  Lines<Key> const lines(keys, radix_bits);
  ASSERT_NE(lines.table, nullptr);
  std::unordered_map<Key, int64_t> rows;
  for (size_t row = 0; row < keys.size(); ++row) rows[keys[row]] = static_cast<int64_t>(row);
  for (auto const& [key, row] : rows) ASSERT_EQ(lines.row_of(key), row) << key;
  std::mt19937_64 random(3);
  for (uint64_t i = 0; i < 200000; ++i) {
    auto const key = static_cast<Key>(i % 2 == 0 ? i / 2 : random());
    auto const there = rows.find(key);
    ASSERT_EQ(lines.row_of(key), there == rows.end() ? -1 : there->second) << key;
  }
}

template <typename Key>
std::vector<Key> random_keys(size_t count, uint64_t seed) {
  std::mt19937_64 random(seed);
  std::unordered_map<Key, bool> seen;
  std::vector<Key> keys;
  while (keys.size() < count) {
    auto const key = static_cast<Key>(random());
    if (seen.emplace(key, true).second) keys.push_back(key);
  }
  return keys;
}

template <typename Key>
void expect_rows_of_all_sorts() {
  expect_rows(random_keys<Key>(100000, 1));
  expect_rows(random_keys<Key>(1000, 2), 1);
  expect_rows(std::vector<Key>{0});
  expect_rows(std::vector<Key>{std::numeric_limits<Key>::max(), 1}, 8);
  std::vector<Key> keys;
  for (Key key = 0; key < 50000; ++key) keys.push_back(key * 4096);
  expect_rows(keys);
}

TEST(LineTable, HasTheRowsOfItsKeysAndNoOthers) {
  expect_rows_of_all_sorts<uint32_t>();
  expect_rows_of_all_sorts<uint64_t>();
}

// Keys whose hashes come one after the other, so that all belong into one line.
std::vector<uint32_t> crowded(uint32_t count) {
  uint32_t inverse = 1;
  for (int i = 0; i < 5; ++i) inverse *= 2 - cpu::hash_of(1U) * inverse;
  std::vector<uint32_t> keys = random_keys<uint32_t>(100000, 4);
  for (uint32_t i = 0; i < count; ++i) {
    uint32_t const key = (0x30000000U + i) * inverse;
    keys.push_back(key ^ key >> 16);
    EXPECT_EQ(cpu::hash_of(keys.back()), 0x30000000U + i);
  }
  return keys;
}

TEST(LineTable, GoesOnWhereALineIsFull) {
  expect_rows(crowded(25));
  EXPECT_EQ(Lines(crowded(300)).table, nullptr);
}

TEST(LineTable, IsNotOfKeysThatComeTwice) {
  auto keys = random_keys<uint64_t>(100000, 5);
  keys.back() = keys[7];
  EXPECT_EQ(Lines(keys).table, nullptr);
  EXPECT_EQ(Lines(std::vector<uint64_t>(5000, 9)).table, nullptr);
  EXPECT_EQ(Lines(std::vector<uint64_t>{}).table, nullptr);
}

}  // namespace
}  // namespace gpujoin::test
