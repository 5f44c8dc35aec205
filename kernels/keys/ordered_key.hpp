// ordered_key.hpp: values as unsigned codes of 8 bytes whose order is that of the values, as host
// and device both see it
//
// Source   ours; the order of floats by their bits is Knuth's (The Art of Computer Programming 3,
//          5.2.5): the sign bit turned, of negative values all bits
// In       values of any fixed width, or bits
// Out      codes; NaN is above all else, and -0.0 is 0.0
#pragma once

#include <cstdint>
#include <cstring>

#include "kernels/keys/derived_key.hpp"

#ifdef __CUDACC__
#define GPUJOIN_KEY __host__ __device__ inline
#else
#define GPUJOIN_KEY inline
#endif

namespace gpujoin::kernels {

enum class OrderedForm : int32_t {
  kSigned,    // of 1 to 8 bytes; of values without a sign where the other side's have one, up to 4
  kUnsigned,  // of both sides
  kFloat,     // of 2, 4 or 8 bytes, as 8
  kBit,       // of a column of bits
  kLong,      // integers of any width times a factor, above the least one
};

// A number of 512 bits with a sign, lowest word first: what 256 bits are in units of any other
// decimal's last place.
struct LongNumber {
  uint64_t words[8];
};
__extension__ typedef unsigned __int128 LongProduct;

struct OrderedKey {
  const void* source = nullptr;
  int32_t width = 0;  // of its values
  OrderedForm form = OrderedForm::kSigned;
  bool is_unsigned = false;  // its values, of kSigned and kLong
  int32_t power = 0;         // of kLong: of ten, which multiplies
  uint64_t factor = 1;       // as well
  int64_t first_bit = 0;     // of kBit
  ValidityBits valid;
  LongNumber least = {};  // of kLong: the code 0
};

// The code of the greatest float that is a number: those above it are of NaN.
constexpr uint64_t kInfinityCode = 0xfff0000000000000;
constexpr uint64_t kSignBit = uint64_t{1} << 63;

GPUJOIN_KEY uint64_t ordered_float(uint64_t bits) {
  return (bits & kSignBit) != 0 ? ~bits : bits | kSignBit;
}
GPUJOIN_KEY double float_of_code(uint64_t code) {
  uint64_t const bits = (code & kSignBit) != 0 ? code & ~kSignBit : ~code;
  double value;
  memcpy(&value, &bits, sizeof(value));
  return value;
}

GPUJOIN_KEY LongNumber minus(const LongNumber& one, const LongNumber& other) {
  LongNumber made;
  uint64_t borrow = 0;
  for (int i = 0; i < 8; ++i) {
    uint64_t const left = one.words[i];
    uint64_t const right = other.words[i];
    made.words[i] = left - right - borrow;
    borrow = left < right || (left == right && borrow != 0) ? 1 : 0;
  }
  return made;
}

GPUJOIN_KEY bool is_less(const LongNumber& one, const LongNumber& other) {
  if (one.words[7] != other.words[7]) {
    return static_cast<int64_t>(one.words[7]) < static_cast<int64_t>(other.words[7]);
  }
  for (int i = 6; i >= 0; --i) {
    if (one.words[i] != other.words[i]) return one.words[i] < other.words[i];
  }
  return false;
}

// Two's complements multiply as unsigned numbers do. expected: a product that fits.
GPUJOIN_KEY void multiply(LongNumber* number, uint64_t factor) {
  uint64_t carry = 0;
  for (uint64_t& word : number->words) {
    LongProduct const product = static_cast<LongProduct>(word) * factor + carry;
    word = static_cast<uint64_t>(product);
    carry = static_cast<uint64_t>(product >> 64);
  }
}

// Of a row of kLong, in the units of both sides.
GPUJOIN_KEY LongNumber long_value(const OrderedKey& key, uint64_t row) {
  DerivedKey plain;
  plain.source = key.source;
  plain.width = key.width;
  plain.is_unsigned = key.is_unsigned;
  Wide const value = wide_value(plain, row);
  LongNumber made;
  uint64_t const above = static_cast<int64_t>(value.words[3]) < 0 ? ~uint64_t{0} : 0;
  for (int i = 0; i < 8; ++i) made.words[i] = i < 4 ? value.words[i] : above;
  if (key.factor != 1) multiply(&made, key.factor);
  for (int32_t power = key.power; power > 0;) {
    constexpr int32_t kMostAtOnce = 19;  // 10^19 is the greatest power in 64 bits
    int32_t const now = power < kMostAtOnce ? power : kMostAtOnce;
    uint64_t factor = 1;
    for (int32_t i = 0; i < now; ++i) factor *= 10;
    multiply(&made, factor);
    power -= now;
  }
  return made;
}

// Of any form but kLong.
GPUJOIN_KEY uint64_t ordered_code(const OrderedKey& key, uint64_t row) {
  DerivedKey plain;
  plain.source = key.source;
  plain.width = key.width;
  switch (key.form) {
    case OrderedForm::kSigned:
      return (key.is_unsigned ? unsigned_value(plain, row)
                              : static_cast<uint64_t>(signed_value(plain, row))) ^
             kSignBit;
    case OrderedForm::kFloat:
      return ordered_float(float_value<uint64_t>(plain, row));
    case OrderedForm::kBit:
      return is_valid({static_cast<const uint8_t*>(key.source), key.first_bit}, row) ? 1 : 0;
    default:
      return unsigned_value(plain, row);
  }
}

// Of kLong. expected: a value less than 2^64 above the least one.
GPUJOIN_KEY uint64_t code_of_long(const OrderedKey& key, uint64_t row) {
  return minus(long_value(key, row), key.least).words[0];
}

// The rows of both sides as one list, by value, and those without one behind it.
struct BothOrdered {
  OrderedKey left;
  OrderedKey right;
  uint64_t left_rows = 0;

  GPUJOIN_KEY bool is_left(uint64_t row) const { return row < left_rows; }
  GPUJOIN_KEY bool has_value(uint64_t row) const {
    return is_left(row) ? is_valid(left.valid, row) : is_valid(right.valid, row - left_rows);
  }
  GPUJOIN_KEY LongNumber value(uint64_t row) const {
    return is_left(row) ? long_value(left, row) : long_value(right, row - left_rows);
  }
  GPUJOIN_KEY bool operator()(uint64_t one, uint64_t other) const {
    bool const is_value = has_value(one);
    if (is_value != has_value(other)) return is_value;
    return is_value && is_less(value(one), value(other));
  }
};

}  // namespace gpujoin::kernels

#undef GPUJOIN_KEY
