#include "src/pieces/key_hash.hpp"

#include <algorithm>
#include <bit>
#include <cstring>

#include "kernels/bytes_column.hpp"
#include "kernels/keys/derived_key.hpp"
#include "src/columns/validity_bits.hpp"
#include "src/keys/bytes_hash.hpp"
#include "src/keys/value_kinds.hpp"
#include "src/pieces/exact_number.hpp"
#include "src/plan/sample_rule.hpp"

namespace gpujoin::pieces {

namespace {

using columns::ColumnView;
using columns::Layout;
using kernels::Wide;
using plan::mix64;

__extension__ typedef __int128 SignedTwoWords;

// Rows are hashed so many at a time: their words stay in the first cache.
constexpr int64_t kBlockRows = 512;
static_assert(kBlockRows % 64 == 0);

// What stands for NULL, whatever the type.
constexpr uint64_t kNullWord = 0x9ae16a3b2f90404f;

// The secret numbers of one key of one seed. SplitMix, as for the hash of columns.
struct Secrets {
  uint64_t factor;  // odd
  uint64_t start;
  uint64_t rest_factor;  // odd
  uint64_t rest_start;

  explicit Secrets(uint64_t seed) {
    auto const next = [&] { return mix64(seed += 0x9e3779b97f4a7c15ULL); };
    factor = next() | 1;
    start = next();
    rest_factor = next() | 1;
    rest_start = next();
  }

  // A signed value of several words as one: the lowest where that is all there is to it, as it is
  // of a narrower type.
  uint64_t word_of(uint64_t low, uint64_t high) const {
    return low + with_rest(0, high ^ sign_of(low));
  }
  uint64_t word_of(const Wide& value) const {
    uint64_t rest = 0;
    for (int i = 3; i > 0; --i) {
      rest = with_rest(rest, value.words[i] ^ sign_of(value.words[i - 1]));
    }
    return value.words[0] + rest;
  }
  uint64_t with_exponent(uint64_t word, int32_t exponent) const {
    constexpr uint64_t kMark = 0x452821e638d01377;  // no number begins like an exponent by chance
    if (exponent == 0) return word;
    return word + with_rest(0, static_cast<uint64_t>(int64_t{exponent}) ^ kMark);
  }
  uint64_t word_of(const ShortNumber& number) const {
    return with_exponent(static_cast<uint64_t>(number.mantissa), number.exponent);
  }
  uint64_t word_of(const LongNumber& number) const {
    return with_exponent(word_of(number.mantissa), number.exponent);
  }

 private:
  uint64_t with_rest(uint64_t rest, uint64_t more) const {
    return (rest | more) == 0 ? 0 : mix64(more * rest_factor + rest + rest_start);
  }
  static uint64_t sign_of(uint64_t word) {
    return static_cast<uint64_t>(static_cast<int64_t>(word) >> 63);
  }
};

// A key column, and what its values become words by.
struct Key {
  explicit Key(uint64_t seed) : secrets(seed) {}

  Secrets secrets;
  const uint8_t* data = nullptr;
  int32_t width = 0;
  int32_t scale = 0;
  int64_t first_bit = 0;
  int64_t nanoseconds = 1;
  kernels::ValidityBits validity;
  kernels::BytesColumn bytes;
  kernels::BytesHash bytes_hash = {};
  // Writes a word for each of `count` rows: equal words where values are equal. Of NULL any.
  void (*words)(const Key& key, int64_t first, int64_t count, uint64_t* words) = nullptr;

  template <typename Value>
  Value value(int64_t row) const {
    Value value;
    std::memcpy(&value, data + row * static_cast<int64_t>(sizeof(Value)), sizeof(Value));
    return value;
  }
};

// of_row(row): its word.
template <typename OfRow>
void for_rows(int64_t first, int64_t count, uint64_t* words, OfRow of_row) {
  for (int64_t i = 0; i < count; ++i) words[i] = of_row(first + i);
}

template <typename Value>
void integers(const Key& key, int64_t first, int64_t count, uint64_t* words) {
  for_rows(first, count, words, [&](int64_t row) -> uint64_t {
    auto const value = key.value<Value>(row);
    if constexpr (sizeof(Value) == 8 && Value(-1) > 0) {
      if (value >> 63 != 0) {
        if (value % 10 != 0) return key.secrets.word_of(value, 0);  // in its form, as most are
        return key.secrets.word_of(exact_number(Wide{{value, 0, 0, 0}}, 0));
      }
    }
    return static_cast<uint64_t>(static_cast<int64_t>(value));
  });
}

template <typename Value>
void short_decimals(const Key& key, int64_t first, int64_t count, uint64_t* words) {
  for_rows(first, count, words, [&](int64_t row) {
    return key.secrets.word_of(exact_number(int64_t{key.value<Value>(row)}, key.scale));
  });
}

template <int kWords>
void long_decimals(const Key& key, int64_t first, int64_t count, uint64_t* words) {
  struct Given {
    uint64_t words[kWords];
  };
  for_rows(first, count, words, [&](int64_t row) {
    auto const given = key.value<Given>(row);
    bool const is_negative = static_cast<int64_t>(given.words[kWords - 1]) < 0;
    Wide mantissa;
    for (int i = 0; i < 4; ++i) {
      mantissa.words[i] = i < kWords ? given.words[i] : is_negative ? ~uint64_t{0} : 0;
    }
    if (is_short(mantissa)) {
      auto const low = static_cast<int64_t>(mantissa.words[0]);
      return key.secrets.word_of(exact_number(low, key.scale));
    }
    return key.secrets.word_of(exact_number(mantissa, key.scale));
  });
}

void halves(const Key& key, int64_t first, int64_t count, uint64_t* words) {
  for_rows(first, count, words, [&](int64_t row) {
    return kernels::normalised(kernels::widened(kernels::bits_of_half(key.value<uint16_t>(row))),
                               0);
  });
}
void floats(const Key& key, int64_t first, int64_t count, uint64_t* words) {
  for_rows(first, count, words, [&](int64_t row) {
    return kernels::normalised(kernels::widened(key.value<uint32_t>(row)), 0);
  });
}
void doubles(const Key& key, int64_t first, int64_t count, uint64_t* words) {
  for_rows(first, count, words,
           [&](int64_t row) { return kernels::normalised(key.value<uint64_t>(row), 0); });
}

// As nanoseconds, for which 64 bits are too few where the unit is a coarser one.
template <typename Value>
void times(const Key& key, int64_t first, int64_t count, uint64_t* words) {
  if (key.nanoseconds == 1) return integers<Value>(key, first, count, words);
  for_rows(first, count, words, [&](int64_t row) {
    SignedTwoWords const moment = SignedTwoWords{key.value<Value>(row)} * key.nanoseconds;
    return key.secrets.word_of(static_cast<uint64_t>(moment), static_cast<uint64_t>(moment >> 64));
  });
}

void bits(const Key& key, int64_t first, int64_t count, uint64_t* words) {
  for_rows(first, count, words, [&](int64_t row) -> uint64_t {
    int64_t const bit = key.first_bit + row;
    return key.data[bit / 8] >> (bit % 8) & 1;
  });
}

// Nothing is read of NULLs, for which there may be nothing.
void byte_strings(const Key& key, int64_t first, int64_t count, uint64_t* words) {
  for_rows(first, count, words, [&](int64_t row) {
    auto const at = static_cast<uint64_t>(row);
    if (!kernels::is_valid(key.validity, at)) return kNullWord;
    return key.bytes_hash.of(kernels::loadable_at(key.bytes, at));
  });
}

void two_words(const Key& key, int64_t first, int64_t count, uint64_t* words) {
  for_rows(first, count, words, [&](int64_t row) {
    return key.secrets.word_of(key.value<uint64_t>(2 * row), key.value<uint64_t>(2 * row + 1));
  });
}

void nulls(const Key&, int64_t, int64_t count, uint64_t* words) {
  std::fill_n(words, count, kNullWord);
}

// The functions of a signed and of an unsigned type of each width.
template <bool kIsSigned>
auto integers_of(int32_t width) {
  switch (width) {
    case 1:
      return kIsSigned ? integers<int8_t> : integers<uint8_t>;
    case 2:
      return kIsSigned ? integers<int16_t> : integers<uint16_t>;
    case 4:
      return kIsSigned ? integers<int32_t> : integers<uint32_t>;
    default:
      return kIsSigned ? integers<int64_t> : integers<uint64_t>;
  }
}

auto decimals_of(int32_t width, int32_t scale) {
  switch (width) {
    case 4:
      return scale == 0 ? integers<int32_t> : short_decimals<int32_t>;
    case 8:
      return scale == 0 ? integers<int64_t> : short_decimals<int64_t>;
    case 16:
      return long_decimals<2>;
    default:
      return long_decimals<4>;
  }
}

kernels::BytesColumn bytes_of(const ColumnView& column, int64_t rows) {
  kernels::BytesColumn bytes;
  bytes.bytes = static_cast<const uint8_t*>(column.data);
  if (column.layout != Layout::kText) {
    bytes.width = column.width;
    bytes.first = bytes.bytes;
    bytes.end = bytes.bytes + rows * column.width;
    return bytes;
  }
  bool const is_large = column.parts->offset_width == 8;
  bytes.layout = is_large ? kernels::BytesLayout::kOffsets64 : kernels::BytesLayout::kOffsets32;
  bytes.places = column.parts->offsets;
  auto const [begin, end] = columns::first_and_last_offset(*column.parts, rows);
  bytes.first = bytes.bytes + begin;
  bytes.end = bytes.bytes + end;
  return bytes;
}

// The same cases as compare_by of src/keys/derived_key.cpp, which says what compares with what.
Key key_of(const ColumnView& column, int64_t rows, uint64_t seed) {
  Key key(seed);
  key.data = static_cast<const uint8_t*>(column.data);
  key.width = column.width;
  key.scale = keys::scale_of(column);
  key.validity = {column.validity, column.validity_bit_offset};
  if (column.layout == Layout::kNulls) {
    key.words = nulls;
  } else if (keys::is_signed(column.type)) {
    key.words = integers_of<true>(column.width);
  } else if (keys::is_unsigned(column.type)) {
    key.words = integers_of<false>(column.width);
  } else if (keys::is_decimal(column)) {
    key.words = decimals_of(column.width, key.scale);
  } else if (keys::is_float(column.type)) {
    key.words = column.width == 2 ? halves : column.width == 4 ? floats : doubles;
  } else if (keys::is_text(column.type) || keys::is_binary(column)) {
    key.words = byte_strings;
    key.bytes = bytes_of(column, rows);
    key.bytes_hash = keys::bytes_hash(seed, 0);
  } else if (keys::TimeUnit const unit = keys::unit_of(column); unit.clock != keys::Clock::kNone) {
    key.nanoseconds = unit.nanoseconds;
    key.words = column.width == 4 ? times<int32_t> : times<int64_t>;
  } else if (column.layout == Layout::kBits) {
    key.first_bit = column.parts->first_bit;
    key.words = bits;
  } else {
    key.words = column.width == 16 ? two_words : integers_of<true>(column.width);
  }
  return key;
}

// Words of NULLs become theirs; `unequal` rows have one.
void replace_nulls(const Key& key, int64_t first, int64_t count, uint64_t* words,
                   uint8_t* unequal) {
  if (key.words == nulls) {
    if (unequal != nullptr) std::fill_n(unequal, count, uint8_t{1});
    return;
  }
  if (key.validity.bits == nullptr) return;
  auto const begin = static_cast<uint64_t>(key.validity.offset + first);
  for (int64_t row = 0; row < count; row += 64) {
    int64_t const behind = std::min<int64_t>(count - row, 64);
    uint64_t const all = ~uint64_t{0} >> (64 - behind);
    uint64_t missing =
        ~columns::bits_of_64_rows(key.validity.bits, begin + static_cast<uint64_t>(row),
                                  begin + static_cast<uint64_t>(count)) &
        all;
    for (; missing != 0; missing &= missing - 1) {
      int64_t const at = row + std::countr_zero(missing);
      words[at] = kNullWord;
      if (unequal != nullptr) unequal[at] = 1;
    }
  }
}

}  // namespace

void hash_keys(const columns::Relation& rows, std::span<const int32_t> keys,
               std::span<const int32_t> key_flags, int64_t first, int64_t count, uint64_t seed,
               uint64_t* hashes, uint8_t* has_null) {
  std::fill_n(has_null, count, uint8_t{0});
  if (keys.empty()) std::fill_n(hashes, count, mix64(seed));
  // A column at a time: what is known of it is found once, and its values are read in order.
  for (size_t i = 0; i < keys.size(); ++i) {
    ColumnView const& column = rows.columns[static_cast<size_t>(keys[i])];
    Key const key = key_of(column, rows.rows, mix64(mix64(seed) + i));
    int32_t const flags = key_flags.empty() ? 0 : key_flags[i];
    bool const is_unequal = (flags & columns::kNullEqual) == 0;
    uint64_t words[kBlockRows];
    for (int64_t done = 0; done < count; done += kBlockRows) {
      int64_t const now = std::min(kBlockRows, count - done);
      key.words(key, first + done, now, words);
      replace_nulls(key, first + done, now, words, is_unequal ? has_null + done : nullptr);
      uint64_t* const made = hashes + done;
      // Of a key behind the first its place is the hash of those before.
      if (i == 0) std::fill_n(made, now, key.secrets.start);
      for (int64_t row = 0; row < now; ++row) {
        made[row] = mix64(words[row] * key.secrets.factor + made[row]);
      }
    }
  }
}

}  // namespace gpujoin::pieces
