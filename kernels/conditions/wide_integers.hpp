// wide_integers.hpp: integers of 128 and 256 bits, as host and device both see them
//
// Source   ours; schoolbook arithmetic
// In       two's complement; of 256 bits four words, the lowest first (Wide)
// Out      results, and whether they are beyond the width; floats correctly rounded
#pragma once

#include <cmath>
#include <cstdint>

#include "kernels/conditions/program.hpp"
#include "kernels/keys/derived_key.hpp"

namespace gpujoin::kernels {

GPUJOIN_CONDITION constexpr Int128 most_int128() { return static_cast<Int128>(~Uint128{0} >> 1); }
GPUJOIN_CONDITION constexpr Int128 least_int128() { return -most_int128() - 1; }

GPUJOIN_CONDITION Uint128 magnitude_of(Int128 value) {
  return value < 0 ? ~static_cast<Uint128>(value) + 1 : static_cast<Uint128>(value);
}

// 10^power. expected: 0 <= power <= 38.
GPUJOIN_CONDITION constexpr Int128 power_of_ten(int32_t power) {
  Int128 made = 1;
  for (int32_t i = 0; i < power; ++i) made *= 10;
  return made;
}

// Each answers whether the result is beyond the type, where *result is any.
GPUJOIN_CONDITION bool add_overflows(int64_t one, int64_t other, int64_t* result) {
  auto const sum = static_cast<int64_t>(static_cast<uint64_t>(one) + static_cast<uint64_t>(other));
  *result = sum;
  return ((one ^ sum) & (other ^ sum)) < 0;
}
GPUJOIN_CONDITION bool add_overflows(Int128 one, Int128 other, Int128* result) {
  auto const sum = static_cast<Int128>(static_cast<Uint128>(one) + static_cast<Uint128>(other));
  *result = sum;
  return ((one ^ sum) & (other ^ sum)) < 0;
}
GPUJOIN_CONDITION bool subtract_overflows(int64_t one, int64_t other, int64_t* result) {
  auto const rest = static_cast<int64_t>(static_cast<uint64_t>(one) - static_cast<uint64_t>(other));
  *result = rest;
  return ((one ^ other) & (one ^ rest)) < 0;
}
GPUJOIN_CONDITION bool subtract_overflows(Int128 one, Int128 other, Int128* result) {
  auto const rest = static_cast<Int128>(static_cast<Uint128>(one) - static_cast<Uint128>(other));
  *result = rest;
  return ((one ^ other) & (one ^ rest)) < 0;
}
GPUJOIN_CONDITION bool multiply_overflows(int64_t one, int64_t other, int64_t* result) {
  Int128 const product = static_cast<Int128>(one) * other;
  *result = static_cast<int64_t>(product);
  return product != *result;
}
GPUJOIN_CONDITION bool multiply_overflows(Int128 one, Int128 other, Int128* result) {
  *result = static_cast<Int128>(static_cast<Uint128>(one) * static_cast<Uint128>(other));
  Uint128 small = magnitude_of(one);
  Uint128 large = magnitude_of(other);
  if (small > large) {
    Uint128 const swapped = small;
    small = large;
    large = swapped;
  }
  if (small == 0) return false;
  if (static_cast<uint64_t>(small >> 64) != 0) return true;
  // small has one word: its product with the upper word of large must leave the lower one's carry.
  Uint128 const lower = small * static_cast<uint64_t>(large);
  Uint128 const upper = small * static_cast<uint64_t>(large >> 64) + (lower >> 64);
  if (static_cast<uint64_t>(upper >> 64) != 0) return true;
  Uint128 const product = upper << 64 | static_cast<uint64_t>(lower);
  bool const is_negative = (one < 0) != (other < 0);
  return product > static_cast<Uint128>(most_int128()) + (is_negative ? 1 : 0);
}

GPUJOIN_CONDITION bool is_negative(const Wide& value) {
  return static_cast<int64_t>(value.words[3]) < 0;
}
GPUJOIN_CONDITION Wide wide_of(Int128 value) {
  uint64_t const sign = value < 0 ? ~uint64_t{0} : 0;
  return {{static_cast<uint64_t>(value), static_cast<uint64_t>(static_cast<Uint128>(value) >> 64),
           sign, sign}};
}
GPUJOIN_CONDITION bool equal(const Wide& one, const Wide& other) {
  uint64_t differ = 0;
  for (int i = 0; i < 4; ++i) differ |= one.words[i] ^ other.words[i];
  return differ == 0;
}
// Without the sign.
GPUJOIN_CONDITION bool magnitude_less(const Wide& one, const Wide& other) {
  for (int i = 3; i > 0; --i) {
    if (one.words[i] != other.words[i]) return one.words[i] < other.words[i];
  }
  return one.words[0] < other.words[0];
}
GPUJOIN_CONDITION bool less(const Wide& one, const Wide& other) {
  if (is_negative(one) != is_negative(other)) return is_negative(one);
  return magnitude_less(one, other);
}

// The most or the least of 256 bits where the product is beyond them.
GPUJOIN_CONDITION Wide saturated_product(Wide value, uint64_t factor) {
  bool const negative = is_negative(value);
  if (negative) negate(&value);
  uint64_t carry = 0;
  for (uint64_t& word : value.words) {
    Uint128 const product = static_cast<Uint128>(word) * factor + carry;
    word = static_cast<uint64_t>(product);
    carry = static_cast<uint64_t>(product >> 64);
  }
  if (carry != 0 || is_negative(value)) {
    uint64_t const all = ~uint64_t{0};
    if (negative) return {{0, 0, 0, uint64_t{1} << 63}};
    return {{all, all, all, all >> 1}};
  }
  if (negative) negate(&value);
  return value;
}

GPUJOIN_CONDITION void double_of(Wide* value, uint64_t lowest) {
  for (uint64_t& word : value->words) {
    uint64_t const highest = word >> 63;
    word = word << 1 | lowest;
    lowest = highest;
  }
}
GPUJOIN_CONDITION void subtract(Wide* value, const Wide& other) {
  uint64_t borrow = 0;
  for (int i = 0; i < 4; ++i) {
    uint64_t const word = value->words[i];
    uint64_t const rest = word - other.words[i];
    value->words[i] = rest - borrow;
    borrow = (word < other.words[i] ? 1U : 0U) | (rest < borrow ? 1U : 0U);
  }
}

// value / 10^scale, to the nearest float, of two the even one: a long division, bit by bit, until
// two bits more than a float has are known, and whether anything is left.
// expected: 0 <= scale <= 76.
GPUJOIN_CONDITION double float_of(Wide value, int32_t scale) {
  bool const negative = is_negative(value);
  if (negative) negate(&value);
  int words = 4;
  while (words > 0 && value.words[words - 1] == 0) --words;
  if (words == 0) return 0;
  Wide divisor = {{1, 0, 0, 0}};
  for (int32_t i = 0; i < scale; ++i) divisor = saturated_product(divisor, 10);
  Wide remainder = {};
  uint64_t quotient = 0;
  int exponent = 64 * words;
  bool remains = false;
  // The first bits are the value's, those behind it 0.
  while (quotient < uint64_t{1} << 54) {
    --exponent;
    uint64_t const bit = exponent >= 0 ? value.words[exponent / 64] >> (exponent % 64) & 1 : 0;
    double_of(&remainder, bit);
    quotient <<= 1;
    if (!magnitude_less(remainder, divisor)) {
      subtract(&remainder, divisor);
      quotient |= 1;
    }
  }
  for (int i = 0; i < exponent; ++i) remains |= (value.words[i / 64] >> (i % 64) & 1) != 0;
  for (uint64_t const word : remainder.words) remains |= word != 0;
  if (remains) quotient |= 1;
  double const made = ldexp(static_cast<double>(quotient), exponent);
  return negative ? -made : made;
}

}  // namespace gpujoin::kernels
