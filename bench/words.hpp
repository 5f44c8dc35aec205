// words.hpp: "word=value,word=value" as the command line and the tables of figures write it
#pragma once

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <functional>
#include <map>
#include <stdexcept>
#include <string>
#include <string_view>

namespace gpujoin::bench {

template <class Number>
Number number(std::string_view text) {
  Number value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size()) {
    throw std::invalid_argument("not a number: " + std::string(text));
  }
  return value;
}

// 2^27 may be written so.
inline int64_t rows_number(std::string_view text) {
  if (!text.starts_with("2^")) return number<int64_t>(text);
  const int exponent = number<int>(text.substr(2));
  if (exponent < 0 || exponent > 40) throw std::invalid_argument("exponent out of range");
  return int64_t{1} << exponent;
}

// What each word does with its value.
using Words = std::map<std::string_view, std::function<void(std::string_view)>>;

inline void read_words(std::string_view text, const Words& words) {
  while (!text.empty()) {
    const auto comma = std::min(text.find(','), text.size());
    const auto item = text.substr(0, comma);
    const auto equals = item.find('=');
    const auto word = words.find(item.substr(0, equals));
    if (equals == item.npos || word == words.end()) {
      throw std::invalid_argument("unknown word: " + std::string(item));
    }
    word->second(item.substr(equals + 1));
    text.remove_prefix(std::min(comma + 1, text.size()));
  }
}

}  // namespace gpujoin::bench
