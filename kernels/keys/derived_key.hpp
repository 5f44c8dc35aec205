// derived_key.hpp: a key column whose values do not compare by their bits as one or two that do, as
// host and device both see it
//
// Source   ours; equality of floats as SQL engines have it: -0.0 = 0.0, NaN = NaN
// In       values of any fixed width, bits
// Out      unsigned words of 4 or 8 bytes: equal exactly where the values are
#pragma once

#include <cstdint>
#include <cstring>

#include "kernels/bytes_column.hpp"

#ifdef __CUDACC__
#define GPUJOIN_KEY __host__ __device__ inline
#else
#define GPUJOIN_KEY inline
#endif

namespace gpujoin::kernels {

enum class KeyOp : int32_t {
  kAsIs,         // 4 or 8 bytes that compare by their bits
  kSigned,       // wider, with the sign
  kUnsigned,     // wider, with zeros
  kFloat,        // of 2, 4 or 8 bytes, as 4 or 8
  kLow,          // of 16 bytes the first 8
  kHigh,         // and the others
  kIsNegative,   // 1 where a signed value of 8 bytes is: beside its bits, an unsigned one's equal
  kZero,         // what stands beside the unsigned one
  kBit,          // of a column of bits
  kBytes,        // bytes 8 * word to 8 * word + 7 of a value of any width, zeros behind its last
  kQuotient,     // a signed value divided by `divisor`, rounded down
  kRemains,      // 1 where that leaves a remainder: no value of the coarser unit is its equal
  kDecimal,      // 8 bytes, number `word`, of a signed value of any width over 10^power
  kDecimalLeft,  // 1 where that leaves a remainder
  kIsNull,       // 1 where the value is NULL: for keys of which NULL equals NULL
};

struct DerivedKey {
  const void* source = nullptr;
  int32_t width = 0;  // of its values
  KeyOp op = KeyOp::kAsIs;
  int32_t word = 0;
  int32_t power = 0;         // of ten
  bool is_unsigned = false;  // a decimal made of an integer without a sign
  int64_t divisor = 1;
  int64_t first_bit = 0;
  uint64_t nan = 0;  // set in a NaN's bits: of 1 and 2 on the two sides, NaN equals nothing
  // Of keys of which NULL equals NULL: rows that are NULL become 0. Else null, and they are any.
  ValidityBits nulls;
};

template <typename Value>
GPUJOIN_KEY Value value_at(const void* source, uint64_t row) {
  return static_cast<const Value*>(source)[row];
}

// IEEE 754 binary16 as binary32, which has all of its values.
GPUJOIN_KEY uint32_t bits_of_half(uint16_t half) {
  uint32_t const sign = static_cast<uint32_t>(half & 0x8000) << 16;
  uint32_t const exponent = half >> 10 & 31;
  uint32_t mantissa = half & 0x3ff;
  if (exponent == 31) return sign | 0x7f800000 | mantissa << 13;
  if (exponent != 0) return sign | (exponent + 112) << 23 | mantissa << 13;
  if (mantissa == 0) return sign;
  uint32_t scaled = 113;
  for (; (mantissa & 0x400) == 0; mantissa <<= 1) --scaled;
  return sign | scaled << 23 | (mantissa & 0x3ff) << 13;
}

GPUJOIN_KEY uint32_t normalised(uint32_t bits, uint32_t nan) {
  uint32_t const magnitude = bits & 0x7fffffff;
  if (magnitude == 0) return 0;
  return magnitude > 0x7f800000 ? 0x7fc00000 | nan : bits;
}
GPUJOIN_KEY uint64_t normalised(uint64_t bits, uint64_t nan) {
  uint64_t const magnitude = bits & 0x7fffffffffffffff;
  if (magnitude == 0) return 0;
  return magnitude > 0x7ff0000000000000 ? 0x7ff8000000000000 | nan : bits;
}

GPUJOIN_KEY uint64_t widened(uint32_t float_bits) {
  float narrow;
  memcpy(&narrow, &float_bits, sizeof(narrow));
  double const wide = narrow;
  uint64_t bits;
  memcpy(&bits, &wide, sizeof(bits));
  return bits;
}

GPUJOIN_KEY int64_t signed_value(const DerivedKey& key, uint64_t row) {
  switch (key.width) {
    case 1:
      return value_at<int8_t>(key.source, row);
    case 2:
      return value_at<int16_t>(key.source, row);
    case 4:
      return value_at<int32_t>(key.source, row);
    default:
      return value_at<int64_t>(key.source, row);
  }
}

GPUJOIN_KEY uint64_t unsigned_value(const DerivedKey& key, uint64_t row) {
  switch (key.width) {
    case 1:
      return value_at<uint8_t>(key.source, row);
    case 2:
      return value_at<uint16_t>(key.source, row);
    case 4:
      return value_at<uint32_t>(key.source, row);
    default:
      return value_at<uint64_t>(key.source, row);
  }
}

// Of 2, 4 or 8 bytes, as Bits: uint32_t or uint64_t.
template <typename Bits>
GPUJOIN_KEY Bits float_value(const DerivedKey& key, uint64_t row) {
  if constexpr (sizeof(Bits) == 8) {
    if (key.width == 8) return normalised(value_at<uint64_t>(key.source, row), key.nan);
  }
  uint32_t const narrow = key.width == 2 ? bits_of_half(value_at<uint16_t>(key.source, row))
                                         : value_at<uint32_t>(key.source, row);
  if constexpr (sizeof(Bits) == 8) {
    return normalised(widened(narrow), key.nan);
  } else {
    return normalised(narrow, static_cast<uint32_t>(key.nan));
  }
}

GPUJOIN_KEY uint64_t word_of_bytes(const DerivedKey& key, uint64_t row) {
  auto const* const value =
      static_cast<const uint8_t*>(key.source) + row * static_cast<uint64_t>(key.width);
  int32_t const first = 8 * key.word;
  int32_t const behind = key.width - first < 8 ? key.width : first + 8;
  uint64_t word = 0;
  for (int32_t i = first; i < behind; ++i) word |= uint64_t{value[i]} << (8 * (i - first));
  return word;
}

GPUJOIN_KEY int64_t rounded_down(int64_t value, int64_t divisor) {
  int64_t const quotient = value / divisor;
  return value % divisor < 0 ? quotient - 1 : quotient;
}

// A signed number of 256 bits, lowest word first.
struct Wide {
  uint64_t words[4];
};

GPUJOIN_KEY Wide wide_value(const DerivedKey& key, uint64_t row) {
  Wide value = {};
  if (key.width <= 8) {
    value.words[0] =
        key.is_unsigned ? unsigned_value(key, row) : static_cast<uint64_t>(signed_value(key, row));
  } else {
    memcpy(value.words,
           static_cast<const uint8_t*>(key.source) + row * static_cast<uint64_t>(key.width),
           static_cast<size_t>(key.width));
  }
  int const given = key.width <= 8 ? 1 : key.width / 8;
  bool const is_negative = !key.is_unsigned && static_cast<int64_t>(value.words[given - 1]) < 0;
  for (int i = given; i < 4; ++i) value.words[i] = is_negative ? ~uint64_t{0} : 0;
  return value;
}

GPUJOIN_KEY void negate(Wide* value) {
  uint64_t carry = 1;
  for (uint64_t& word : value->words) {
    word = ~word + carry;
    carry = carry != 0 && word == 0 ? 1 : 0;
  }
}

// Rounded towards zero. True: there was a remainder.
GPUJOIN_KEY bool divide_by_power_of_ten(Wide* value, int32_t power) {
  bool const is_negative = static_cast<int64_t>(value->words[3]) < 0;
  if (is_negative) negate(value);
  bool remains = false;
  while (power > 0) {
    constexpr int32_t kMostAtOnce = 9;  // 10^9 fits 32 bits, as a step of a long division has it
    int32_t const now = power < kMostAtOnce ? power : kMostAtOnce;
    uint64_t divisor = 1;
    for (int32_t i = 0; i < now; ++i) divisor *= 10;
    uint64_t remainder = 0;
    for (int i = 3; i >= 0; --i) {
      uint64_t const upper = remainder << 32 | value->words[i] >> 32;
      uint64_t const lower = upper % divisor << 32 | (value->words[i] & 0xffffffffU);
      value->words[i] = upper / divisor << 32 | lower / divisor;
      remainder = lower % divisor;
    }
    remains = remains || remainder != 0;
    power -= now;
  }
  if (is_negative) negate(value);
  return remains;
}

GPUJOIN_KEY bool is_of_decimal(KeyOp op) {
  return op == KeyOp::kDecimal || op == KeyOp::kDecimalLeft;
}

// Of such an op; apart, for the registers of 256 bits.
template <typename Bits>
GPUJOIN_KEY Bits derived_decimal(const DerivedKey& key, uint64_t row) {
  if (!is_valid(key.nulls, row)) return 0;
  Wide value = wide_value(key, row);
  bool const remains = divide_by_power_of_ten(&value, key.power);
  if (key.op == KeyOp::kDecimalLeft) return remains ? 1 : 0;
  return static_cast<Bits>(value.words[key.word]);
}

// Of any other op. Bits: uint32_t or uint64_t.
template <typename Bits>
GPUJOIN_KEY Bits derived_value(const DerivedKey& key, uint64_t row) {
  if (!is_valid(key.nulls, row)) return key.op == KeyOp::kIsNull ? 1 : 0;
  switch (key.op) {
    case KeyOp::kSigned:
      return static_cast<Bits>(signed_value(key, row));
    case KeyOp::kFloat:
      return float_value<Bits>(key, row);
    case KeyOp::kLow:
      return static_cast<Bits>(value_at<uint64_t>(key.source, 2 * row));
    case KeyOp::kHigh:
      return static_cast<Bits>(value_at<uint64_t>(key.source, 2 * row + 1));
    case KeyOp::kIsNegative:
      return signed_value(key, row) < 0 ? 1 : 0;
    case KeyOp::kZero:
    case KeyOp::kIsNull:
      return 0;
    case KeyOp::kBit:
      return is_valid({static_cast<const uint8_t*>(key.source), key.first_bit}, row) ? 1 : 0;
    case KeyOp::kBytes:
      return static_cast<Bits>(word_of_bytes(key, row));
    case KeyOp::kQuotient:
      return static_cast<Bits>(rounded_down(signed_value(key, row), key.divisor));
    case KeyOp::kRemains:
      return signed_value(key, row) % key.divisor != 0 ? 1 : 0;
    default:
      return static_cast<Bits>(unsigned_value(key, row));
  }
}

}  // namespace gpujoin::kernels

#undef GPUJOIN_KEY
