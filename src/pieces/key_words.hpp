// key_words.hpp: a word of 64 bits for each value of a key column, the same for values that are
// equal whatever the types of their columns are.
//
// Words says what a value becomes a word by, and makes one of:
//   plain(word)      an integer, an amount of time, a truth value, the bits of a double
//   large(word)      an integer of 2^63 or more
//   of(low, high)    a signed value of two words
//   of(number)       an exact number
//   bytes(value)     text and binary values
//   null()           what stands for NULL, whatever the type
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>
#include <utility>

#include "kernels/bytes_column.hpp"
#include "kernels/keys/derived_key.hpp"
#include "kernels/keys/load_bytes.hpp"
#include "src/columns/validity_bits.hpp"
#include "src/keys/value_kinds.hpp"
#include "src/pieces/exact_number.hpp"

namespace gpujoin::pieces {

__extension__ typedef __int128 SignedTwoWords;

// A key column, and how its values are read.
template <typename Words>
struct KeyReader {
  explicit KeyReader(Words of) : words(std::move(of)) {}

  Words words;
  const uint8_t* data = nullptr;
  int32_t scale = 0;
  int64_t first_bit = 0;
  int64_t nanoseconds = 1;
  kernels::ValidityBits validity;
  kernels::BytesColumn bytes;
  // Writes a word for each of `count` rows: equal words where values are equal. Of NULL any; null:
  // all rows are NULL.
  void (*write)(const KeyReader& key, int64_t first, int64_t count, uint64_t* made) = nullptr;

  template <typename Value>
  Value value(int64_t row) const {
    Value value;
    std::memcpy(&value, data + row * static_cast<int64_t>(sizeof(Value)), sizeof(Value));
    return value;
  }
};

// The functions that read a type, for KeyReader::write.
template <typename Words>
struct KeyReads {
  using Key = KeyReader<Words>;
  using Write = void (*)(const Key& key, int64_t first, int64_t count, uint64_t* made);

  // of_row(row): its word.
  template <typename OfRow>
  static void for_rows(int64_t first, int64_t count, uint64_t* made, OfRow of_row) {
    for (int64_t i = 0; i < count; ++i) made[i] = of_row(first + i);
  }

  template <typename Value>
  static void integers(const Key& key, int64_t first, int64_t count, uint64_t* made) {
    for_rows(first, count, made, [&](int64_t row) -> uint64_t {
      auto const value = key.template value<Value>(row);
      if constexpr (sizeof(Value) == 8 && Value(-1) > 0) {
        if (value >> 63 != 0) return key.words.large(value);
      }
      return key.words.plain(static_cast<uint64_t>(static_cast<int64_t>(value)));
    });
  }

  template <typename Value>
  static void short_decimals(const Key& key, int64_t first, int64_t count, uint64_t* made) {
    for_rows(first, count, made, [&](int64_t row) {
      return key.words.of(exact_number(int64_t{key.template value<Value>(row)}, key.scale));
    });
  }

  template <int kWords>
  static void long_decimals(const Key& key, int64_t first, int64_t count, uint64_t* made) {
    struct Given {
      uint64_t words[kWords];
    };
    for_rows(first, count, made, [&](int64_t row) {
      auto const given = key.template value<Given>(row);
      bool const is_negative = static_cast<int64_t>(given.words[kWords - 1]) < 0;
      kernels::Wide mantissa;
      for (int i = 0; i < 4; ++i) {
        mantissa.words[i] = i < kWords ? given.words[i] : is_negative ? ~uint64_t{0} : 0;
      }
      if (is_short(mantissa)) {
        auto const low = static_cast<int64_t>(mantissa.words[0]);
        return key.words.of(exact_number(low, key.scale));
      }
      return key.words.of(exact_number(mantissa, key.scale));
    });
  }

  static void halves(const Key& key, int64_t first, int64_t count, uint64_t* made) {
    for_rows(first, count, made, [&](int64_t row) {
      uint32_t const bits = kernels::bits_of_half(key.template value<uint16_t>(row));
      return key.words.plain(kernels::normalised(kernels::widened(bits), 0));
    });
  }
  static void floats(const Key& key, int64_t first, int64_t count, uint64_t* made) {
    for_rows(first, count, made, [&](int64_t row) {
      uint64_t const bits = kernels::widened(key.template value<uint32_t>(row));
      return key.words.plain(kernels::normalised(bits, 0));
    });
  }
  static void doubles(const Key& key, int64_t first, int64_t count, uint64_t* made) {
    for_rows(first, count, made, [&](int64_t row) {
      return key.words.plain(kernels::normalised(key.template value<uint64_t>(row), 0));
    });
  }

  // As nanoseconds, for which 64 bits are too few where the unit is a coarser one.
  template <typename Value>
  static void times(const Key& key, int64_t first, int64_t count, uint64_t* made) {
    if (key.nanoseconds == 1) return integers<Value>(key, first, count, made);
    for_rows(first, count, made, [&](int64_t row) {
      SignedTwoWords const moment =
          SignedTwoWords{key.template value<Value>(row)} * key.nanoseconds;
      return key.words.of(static_cast<uint64_t>(moment), static_cast<uint64_t>(moment >> 64));
    });
  }

  static void bits(const Key& key, int64_t first, int64_t count, uint64_t* made) {
    for_rows(first, count, made, [&](int64_t row) {
      int64_t const bit = key.first_bit + row;
      return key.words.plain(key.data[bit / 8] >> (bit % 8) & 1);
    });
  }

  // Nothing is read of NULLs, for which there may be nothing.
  static void byte_strings(const Key& key, int64_t first, int64_t count, uint64_t* made) {
    for_rows(first, count, made, [&](int64_t row) {
      auto const at = static_cast<uint64_t>(row);
      if (!kernels::is_valid(key.validity, at)) return key.words.null();
      return key.words.bytes(kernels::loadable_at(key.bytes, at));
    });
  }

  static void two_words(const Key& key, int64_t first, int64_t count, uint64_t* made) {
    for_rows(first, count, made, [&](int64_t row) {
      return key.words.of(key.template value<uint64_t>(2 * row),
                          key.template value<uint64_t>(2 * row + 1));
    });
  }

  // Of a signed and of an unsigned type of each width.
  template <bool kIsSigned>
  static Write integers_of(int32_t width) {
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

  static Write decimals_of(int32_t width, int32_t scale) {
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
};

// Where the bytes of a column of text, or of values of one width, lie. expected: host memory.
kernels::BytesColumn bytes_in_host(const columns::ColumnView& column, int64_t rows);

// The same cases as compare_by of src/keys/derived_key.cpp, which says what compares with what.
// expected: a column in host memory, of kValues, kWide, kBits, kText or kNulls.
template <typename Words>
KeyReader<Words> key_reader(const columns::ColumnView& column, int64_t rows, Words words) {
  using columns::Layout;
  using Reads = KeyReads<Words>;
  KeyReader<Words> key(std::move(words));
  key.data = static_cast<const uint8_t*>(column.data);
  key.scale = keys::scale_of(column);
  key.validity = {column.validity, column.validity_bit_offset};
  if (column.layout == Layout::kNulls) return key;
  if (keys::is_signed(column.type)) {
    key.write = Reads::template integers_of<true>(column.width);
  } else if (keys::is_unsigned(column.type)) {
    key.write = Reads::template integers_of<false>(column.width);
  } else if (keys::is_decimal(column)) {
    key.write = Reads::decimals_of(column.width, key.scale);
  } else if (keys::is_float(column.type)) {
    key.write = column.width == 2   ? Reads::halves
                : column.width == 4 ? Reads::floats
                                    : Reads::doubles;
  } else if (keys::is_text(column.type) || keys::is_binary(column)) {
    key.write = Reads::byte_strings;
    key.bytes = bytes_in_host(column, rows);
  } else if (keys::TimeUnit const unit = keys::unit_of(column); unit.clock != keys::Clock::kNone) {
    key.nanoseconds = unit.nanoseconds;
    key.write = column.width == 4 ? Reads::template times<int32_t> : Reads::template times<int64_t>;
  } else if (column.layout == Layout::kBits) {
    key.first_bit = column.parts->first_bit;
    key.write = Reads::bits;
  } else {
    key.write =
        column.width == 16 ? Reads::two_words : Reads::template integers_of<true>(column.width);
  }
  return key;
}

// The words of rows `first` to `first + count`; those of NULLs are null(). unequal: null, or set to
// 1 where a row is NULL.
template <typename Words>
void write_words(const KeyReader<Words>& key, int64_t first, int64_t count, uint64_t* made,
                 uint8_t* unequal) {
  if (key.write == nullptr) {
    std::fill_n(made, count, key.words.null());
    if (unequal != nullptr) std::fill_n(unequal, count, uint8_t{1});
    return;
  }
  key.write(key, first, count, made);
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
      made[at] = key.words.null();
      if (unequal != nullptr) unequal[at] = 1;
    }
  }
}

}  // namespace gpujoin::pieces
