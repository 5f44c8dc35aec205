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
#include "tests/pieces/key_columns.hpp"

namespace gpujoin::tests {
namespace {

using columns::ColumnView;
using columns::Layout;
using columns::Relation;

__extension__ typedef __int128 Moment;

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

// ---- Values of every kind ----

std::vector<Written> numbers() {
  std::vector<Written> made = {Written()};
  auto const add = [&](const std::string& digits, int32_t exponent) {
    made.emplace_back(false, digits, exponent);
    made.emplace_back(true, digits, exponent);
  };
  for (int value = 1; value <= 300; ++value) add(std::to_string(value), 0);
  for (const char* edge :
       {"32767",
        "32768",
        "65535",
        "2147483647",
        "2147483648",
        "4294967295",
        "4294967296",
        "999999999999999999",
        "1000000000000000001",
        "9223372036854775807",
        "9223372036854775808",
        "9223372036854775809",
        "9223372036854775810",
        "18446744073709551615",
        "18446744073709551610",
        "18446744073709551616",
        "10000000000000000000",
        "18000000000000000000",
        "170141183460469231731687303715884105727",
        "170141183460469231731687303715884105728",
        "340282366920938463463374607431768211456",
        "57896044618658097711785492504343953926634992332820282019728792003956564819967",
        "57896044618658097711785492504343953926634992332820282019728792003956564819968"}) {
    for (int32_t exponent : {0, -1, -2, -7, 1, 3}) add(edge, exponent);
  }
  for (int32_t exponent = -40; exponent <= 76; ++exponent) {
    for (const char* digits : {"1", "5", "25", "64", "1024", "625", "99"}) add(digits, exponent);
  }
  std::mt19937_64 random(3);
  for (int i = 0; i < 4000; ++i) {
    std::string digits;
    for (uint64_t left = 1 + random() % 76; left > 0; --left) {
      digits += static_cast<char>('0' + random() % 10);
    }
    add(digits, static_cast<int32_t>(random() % 90) - 45);
    add(digits.substr(0, 1 + random() % 9), static_cast<int32_t>(random() % 12) - 6);
  }
  return made;
}

std::vector<int64_t> whole_numbers(int64_t most) {
  std::vector<int64_t> made = {0, most, -most, most - 1, -most + 1};
  std::mt19937_64 random(5);
  for (int i = 0; i < 300; ++i) made.push_back(i - 150);
  for (int i = 0; i < 2000; ++i) {
    auto const value = static_cast<int64_t>(random() >> 1) >> (random() % 62);
    made.push_back(value % most);
    made.push_back(-(value % most));
  }
  return made;
}

std::string text_of(Moment value) {
  std::string digits;
  bool const is_negative = value < 0;
  for (; value != 0; value /= 10) {
    digits += static_cast<char>('0' + (is_negative ? -(value % 10) : value % 10));
  }
  std::reverse(digits.begin(), digits.end());
  return (is_negative ? "-" : "") + digits;
}

void add_moments(KeyColumn* column, const std::string& clock) {
  Moment const unit = keys::unit_of(column->view).nanoseconds;
  std::set<Moment> moments;
  for (int64_t nanoseconds : {int64_t{1}, int64_t{1000}, int64_t{1000000}, int64_t{1000000000},
                              int64_t{86400000000000}}) {
    bool const is_day = nanoseconds == 86400000000000;
    for (int64_t value : whole_numbers(is_day ? INT32_MAX : INT64_MAX)) {
      moments.insert(Moment{value} * nanoseconds);
    }
  }
  for (Moment moment : moments) {
    if (moment % unit != 0) continue;
    Moment const value = moment / unit;
    auto const fitting = static_cast<int64_t>(value);
    if (fitting != value) continue;
    if (column->view.width == 4) {
      auto const narrow = static_cast<int32_t>(fitting);
      if (narrow != fitting) continue;
      column->add(clock + text_of(moment), &narrow, 4);
    } else {
      column->add(clock + text_of(moment), &fitting, 8);
    }
  }
}

void add_floats(KeyColumn* column) {
  std::vector<double> values = {0.0, std::numeric_limits<double>::infinity(),
                                -std::numeric_limits<double>::infinity(), 1e300, 5e-324};
  for (uint32_t half = 0; half < 0x10000; half += 7) {
    double const value = std::bit_cast<float>(kernels::bits_of_half(static_cast<uint16_t>(half)));
    if (!std::isnan(value) && value != 0) values.push_back(value);
  }
  for (int i = 1; i < 1000; ++i) {
    values.push_back(static_cast<float>(i) / 3);
    values.push_back(-i / 7.0);
  }
  std::map<std::string, std::vector<uint8_t>> made;
  auto const keep = [&](double value, const auto& given) {
    char text[64];
    std::snprintf(text, sizeof(text), "float %a", value);
    std::vector<uint8_t> bytes(sizeof(given));
    std::memcpy(bytes.data(), &given, sizeof(given));
    column->add(text, bytes.data(), bytes.size());
  };
  auto const add = [&](double value) {
    if (column->view.width == 8) return keep(value, value);
    auto const narrow = static_cast<float>(value);
    if (column->view.width == 4) {
      if (narrow == value) keep(value, narrow);
      return;
    }
    for (uint32_t half = 0; half < 0x10000; half += 7) {
      auto const bits = static_cast<uint16_t>(half);
      auto const wide = std::bit_cast<float>(kernels::bits_of_half(bits));
      if (wide == value && wide != 0) return keep(value, bits);
    }
  };
  std::sort(values.begin(), values.end());
  values.erase(std::unique(values.begin(), values.end()), values.end());
  for (double value : values) add(value);
  // What is equal without the same bits has one text.
  auto const add_bits = [&](const char* text, uint64_t bits64, uint32_t bits32, uint16_t bits16) {
    if (column->view.width == 8) column->add(text, &bits64, 8);
    if (column->view.width == 4) column->add(text, &bits32, 4);
    if (column->view.width == 2) column->add(text, &bits16, 2);
  };
  add_bits("float zero", 0, 0, 0);
  add_bits("float zero", uint64_t{1} << 63, uint32_t{1} << 31, 0x8000);
  add_bits("NaN", 0x7ff8000000000000, 0x7fc00000, 0x7e00);
  add_bits("NaN", 0xfff8000000000001, 0xffc00001, 0xfe01);
  add_bits("NaN", 0x7ff0000000000001, 0x7f800001, 0x7c01);
}

void add_strings(KeyColumn* column, const std::string& kind) {
  std::mt19937_64 random(11);
  int32_t const width = column->view.width;
  for (size_t i = 0; i < 3000; ++i) {
    std::string value;
    for (size_t left = i < 60 ? i : random() % 40; left > 0; --left) {
      value += static_cast<char>(random() % (i % 2 == 0 ? 256 : 3));
    }
    bool const is_fixed = column->view.layout != Layout::kText;
    if (is_fixed && value.size() != static_cast<size_t>(width)) continue;
    column->add(kind + value, value.data(), value.size());
  }
}

void add_as_they_are(KeyColumn* column) {
  std::mt19937_64 random(13);
  auto const width = static_cast<size_t>(column->view.width);
  for (int i = 0; i < 1000; ++i) {
    std::array<uint64_t, 2> value = {random() >> (random() % 64), random() >> (random() % 64)};
    if (i % 3 == 0) value[1] = 0;
    if (i % 7 == 0) value[1] = ~uint64_t{0};
    std::string const bytes(reinterpret_cast<const char*>(value.data()), width);
    column->add(column->view.arrow_format + bytes, value.data(), width);
  }
}

// One column of each type that a key may have, of units, scales and widths enough.
std::list<KeyColumn>& all_columns() {
  static std::list<KeyColumn> made;
  if (!made.empty()) return made;
  auto const fill = [](KeyColumn& column) {
    ColumnView const& view = column.view;
    if (keys::is_integer(view) || keys::is_decimal(view)) {
      for (const Written& number : numbers()) {
        add_number(&column, number, keys::is_unsigned(view.type));
      }
    } else if (keys::is_float(view.type)) {
      add_floats(&column);
    } else if (keys::is_text(view.type) || keys::is_binary(view)) {
      add_strings(&column, keys::is_text(view.type) ? "text " : "binary ");
    } else if (auto const clock = keys::unit_of(view).clock; clock != keys::Clock::kNone) {
      add_moments(&column, "clock " + std::to_string(static_cast<int>(clock)) + " ");
    } else if (view.layout == Layout::kBits) {
      for (int i = 0; i < 9; ++i) column.add_bit(i % 2 == 0 ? "false" : "true", i % 2 != 0);
    } else if (view.layout != Layout::kNulls) {
      add_as_they_are(&column);
    }
    if (view.layout == Layout::kNulls) column.texts.assign(3, "NULL");
    column.finished();
  };
  std::vector<std::string> formats = {"c",       "s",    "i",       "l",       "C",
                                      "S",       "I",    "L",       "e",       "f",
                                      "g",       "tdD",  "tdm",     "tss:",    "tsm:",
                                      "tsu:",    "tsn:", "tss:UTC", "tsm:UTC", "tsu:Asia/Tokyo",
                                      "tsn:UTC", "tts",  "ttm",     "ttu",     "ttn",
                                      "tDs",     "tDm",  "tDu",     "tDn",     "b",
                                      "u",       "U",    "z",       "Z",       "w:16",
                                      "w:1",     "w:4",  "w:7",     "w:8",     "w:20",
                                      "w:33",    "n",    "tiM",     "tiD",     "tin"};
  for (int scale : {-3, 0, 1, 2, 7}) formats.push_back("d:9," + std::to_string(scale) + ",32");
  for (int scale : {-18, 0, 2, 18}) formats.push_back("d:18," + std::to_string(scale) + ",64");
  for (int scale : {-38, -1, 0, 2, 9, 38}) formats.push_back("d:38," + std::to_string(scale));
  for (int scale : {-76, -5, 0, 2, 30, 76}) {
    formats.push_back("d:76," + std::to_string(scale) + ",256");
  }
  for (const std::string& format : formats) fill(made.emplace_back(format));
  return made;
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
