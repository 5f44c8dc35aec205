// numbers.hpp: values of a column as aggregates see them, as host and device both do
//
// Source   ours; ordered bits of floats as radix sorts have them (Terdiman, "Radix Sort Revisited")
// In       values of a fixed width: integers, decimals as integers, floats
// Out      words of 64 bits, lowest first, in two's complement; doubles; unsigned words in the
//          order of the values
#pragma once

#include <cstdint>
#include <cstring>

#include "kernels/bytes_column.hpp"
#include "kernels/keys/derived_key.hpp"

#ifdef __CUDACC__
#define GPUJOIN_NUMBER __host__ __device__ inline
#else
#define GPUJOIN_NUMBER inline
#endif

namespace gpujoin::kernels {

enum class NumberForm : int32_t { kSigned, kUnsigned, kFloat };

struct Numbers {
  const uint8_t* values = nullptr;
  int32_t width = 0;  // 1, 2, 4, 8; of signed ones 16 and 32 too; of floats 2, 4, 8
  NumberForm form = NumberForm::kSigned;
};

// Of a sum of such numbers: a word more than a number has, which 2^64 of them do not overflow.
constexpr int kMostSumWords = 5;
GPUJOIN_NUMBER int sum_words_of(const Numbers& numbers) {
  return (numbers.width <= 8 ? 1 : numbers.width / 8) + 1;
}

// A value of at most 8 bytes, extended by its form; a float's bits.
GPUJOIN_NUMBER uint64_t word_of(const uint8_t* value, int32_t width, NumberForm form) {
  uint64_t word = 0;
  switch (width) {
    case 1:
      word = *value;
      break;
    case 2: {
      uint16_t half;
      memcpy(&half, value, sizeof(half));
      word = half;
      break;
    }
    case 4: {
      uint32_t single;
      memcpy(&single, value, sizeof(single));
      word = single;
      break;
    }
    default:
      memcpy(&word, value, sizeof(word));
      return word;
  }
  if (form != NumberForm::kSigned) return word;
  int const shift = 64 - 8 * width;
  return static_cast<uint64_t>(static_cast<int64_t>(word << shift) >> shift);
}

GPUJOIN_NUMBER double double_of_bits(uint64_t bits) {
  double value;
  memcpy(&value, &bits, sizeof(value));
  return value;
}
GPUJOIN_NUMBER uint64_t bits_of_double(double value) {
  uint64_t bits;
  memcpy(&bits, &value, sizeof(bits));
  return bits;
}

GPUJOIN_NUMBER double double_of(uint64_t float_bits, int32_t width) {
  if (width == 8) return double_of_bits(float_bits);
  auto const narrow = static_cast<uint32_t>(float_bits);
  return double_of_bits(widened(width == 2 ? bits_of_half(static_cast<uint16_t>(narrow)) : narrow));
}

// In the order of the values. NaN, of either sign, is above all else.
GPUJOIN_NUMBER uint64_t ordinal_of(uint64_t word, int32_t width, NumberForm form) {
  if (form == NumberForm::kUnsigned) return word;
  if (form == NumberForm::kSigned) return word ^ (uint64_t{1} << 63);
  uint64_t const sign = uint64_t{1} << (8 * width - 1);
  uint64_t const infinity = width == 8   ? 0x7ff0000000000000
                            : width == 4 ? uint64_t{0x7f800000}
                                         : uint64_t{0x7c00};
  if ((word & (sign - 1)) > infinity) word &= sign - 1;
  return (word & sign) != 0 ? ~word & (sign | (sign - 1)) : word | sign;
}
// Back.
GPUJOIN_NUMBER uint64_t word_of_ordinal(uint64_t ordinal, int32_t width, NumberForm form) {
  if (form == NumberForm::kUnsigned) return ordinal;
  if (form == NumberForm::kSigned) return ordinal ^ (uint64_t{1} << 63);
  uint64_t const sign = uint64_t{1} << (8 * width - 1);
  return (ordinal & sign) != 0 ? ordinal ^ sign : ~ordinal & (sign | (sign - 1));
}

// Columns whose rows are compared by row number, for values that have no word.
enum class RowsForm : int32_t {
  kBytes,    // from the first byte on; of a value that is the other's beginning, the shorter first
  kSigned,   // a signed number of `width` bytes, lowest byte first
  kBits,     // false before true
  kNumbers,  // of at most 8 bytes, of a dictionary or of runs
};

struct OrderedRows {
  RowsForm form = RowsForm::kBytes;
  BytesColumn values;
  int64_t first_bit = 0;  // of kBits, in values.bytes
  NumberForm numbers = NumberForm::kSigned;
};

// Below 0, 0, above 0. expected: rows that are not NULL.
GPUJOIN_NUMBER int compare_rows(const OrderedRows& column, uint64_t one, uint64_t other) {
  if (column.form == RowsForm::kBits) {
    ValidityBits const bits{column.values.bytes, column.first_bit};
    return static_cast<int>(is_valid(bits, one)) - static_cast<int>(is_valid(bits, other));
  }
  if (column.form == RowsForm::kNumbers) {
    int32_t const width = column.values.width;
    auto const ordinal_at = [&](uint64_t row) {
      const uint8_t* const value = column.values.bytes + row * static_cast<uint64_t>(width);
      return ordinal_of(word_of(value, width, column.numbers), width, column.numbers);
    };
    uint64_t const a = ordinal_at(one);
    uint64_t const b = ordinal_at(other);
    return a == b ? 0 : (a < b ? -1 : 1);
  }
  ByteSpan const a = bytes_at(column.values, one);
  ByteSpan const b = bytes_at(column.values, other);
  if (column.form == RowsForm::kSigned) {
    for (auto i = static_cast<int>(a.count) - 1; i >= 0; --i) {
      // Of the highest byte the sign's bit counts the other way round.
      auto const flip = static_cast<uint8_t>(i == static_cast<int>(a.count) - 1 ? 0x80 : 0);
      int const difference =
          int{static_cast<uint8_t>(a.data[i] ^ flip)} - int{static_cast<uint8_t>(b.data[i] ^ flip)};
      if (difference != 0) return difference;
    }
    return 0;
  }
  uint64_t const both = a.count < b.count ? a.count : b.count;
  for (uint64_t i = 0; i < both; ++i) {
    if (a.data[i] != b.data[i]) return int{a.data[i]} - int{b.data[i]};
  }
  return a.count == b.count ? 0 : (a.count < b.count ? -1 : 1);
}

}  // namespace gpujoin::kernels

#undef GPUJOIN_NUMBER
