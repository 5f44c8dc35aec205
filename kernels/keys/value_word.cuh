// value_word.cuh: a word of 64 bits for a value of a key column, the same for values that are equal
// whatever the types of their columns are
//
// Source   ours; the cases of KeyReads in src/pieces/key_words.hpp whose values have up to 8 bytes
// In       a column of HashedColumn, a row of it
// Out      the word
// Needs    the row to be valid
// Moves    the value
#pragma once

#include <cstdint>

#include "kernels/keys/value_hash.hpp"

namespace gpujoin::kernels {

__extension__ typedef __int128 SignedWords;

// mantissa * 10^exponent in the form of pieces::exact_number. expected: mantissa != 0.
__device__ __forceinline__ uint64_t word_of_decimal(const ValueHash& hash, int64_t mantissa,
                                                    int32_t exponent) {
  constexpr int32_t kMostPower = 18;  // 10^18 is the greatest that a signed word holds
  for (; mantissa % 10 == 0; mantissa /= 10) ++exponent;
  if (exponent > 0 && exponent <= kMostPower) {
    // An integer of 64 bits is written out.
    int64_t power = 1;
    for (int32_t i = 0; i < exponent; ++i) power *= 10;
    SignedWords const integer = SignedWords{mantissa} * power;
    if (integer == static_cast<int64_t>(integer)) return static_cast<uint64_t>(integer);
  }
  return hash.with_exponent(static_cast<uint64_t>(mantissa), exponent);
}

// 2^63 or more.
__device__ __forceinline__ uint64_t word_of_large(const ValueHash& hash, uint64_t value) {
  if (value % 10 != 0) return hash.word_of(value, 0);
  return word_of_decimal(hash, static_cast<int64_t>(value / 10), 1);
}

__device__ __forceinline__ uint64_t value_word(const HashedColumn& column, uint64_t row) {
  switch (column.op) {
    case WordOp::kSigned:
      return static_cast<uint64_t>(signed_value(column.value, row));
    case WordOp::kUnsigned: {
      uint64_t const value = unsigned_value(column.value, row);
      return value >> 63 == 0 ? value : word_of_large(column.hash, value);
    }
    case WordOp::kFloat:
      return float_value<uint64_t>(column.value, row);
    case WordOp::kTime: {
      SignedWords const moment = SignedWords{signed_value(column.value, row)} * column.nanoseconds;
      return column.hash.word_of(static_cast<uint64_t>(moment),
                                 static_cast<uint64_t>(moment >> 64));
    }
    case WordOp::kDecimal: {
      int64_t const value = signed_value(column.value, row);
      return value == 0 ? 0 : word_of_decimal(column.hash, value, -column.scale);
    }
  }
  return 0;
}

}  // namespace gpujoin::kernels
