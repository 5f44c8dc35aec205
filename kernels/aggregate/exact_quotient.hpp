// exact_quotient.hpp: an exact sum over a count as the double that is next to it, as host and
// device both see it
//
// Source   long division, a bit at a time (Knuth, The Art of Computer Programming 2, 4.3.1);
//          rounded to the nearest, ties to even, as IEEE 754 divides
// In       a sum of up to kMostSumWords words in two's complement, times 10^-scale; a count
// Out      FLOAT64
#pragma once

#include <cmath>
#include <cstdint>

#include "kernels/aggregate/numbers.hpp"

#ifdef __CUDACC__
#define GPUJOIN_QUOTIENT __host__ __device__ inline
#else
#define GPUJOIN_QUOTIENT inline
#endif

namespace gpujoin::kernels {

// Room for the sum or the count times 10^kMostExactScale.
constexpr int kQuotientWords = 10;
constexpr int32_t kMostExactScale = 90;

struct Magnitude {
  uint64_t words[kQuotientWords] = {};
};

GPUJOIN_QUOTIENT int bit_length(const Magnitude& value) {
  for (int i = kQuotientWords - 1; i >= 0; --i) {
    if (value.words[i] == 0) continue;
    int bits = 0;
    for (uint64_t word = value.words[i]; word != 0; word >>= 1) ++bits;
    return 64 * i + bits;
  }
  return 0;
}

GPUJOIN_QUOTIENT void multiply_by_ten(Magnitude* value, int32_t times) {
  for (; times > 0; --times) {
    uint64_t carry = 0;
    for (uint64_t& word : value->words) {
      uint64_t const low = (word & 0xffffffffU) * 10 + carry;
      uint64_t const high = (word >> 32) * 10 + (low >> 32);
      word = high << 32 | (low & 0xffffffffU);
      carry = high >> 32;
    }
  }
}

GPUJOIN_QUOTIENT void shift_up(Magnitude* value, int bits) {
  int const by_words = bits / 64;
  int const by_bits = bits % 64;
  for (int i = kQuotientWords - 1; i >= 0; --i) {
    uint64_t const upper = i >= by_words ? value->words[i - by_words] : 0;
    uint64_t const lower = i > by_words ? value->words[i - by_words - 1] : 0;
    value->words[i] = by_bits == 0 ? upper : upper << by_bits | lower >> (64 - by_bits);
  }
}

// What is left is the difference, where it is not below 0.
GPUJOIN_QUOTIENT bool subtract_if_less(Magnitude* value, const Magnitude& from_it) {
  for (int i = kQuotientWords - 1; i >= 0; --i) {
    if (value->words[i] == from_it.words[i]) continue;
    if (value->words[i] < from_it.words[i]) return false;
    break;
  }
  uint64_t borrow = 0;
  for (int i = 0; i < kQuotientWords; ++i) {
    uint64_t const taken = from_it.words[i] + borrow;
    uint64_t const over = borrow != 0 && taken == 0 ? 1 : 0;
    borrow = over | static_cast<uint64_t>(value->words[i] < taken);
    value->words[i] -= taken;
  }
  return true;
}

// expected: count is not 0.
GPUJOIN_QUOTIENT double exact_quotient(const uint64_t* sum, int sum_words, uint64_t count,
                                       int32_t scale) {
  constexpr int64_t kExact = int64_t{1} << 53;  // as a double
  bool const is_negative = static_cast<int64_t>(sum[sum_words - 1]) < 0;
  auto const low = static_cast<int64_t>(sum[0]);
  bool is_short = low >= -kExact && low <= kExact && count <= static_cast<uint64_t>(kExact);
  for (int i = 1; i < sum_words; ++i) {
    is_short = is_short && sum[i] == static_cast<uint64_t>(low >> 63);
  }
  if (is_short && scale == 0) return static_cast<double>(low) / static_cast<double>(count);
  Magnitude numerator;
  Magnitude denominator;
  uint64_t carry = is_negative ? 1 : 0;
  for (int i = 0; i < sum_words; ++i) {
    numerator.words[i] = (is_negative ? ~sum[i] : sum[i]) + carry;
    carry = carry != 0 && numerator.words[i] == 0 ? 1 : 0;
  }
  denominator.words[0] = count;
  int32_t const exact_scale = scale > kMostExactScale    ? kMostExactScale
                              : scale < -kMostExactScale ? -kMostExactScale
                                                         : scale;
  multiply_by_ten(exact_scale < 0 ? &numerator : &denominator,
                  exact_scale < 0 ? -exact_scale : exact_scale);
  int const length = bit_length(numerator);
  if (length == 0) return 0.0;
  int const shift = length - bit_length(denominator);
  shift_up(shift < 0 ? &numerator : &denominator, shift < 0 ? -shift : shift);
  // 64 bits from the first that is set on; what remains decides a tie.
  uint64_t bits = 0;
  int exponent = shift;
  int taken = 0;
  while (true) {
    bool const is_set = subtract_if_less(&numerator, denominator);
    bits = bits << 1 | static_cast<uint64_t>(is_set);
    if (bits == 0) --exponent;
    if (bits != 0 && ++taken == 64) break;
    shift_up(&numerator, 1);
  }
  uint64_t mantissa = bits >> 11;
  uint64_t const rest = bits & 0x7ff;
  bool const is_tie = rest == 0x400 && bit_length(numerator) == 0;
  if (is_tie ? (mantissa & 1) != 0 : rest >= 0x400) ++mantissa;
  double value = ldexp(static_cast<double>(mantissa), exponent - 52);
  // No column that a database writes has such a scale; then the last bits are not exact.
  if (scale != exact_scale) value *= pow(10.0, static_cast<double>(exact_scale - scale));
  return is_negative ? -value : value;
}

}  // namespace gpujoin::kernels

#undef GPUJOIN_QUOTIENT
