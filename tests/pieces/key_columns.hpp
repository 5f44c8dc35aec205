// key_columns.hpp: columns of every type that a key may have, of values that are written down once
// for all types that hold them.
#pragma once

#include <cstdint>
#include <cstring>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "src/columns/column.hpp"
#include "src/columns/types.hpp"

namespace gpujoin::tests {

// A type's values in host memory, row by row.
struct KeyColumn {
  columns::ColumnView view;
  // What each row's value is, whatever the type: the same text where values are equal.
  std::vector<std::string> texts;

  std::vector<uint8_t> bytes;
  std::vector<int32_t> offsets32 = {0};
  std::vector<int64_t> offsets64 = {0};
  std::vector<uint8_t> validity;

  explicit KeyColumn(const std::string& format) {
    columns::ArrowType const type = columns::type_of_arrow_format(format);
    view.type = type.type;
    view.width = type.width;
    view.layout = type.layout;
    view.arrow_format = format;
    auto parts = std::make_shared<columns::ColumnParts>();
    parts->scale = type.scale;
    if (view.layout == columns::Layout::kText) {
      parts->offset_width = columns::is_large_text(view.type) ? 8 : 4;
    }
    parts_ = parts;
    view.parts = parts;
  }
  KeyColumn(const KeyColumn&) = delete;
  KeyColumn& operator=(const KeyColumn&) = delete;

  int64_t rows() const { return static_cast<int64_t>(texts.size()); }

  // Of kValues and kWide `width` bytes; of kText any.
  void add(const std::string& text, const void* value, size_t count) {
    auto const* const first = static_cast<const uint8_t*>(value);
    bytes.insert(bytes.end(), first, first + count);
    offsets32.push_back(static_cast<int32_t>(bytes.size()));
    offsets64.push_back(static_cast<int64_t>(bytes.size()));
    texts.push_back(text);
  }
  void add_bit(const std::string& text, bool value) {
    size_t const at = texts.size();
    if (at / 8 == bytes.size()) bytes.push_back(0);
    if (value) bytes[at / 8] = static_cast<uint8_t>(bytes[at / 8] | 1 << at % 8);
    texts.push_back(text);
  }

  // When all values are there.
  const columns::ColumnView& finished() {
    view.data = bytes.data();
    parts_->offsets = parts_->offset_width == 8 ? static_cast<const void*>(offsets64.data())
                                                : static_cast<const void*>(offsets32.data());
    if (!validity.empty()) view.validity = validity.data();
    return view;
  }
  void set_null(size_t row) {
    validity.resize(texts.size() / 8 + 1, 0xff);
    validity[row / 8] = static_cast<uint8_t>(validity[row / 8] & ~(1 << row % 8));
  }

 private:
  std::shared_ptr<columns::ColumnParts> parts_;
};

// A number as people write it: digits without zeros at either end, times a power of ten.
struct Written {
  bool is_negative = false;
  std::string digits;  // none: 0
  int32_t exponent = 0;

  Written(bool negative, std::string all, int32_t power)
      : is_negative(negative), digits(std::move(all)), exponent(power) {
    digits.erase(0, std::min(digits.find_first_not_of('0'), digits.size()));
    for (; !digits.empty() && digits.back() == '0'; digits.pop_back()) ++exponent;
    if (digits.empty()) *this = Written();
  }
  Written() = default;
  std::string text() const {
    return "number " + std::string(is_negative ? "-" : "") + digits + "e" +
           std::to_string(exponent);
  }
  // In two's complement, of 10^-scale each; nothing where 256 bits do not hold it.
  struct Words {
    uint64_t words[4];
  };
  std::optional<Words> words(int32_t scale) const {
    __extension__ typedef unsigned __int128 Product;
    Words made = {};
    int32_t const zeros = exponent + scale;
    if (!digits.empty() && (zeros < 0 || zeros > 80)) return std::nullopt;
    std::string const all = digits + std::string(static_cast<size_t>(std::max(zeros, 0)), '0');
    for (char digit : all) {
      uint64_t carry = static_cast<uint64_t>(digit - '0');
      for (uint64_t& word : made.words) {
        Product const product = Product{word} * 10 + carry;
        word = static_cast<uint64_t>(product);
        carry = static_cast<uint64_t>(product >> 64);
      }
      if (carry != 0) return std::nullopt;
    }
    bool const is_lowest = made.words[3] == uint64_t{1} << 63 && made.words[2] == 0 &&
                           made.words[1] == 0 && made.words[0] == 0 && is_negative;
    if (made.words[3] >> 63 != 0 && !is_lowest) return std::nullopt;
    if (is_negative) {
      uint64_t carry = 1;
      for (uint64_t& word : made.words) {
        word = ~word + carry;
        carry = carry != 0 && word == 0 ? 1 : 0;
      }
    }
    return made;
  }
};

// Adds the number, if the type holds it.
inline void add_number(KeyColumn* column, const Written& number, bool is_unsigned) {
  auto const made = number.words(column->view.parts->scale);
  if (!made) return;
  auto const width = static_cast<size_t>(column->view.width);
  uint8_t bytes[32];
  std::memcpy(bytes, made->words, sizeof(bytes));
  if (is_unsigned && number.is_negative) return;
  bool const is_negative = !is_unsigned && bytes[width - 1] >> 7 != 0;
  for (size_t i = width; i < sizeof(bytes); ++i) {
    if (bytes[i] != (is_negative ? 0xff : 0)) return;
  }
  if (!is_unsigned && is_negative != number.is_negative) return;
  column->add(number.text(), bytes, width);
}

}  // namespace gpujoin::tests
