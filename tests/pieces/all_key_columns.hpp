// all_key_columns.hpp: a column of each type that a key may have, of values at all its edges.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdio>
#include <limits>
#include <list>
#include <map>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "src/keys/derived_key.hpp"
#include "src/keys/value_kinds.hpp"
#include "tests/pieces/key_columns.hpp"

namespace gpujoin::tests {

using columns::ColumnView;
using columns::Layout;

__extension__ typedef __int128 Moment;

inline std::vector<Written> numbers() {
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

inline std::vector<int64_t> whole_numbers(int64_t most) {
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

inline std::string text_of(Moment value) {
  std::string digits;
  bool const is_negative = value < 0;
  for (; value != 0; value /= 10) {
    digits += static_cast<char>('0' + (is_negative ? -(value % 10) : value % 10));
  }
  std::reverse(digits.begin(), digits.end());
  return (is_negative ? "-" : "") + digits;
}

inline void add_moments(KeyColumn* column, const std::string& clock) {
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

inline void add_floats(KeyColumn* column) {
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

inline void add_strings(KeyColumn* column, const std::string& kind) {
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

inline void add_as_they_are(KeyColumn* column) {
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
inline std::list<KeyColumn>& all_columns() {
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

}  // namespace gpujoin::tests
