// partition_table_test.cpp: the form that a table takes, and that a lookup finds all of a key's
// entries and no others, whatever the form.
#include "src/cpu/partition_table.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <random>
#include <vector>

#include "tests/cpu/join_tables.hpp"

namespace gpujoin::test {
namespace {

template <typename Key>
class PartitionTableOf : public testing::Test {
 protected:
  using Entry = cpu::Entry<Key>;

  // Of one partition, whose rows are entries: a key and its number.
  void build(const std::vector<Key>& keys, bool distinct = false) {
    rows_.clear();
    for (size_t i = 0; i < keys.size(); ++i) rows_.push_back({keys[i], static_cast<Key>(i)});
    base::Queue& queue = queue_;
    table_.build(queue.host_pool, reinterpret_cast<const std::byte*>(rows_.data()), sizeof(Entry),
                 static_cast<uint32_t>(rows_.size()), 0, distinct);
  }

  std::vector<Key> found(Key key) const {
    std::vector<Key> rests;
    table_.visit(key, [&](const Entry* first, const Entry* last) {
      for (; first != last; ++first) {
        if (first->key == key) rests.push_back(first->rest);
      }
    });
    std::sort(rests.begin(), rests.end());
    return rests;
  }

  // All entries of the keys, and nothing of keys beside them.
  void expect_all_found() {
    std::map<Key, std::vector<Key>> expected;
    for (Entry const& row : rows_) expected[row.key].push_back(row.rest);
    for (auto const& [key, rests] : expected) {
      ASSERT_EQ(found(key), rests) << +key;
      for (Key const other : {Key(key - 1), Key(key + 1), Key(~key)}) {
        ASSERT_EQ(found(other).empty(), expected.count(other) == 0) << +other;
      }
    }
    EXPECT_EQ(found(0).empty(), expected.count(0) == 0);
  }

  cpu::Form form() const { return table_.view().form; }

  static std::vector<Key> dense(size_t rows, Key first) {
    std::vector<Key> keys(rows);
    std::iota(keys.begin(), keys.end(), first);
    return keys;
  }
  static std::vector<Key> random(size_t rows, uint64_t seed) {
    std::mt19937_64 draw(seed);
    std::vector<Key> keys(rows);
    for (Key& key : keys) key = static_cast<Key>(draw());
    std::sort(keys.begin(), keys.end());
    keys.erase(std::unique(keys.begin(), keys.end()), keys.end());
    std::shuffle(keys.begin(), keys.end(), draw);
    return keys;
  }

  OwnQueue queue_ = cpu_queue(1);
  std::vector<Entry> rows_;
  cpu::PartitionTable<Key> table_;
};

using Widths = testing::Types<uint32_t, uint64_t>;
TYPED_TEST_SUITE(PartitionTableOf, Widths);

TYPED_TEST(PartitionTableOf, DenseKeysHaveAPlaceEach) {
  for (size_t const rows : {1, 2, 3, 100, 1000, 1024, 8192, 65536}) {
    for (int const first : {0, 1, 12345}) {
      this->build(this->dense(rows, static_cast<TypeParam>(first)));
      EXPECT_EQ(this->form(), cpu::Form::kOnePlace) << rows << " from " << first;
      this->expect_all_found();
    }
  }
}

// Of these keys; others may have the bad luck to make groups.
TYPED_TEST(PartitionTableOf, UniqueKeysHaveOneOfTwoPlaces) {
  for (size_t const rows : {300, 900, 1024, 5000, 30000, 65536}) {
    auto keys = this->random(rows, rows);
    keys.push_back(0);
    this->build(keys);
    EXPECT_EQ(this->form(), cpu::Form::kTwoPlaces) << rows;
    this->expect_all_found();
  }
}

TYPED_TEST(PartitionTableOf, AKeyThatComesAgainMakesGroups) {
  auto keys = this->random(5000, 7);
  for (TypeParam const again : {TypeParam{0}, keys[4], keys[2500], keys[4999]}) {
    auto with_twins = keys;
    with_twins.push_back(again);
    with_twins.push_back(again);
    this->build(with_twins);
    EXPECT_EQ(this->form(), cpu::Form::kGroups);
    this->expect_all_found();
    this->build(with_twins, true);
    EXPECT_EQ(this->form(), cpu::Form::kTwoPlaces);
    EXPECT_EQ(this->found(again).size(), 1U);
  }
  std::vector<TypeParam> const same(200, 5);  // more than are compared one by one
  this->build(same);
  EXPECT_EQ(this->form(), cpu::Form::kGroups);
  this->expect_all_found();
}

// What someone would send who knows the factors.
TYPED_TEST(PartitionTableOf, KeysWithTheSamePlacesMakeGroups) {
  constexpr size_t kRows = 32;  // 2^6 places
  std::vector<TypeParam> keys;
  for (TypeParam key = 1; keys.size() < kRows; ++key) {
    cpu::BucketOf const bucket_of(0, 6);
    if (bucket_of(cpu::hash_of(key)) < 2 && cpu::second_place_of(key, 6) < 2) keys.push_back(key);
  }
  this->build(keys);
  EXPECT_EQ(this->form(), cpu::Form::kGroups);
  this->expect_all_found();
}

// Keys that are the edges of a graph among the places: a path whose places are all taken, and pairs
// of which one takes a place, and the other has that and one of the path, where each entry gives
// way to the next, until it comes back. All would find a place at last.
TYPED_TEST(PartitionTableOf, KeysThatMoveLongPathsMakeGroups) {
  using Key = TypeParam;
  constexpr uint32_t kBits = 14;
  constexpr size_t kRows = 6000;
  constexpr size_t kPath = 235;
  constexpr int kWidth = 8 * sizeof(Key);
  auto const factor = static_cast<Key>(sizeof(Key) == 4 ? 0x9E3A75A9U : 0x9E3779B97F4A7C15U);
  Key inverse = factor;
  for (int i = 0; i < 6; ++i) inverse *= 2 - factor * inverse;
  std::mt19937_64 draw(5);
  std::vector<bool> used(size_t{1} << kBits, false);
  std::vector<bool> on_path(size_t{1} << kBits, false);
  used[0] = used[1] = on_path[1] = true;
  std::vector<Key> keys;
  // A key whose first place it is, and whose second is of the path, or one that no key has. Answers
  // that.
  auto const add = [&](uint32_t place, bool to_path) {
    for (;;) {
      Key const product = static_cast<Key>(Key{place} << (kWidth - kBits)) |
                          static_cast<Key>(static_cast<Key>(draw()) >> kBits);
      Key key = product * inverse;
      key ^= key >> (kWidth / 2);
      uint32_t const other = cpu::second_place_of(key, kBits);
      if (to_path ? !on_path[other] : used[other]) continue;
      used[other] = true;
      keys.push_back(key);
      return other;
    }
  };
  uint32_t end = 1;
  while (keys.size() < kPath) on_path[end = add(end, false)] = true;
  add(end, true);
  for (uint32_t place = 2; keys.size() < kRows; ++place) {
    if (used[place]) continue;
    used[place] = true;
    add(place, false);
    add(place, true);
  }
  cpu::BucketOf const bucket_of(0, kBits);
  ASSERT_EQ(bucket_of(cpu::hash_of(keys.front())), 1U);
  this->build(keys);
  EXPECT_EQ(this->form(), cpu::Form::kGroups);
  this->expect_all_found();
}

// What keys of a table before needed says nothing of those of the next.
TYPED_TEST(PartitionTableOf, FormsComeInAnyOrder) {
  for (size_t const rows : {4000U, 7000U, 300U}) {
    this->build(this->random(rows, rows));
    EXPECT_EQ(this->form(), cpu::Form::kTwoPlaces);
    this->expect_all_found();
    this->build(this->dense(rows, 7));
    EXPECT_EQ(this->form(), cpu::Form::kOnePlace);
    this->expect_all_found();
    std::vector<TypeParam> twice = this->random(rows, rows + 1);
    twice.push_back(twice.front());
    this->build(twice);
    EXPECT_EQ(this->form(), cpu::Form::kGroups);
    this->expect_all_found();
  }
}

// A set keeps one entry a key, of however many rows.
TYPED_TEST(PartitionTableOf, SetsOfManyRowsHaveFewEntries) {
  std::vector<TypeParam> keys(300'000);
  for (size_t i = 0; i < keys.size(); ++i) keys[i] = static_cast<TypeParam>(i % 1000 * 0x9e3779b9U);
  this->build(keys, true);
  EXPECT_NE(this->form(), cpu::Form::kGroups);
  for (size_t i = 0; i < 1000; ++i) EXPECT_EQ(this->found(keys[i]).size(), 1U);
  EXPECT_TRUE(this->found(1).empty());
}

// One table after another takes the room of the last, in another form.
TYPED_TEST(PartitionTableOf, RoomIsTakenAgain) {
  for (int i = 0; i < 3; ++i) {
    this->build(this->random(40000, 11));
    this->expect_all_found();
    this->build(std::vector<TypeParam>(3000, 9));
    this->expect_all_found();
    this->build(this->dense(10, 5));
    this->expect_all_found();
  }
}

}  // namespace
}  // namespace gpujoin::test
