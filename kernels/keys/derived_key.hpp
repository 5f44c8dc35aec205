// derived_key.hpp: a key column whose values do not compare by their bits as one or two that do, as
// host and device both see it
//
// Source   ours; equality of floats as SQL engines have it: -0.0 = 0.0, NaN = NaN
// In       values of 1 to 16 bytes
// Out      unsigned words of 4 or 8 bytes: equal exactly where the values are
#pragma once

#include <cstdint>
#include <cstring>

#ifdef __CUDACC__
#define GPUJOIN_KEY __host__ __device__ inline
#else
#define GPUJOIN_KEY inline
#endif

namespace gpujoin::kernels {

enum class KeyOp : int32_t {
  kAsIs,        // 4 or 8 bytes that compare by their bits
  kSigned,      // wider, with the sign
  kUnsigned,    // wider, with zeros
  kFloat,       // of 2, 4 or 8 bytes, as 4 or 8
  kLow,         // of 16 bytes the first 8
  kHigh,        // and the others
  kIsNegative,  // 1 where a signed value of 8 bytes is: beside its bits, an unsigned one's equal
  kZero,        // what stands beside the unsigned one
};

struct DerivedKey {
  const void* source = nullptr;
  int32_t width = 0;  // of its values
  KeyOp op = KeyOp::kAsIs;
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

GPUJOIN_KEY uint32_t normalised(uint32_t bits) {
  uint32_t const magnitude = bits & 0x7fffffff;
  if (magnitude == 0) return 0;
  return magnitude > 0x7f800000 ? 0x7fc00000 : bits;
}
GPUJOIN_KEY uint64_t normalised(uint64_t bits) {
  uint64_t const magnitude = bits & 0x7fffffffffffffff;
  if (magnitude == 0) return 0;
  return magnitude > 0x7ff0000000000000 ? 0x7ff8000000000000 : bits;
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
    if (key.width == 8) return normalised(value_at<uint64_t>(key.source, row));
  }
  uint32_t const narrow = key.width == 2 ? bits_of_half(value_at<uint16_t>(key.source, row))
                                         : value_at<uint32_t>(key.source, row);
  if constexpr (sizeof(Bits) == 8) {
    return normalised(widened(narrow));
  } else {
    return normalised(narrow);
  }
}

// Bits: uint32_t or uint64_t.
template <typename Bits>
GPUJOIN_KEY Bits derived_value(const DerivedKey& key, uint64_t row) {
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
      return 0;
    default:
      return static_cast<Bits>(unsigned_value(key, row));
  }
}

}  // namespace gpujoin::kernels

#undef GPUJOIN_KEY
