// key_hash_test.cpp: keys that compare equal hash alike, for every pair of types that compares;
// others do not, and spread evenly.
#include "src/pieces/key_hash.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <bit>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <limits>
#include <list>
#include <random>
#include <set>

#include "src/keys/derived_key.hpp"
#include "src/keys/value_kinds.hpp"
#include "tests/pieces/all_key_columns.hpp"

namespace gpujoin::tests {
namespace {

using columns::ColumnView;
using columns::Layout;
using columns::Relation;

struct Hashes {
  std::vector<uint64_t> hashes;
  std::vector<uint8_t> has_null;
};

Hashes hash(const std::vector<ColumnView>& columns, int64_t rows, uint64_t seed = 17,
            std::vector<int32_t> flags = {}, int64_t first = 0) {
  Relation relation;
  relation.rows = rows;
  relation.columns = columns;
  std::vector<int32_t> keys;
  for (size_t i = 0; i < columns.size(); ++i) keys.push_back(static_cast<int32_t>(i));
  auto const count = static_cast<size_t>(rows - first);
  Hashes made = {std::vector<uint64_t>(count), std::vector<uint8_t>(count, 7)};
  pieces::hash_keys(relation, keys, flags, first, rows - first, seed, made.hashes.data(),
                    made.has_null.data());
  return made;
}

template <typename Value>
ColumnView column_of(const std::vector<Value>& values, gpujoin_type type) {
  ColumnView view;
  view.type = type;
  view.width = sizeof(Value);
  view.layout = columns::layout_of(type);
  view.arrow_format = columns::arrow_format_of(type);
  view.data = values.data();
  return view;
}

// ---- What is equal hashes alike ----

// For a value's text the hash in which all rows with it agree.
std::map<std::string, uint64_t> hash_of_texts(const KeyColumn& column, uint64_t seed) {
  Hashes const made = hash({column.view}, column.rows(), seed, {GPUJOIN_KEY_NULL_EQUAL});
  std::map<std::string, uint64_t> found;
  for (size_t row = 0; row < column.texts.size(); ++row) {
    auto const [place, is_new] = found.emplace(column.texts[row], made.hashes[row]);
    EXPECT_EQ(place->second, made.hashes[row])
        << column.view.arrow_format << ": rows of " << column.texts[row];
  }
  return found;
}

TEST(KeyHash, EqualValuesOfAnyTwoTypesThatCompareHashAlike) {
  std::vector<gpujoin_type> seen;
  for (const KeyColumn& column : all_columns()) seen.push_back(column.view.type);
  for (gpujoin_type type = 1; columns::width_of(type) != 0 || columns::name_of(type)[0] != 'u';
       ++type) {
    Layout const layout = columns::layout_of(type);
    if (layout == Layout::kViews || layout == Layout::kIndices || layout == Layout::kRuns) continue;
    bool const is_fixed = type == GPUJOIN_TYPE_FIXED_BINARY;
    EXPECT_TRUE(is_fixed || std::count(seen.begin(), seen.end(), type) > 0)
        << columns::name_of(type);
  }
  for (uint64_t seed : {uint64_t{0}, uint64_t{0x1234567890abcdef}}) {
    std::vector<std::map<std::string, uint64_t>> hashes;
    for (const KeyColumn& column : all_columns()) hashes.push_back(hash_of_texts(column, seed));
    int pairs = 0;
    size_t left_at = 0;
    for (const KeyColumn& left : all_columns()) {
      auto const& left_hashes = hashes[left_at++];
      size_t right_at = 0;
      for (const KeyColumn& right : all_columns()) {
        auto const& right_hashes = hashes[right_at++];
        bool const compares = keys::compare_by(left.view, right.view, 0).has_value();
        bool const has_null =
            left.view.layout == Layout::kNulls || right.view.layout == Layout::kNulls;
        size_t shared = 0;
        for (auto const& [text, hashed] : left_hashes) {
          auto const other = right_hashes.find(text);
          if (other == right_hashes.end()) continue;
          ++shared;
          ASSERT_EQ(hashed, other->second)
              << left.view.arrow_format << " and " << right.view.arrow_format << ": " << text;
        }
        if (!compares || has_null) continue;
        ++pairs;
        std::string const types = left.view.arrow_format + " and " + right.view.arrow_format;
        // Fixed widths that differ have no value in common, and scales 76 + 76 apart have 0.
        bool const are_fixed = keys::is_fixed_binary(left.view) &&
                               keys::is_fixed_binary(right.view) &&
                               left.view.width != right.view.width;
        EXPECT_EQ(shared == 0, are_fixed) << types;
      }
    }
    // Squares of 29 exact numbers, 3 floats, 6 dates, 4 with zones, 4 times, 4 durations, 2 texts,
    // 9 binaries, and of 4 types that compare with themselves.
    EXPECT_EQ(pairs, 1023);
  }
}

TEST(KeyHash, OtherValuesHashOtherwise) {
  std::map<std::string, uint64_t> numbers;
  std::map<uint64_t, std::string> texts;
  for (const KeyColumn& column : all_columns()) {
    for (auto const& [text, hashed] : hash_of_texts(column, 99)) {
      if (text.starts_with("number ")) numbers[text] = hashed;
    }
  }
  EXPECT_GT(numbers.size(), 8000u);
  for (auto const& [text, hashed] : numbers) {
    auto const [place, is_new] = texts.emplace(hashed, text);
    EXPECT_TRUE(is_new) << text << " and " << place->second;
  }
}

// ---- NULLs ----

TEST(KeyHash, NullHashesAlikeWhateverTheTypeAndLiesUnderIt) {
  Hashes const of_null_type = hash({KeyColumn("n").view}, 1, 5, {GPUJOIN_KEY_NULL_EQUAL});
  for (KeyColumn& column : all_columns()) {
    if (column.view.layout == Layout::kNulls) continue;
    Hashes const without = hash({column.view}, column.rows(), 5);
    for (int64_t offset : {0, 3}) {
      std::vector<uint8_t> bits(static_cast<size_t>(column.rows()) / 8 + 2, 0xff);
      auto const is_null = [&](size_t row) { return row % 5 == 1 || row / 64 == 2; };
      for (size_t row = 0; row < column.texts.size(); ++row) {
        size_t const at = row + static_cast<size_t>(offset);
        if (is_null(row)) bits[at / 8] = static_cast<uint8_t>(bits[at / 8] & ~(1 << at % 8));
      }
      ColumnView view = column.view;
      view.validity = bits.data();
      view.validity_bit_offset = offset;
      for (int32_t flags : {0, GPUJOIN_KEY_NULL_EQUAL}) {
        for (int64_t first : {0, 1, 64, 130}) {
          if (first >= column.rows()) continue;
          Hashes const made = hash({view}, column.rows(), 5, {flags}, first);
          for (size_t i = 0; i < made.hashes.size(); ++i) {
            size_t const row = i + static_cast<size_t>(first);
            uint64_t const expected = is_null(row) ? of_null_type.hashes[0] : without.hashes[row];
            ASSERT_EQ(made.hashes[i], expected) << column.view.arrow_format << " row " << row;
            ASSERT_EQ(made.has_null[i], is_null(row) && flags == 0 ? 1 : 0);
          }
        }
      }
    }
  }
}

TEST(KeyHash, ColumnsOfTypeNullAreNull) {
  EXPECT_EQ(hash({KeyColumn("n").view}, 3).has_null, std::vector<uint8_t>(3, 1));
  EXPECT_EQ(hash({KeyColumn("n").view}, 3, 1, {GPUJOIN_KEY_NULL_EQUAL}).has_null,
            std::vector<uint8_t>(3, 0));
}

// ---- Several keys ----

TEST(KeyHash, SeveralKeysAreMixedInOrder) {
  std::vector<int32_t> const ones = {1, 2, 1, 1, 0, 2};
  std::vector<int64_t> const others = {2, 1, 2, 1, 3, 2};
  ColumnView const one = column_of(ones, GPUJOIN_TYPE_INT32);
  ColumnView const other = column_of(others, GPUJOIN_TYPE_INT64);
  Hashes const both = hash({one, other}, 6);
  EXPECT_EQ(both.hashes[0], both.hashes[2]);
  EXPECT_EQ(std::set<uint64_t>(both.hashes.begin(), both.hashes.end()).size(), 5u);
  EXPECT_EQ(hash({other, one}, 6).hashes[0], both.hashes[1]);
  EXPECT_NE(hash({one, one}, 6).hashes[0], hash({one}, 6).hashes[0]);
}

TEST(KeyHash, OneNullOfSeveralKeysIsEnough) {
  std::vector<int32_t> const values = {1, 2, 3, 4};
  ColumnView plain = column_of(values, GPUJOIN_TYPE_INT32);
  uint8_t const one_bits = 0b1101;
  uint8_t const other_bits = 0b1011;
  ColumnView one = plain;
  one.validity = &one_bits;
  ColumnView other = plain;
  other.validity = &other_bits;
  using Marks = std::vector<uint8_t>;
  EXPECT_EQ(hash({one, other}, 4).has_null, (Marks{0, 1, 1, 0}));
  EXPECT_EQ(hash({one, other}, 4, 1, {0, GPUJOIN_KEY_NULL_EQUAL}).has_null, (Marks{0, 1, 0, 0}));
  EXPECT_EQ(hash({plain, other}, 4).has_null, (Marks{0, 0, 1, 0}));
}

TEST(KeyHash, PartsOfARelationHashAsAllOfIt) {
  std::vector<int32_t> values(5000);
  for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<int32_t>(i * i);
  ColumnView const view = column_of(values, GPUJOIN_TYPE_INT32);
  Hashes const all = hash({view, view}, 5000);
  for (int64_t first : {1, 511, 512, 4999}) {
    Hashes const part = hash({view, view}, 5000, 17, {}, first);
    EXPECT_TRUE(std::equal(part.hashes.begin(), part.hashes.end(), all.hashes.begin() + first));
  }
}

// ---- How hashes spread ----

// The most by which one of 64 partitions differs from its share.
double unevenness(const std::vector<uint64_t>& hashes, int shift) {
  std::array<double, 64> counts{};
  for (uint64_t hashed : hashes) ++counts[hashed >> shift & 63];
  double most = 0;
  double const share = static_cast<double>(hashes.size()) / 64;
  for (double count : counts) most = std::max(most, std::abs(count / share - 1));
  return most;
}

TEST(KeyHash, NumbersInARowFillPartitionsEvenly) {
  std::vector<int32_t> few(1 << 16);
  for (size_t i = 0; i < few.size(); ++i) few[i] = static_cast<int32_t>(i);
  for (int shift : {0, 6, 58}) {
    EXPECT_LT(unevenness(hash({column_of(few, GPUJOIN_TYPE_INT32)}, 1 << 16).hashes, shift), 0.1);
  }
  for (uint64_t seed = 0; seed < 8; ++seed) {
    for (uint64_t step : {uint64_t{1}, uint64_t{64}, uint64_t{1} << 32, uint64_t{86400000000000}}) {
      std::vector<int64_t> values(1 << 18);
      for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<int64_t>(i * step);
      Hashes const made = hash({column_of(values, GPUJOIN_TYPE_INT64)}, 1 << 18, seed);
      for (int shift : {0, 6, 20, 52, 58}) {
        EXPECT_LT(unevenness(made.hashes, shift), 0.08) << step << " shift " << shift;
      }
    }
  }
}

TEST(KeyHash, AnotherSeedSplitsAPartition) {
  std::vector<int32_t> values(1 << 20);
  for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<int32_t>(i);
  Hashes const whole = hash({column_of(values, GPUJOIN_TYPE_INT32)}, 1 << 20, 1);
  for (int shift : {0, 6, 58}) {
    std::vector<int32_t> together;
    for (size_t i = 0; i < values.size(); ++i) {
      if ((whole.hashes[i] >> shift & 15) == 5) together.push_back(values[i]);
    }
    auto const rows = static_cast<int64_t>(together.size());
    ColumnView const part = column_of(together, GPUJOIN_TYPE_INT32);
    EXPECT_LT(unevenness(hash({part}, rows, 2).hashes, shift), 0.12);
    EXPECT_LT(unevenness(hash({part, part}, rows, 2).hashes, shift), 0.12);
  }
}

// ---- How long it takes: --gtest_also_run_disabled_tests ----

TEST(KeyHash, DISABLED_Speed) {
  constexpr int64_t kRows = 1 << 20;
  std::mt19937_64 random(1);
  auto const measure = [&](const char* name, const std::vector<ColumnView>& columns) {
    Relation relation;
    relation.rows = kRows;
    relation.columns = columns;
    std::vector<int32_t> keys(columns.size());
    for (size_t i = 0; i < keys.size(); ++i) keys[i] = static_cast<int32_t>(i);
    std::vector<uint64_t> hashes(kRows);
    std::vector<uint8_t> has_null(kRows);
    double best = 1e9;
    for (int i = 0; i < 9; ++i) {
      auto const begin = std::chrono::steady_clock::now();
      pieces::hash_keys(relation, keys, {}, 0, kRows, 3, hashes.data(), has_null.data());
      std::chrono::duration<double, std::nano> const took =
          std::chrono::steady_clock::now() - begin;
      best = std::min(best, took.count() / kRows);
    }
    std::printf("%-28s %6.2f ns a row\n", name, best);
  };
  std::vector<uint8_t> bytes(32 * kRows);
  for (uint8_t& byte : bytes) byte = static_cast<uint8_t>(random());
  std::vector<uint8_t> few_nulls(kRows / 8, 0xff);
  for (size_t i = 0; i < few_nulls.size(); i += 3) few_nulls[i] = 0xfb;
  auto const of = [&](const char* format) {
    KeyColumn column(format);
    column.view.data = bytes.data();
    return column.view;
  };
  for (const char* format : {"c", "i", "l", "L", "f", "g", "tdD", "tsu:", "ttn", "tsn:"}) {
    measure(format, {of(format)});
  }
  ColumnView with_nulls = of("i");
  with_nulls.validity = few_nulls.data();
  measure("i with NULLs", {with_nulls});
  measure("i, l", {of("i"), of("l")});
  measure("d:9,2,32", {of("d:9,2,32")});
  measure("d:18,2,64", {of("d:18,2,64")});
  measure("d:38,2 of 16 bytes", {of("d:38,2")});
  measure("d:76,2,256 of 32 bytes", {of("d:76,2,256")});
  measure("w:16", {of("w:16")});
  std::vector<int64_t> prices(2 * kRows);
  for (size_t i = 0; i < kRows; ++i) prices[2 * i] = static_cast<int64_t>(random() % 10000000);
  ColumnView money = of("d:38,2");
  money.data = prices.data();
  measure("d:38,2 of prices", {money});
  ColumnView whole = of("d:38,0");
  whole.data = prices.data();
  measure("d:38,0 of prices", {whole});
  for (size_t length : {4u, 12u, 28u}) {
    KeyColumn text("u");
    for (int64_t row = 0; row < kRows; ++row) {
      text.add("", bytes.data() + row, length / 2 + random() % (length + 1));
    }
    measure(("u of " + std::to_string(length) + " bytes").c_str(), {text.finished()});
  }
}

}  // namespace
}  // namespace gpujoin::tests
